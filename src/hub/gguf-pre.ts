import { patterns } from "../tokens/patterns.ts";
import type { JsonObject } from "./family.ts";

// How a text is cut before its merges: GGUF has a name for it (tokenizer.ggml.pre) where a tokenizer.json has regular expressions.

const contraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const lines = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
/** `digits`: how many stand together; `rest`: what a run of signs may end with. */
const words = (digits: string) => `${contraction}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${lines}`;
const cased = (digits: string, end: string) => {
  const [before, after] = ["[^\\r\\n\\p{L}\\p{N}]?", `| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${lines}`];
  return `${before}${upper}*${lower}+${end}|${before}${upper}+${lower}*${end}|${digits}${after}`;
};

interface Pre {
  /** Names in GGUF; the first one is written. */
  readonly names: readonly string[];
  /** Digits are cut one by one before anything else. */
  readonly digits?: boolean;
  readonly regex: string;
  /** A word that is a token is taken whole, whatever the merges say. */
  readonly ignoreMerges?: boolean;
  /** Texts are brought into the normal form C first. */
  readonly nfc?: boolean;
  /** The start token stands before a text unless the file says otherwise. */
  readonly start?: boolean;
}

const gpt2 = patterns.byteWords;

const pres: readonly Pre[] = [
  { names: ["gpt-2", "default", "phi-2", "olmo", "mpt", "jais", "trillion", "granite-docling"], regex: gpt2 },
  { names: ["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"], digits: true, regex: gpt2 },
  {
    names: ["llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "lfm2"],
    regex: words("\\p{N}{1,3}"),
    ignoreMerges: true,
    start: true,
  },
  { names: ["dbrx", "smaug-bpe", "glm4", "chatglm-bpe"], regex: words("\\p{N}{1,3}") },
  { names: ["qwen2", "deepseek-r1-qwen"], regex: words("\\p{N}"), nfc: true },
  { names: ["stablelm2", "hunyuan", "solar-open", "grok-2"], regex: words("\\p{N}") },
  { names: ["tekken"], regex: cased("\\p{N}", ""), ignoreMerges: true },
  { names: ["gpt-4o", "llama4"], regex: cased("\\p{N}{1,3}", `${contraction}?`) },
];

export const preNames: readonly string[] = pres.flatMap(({ names }) => names);
export const preCalled = (name: string): Pre | undefined => pres.find(({ names }) => names.includes(name));

const byteLevel = (use_regex: boolean) => ({ type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex });

/** The pre_tokenizer of a tokenizer.json. */
export function preTokenizer({ digits, regex }: Pre): JsonObject {
  const split = { type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false };
  const steps = [
    ...(digits ? [{ type: "Digits", individual_digits: true }] : []),
    ...(regex === gpt2 ? [byteLevel(true)] : [split, byteLevel(false)]),
  ];
  return steps.length === 1 ? steps[0] : { type: "Sequence", pretokenizers: steps };
}

/** The name of what a tokenizer.json does before its merges; undefined if GGUF has none. */
export function preNameOf(preTokenizer: unknown, { ignoreMerges, merges }: { readonly ignoreMerges: boolean; readonly merges: number }) {
  const steps = stepsOf(preTokenizer);
  if (steps === undefined) return undefined;
  if (merges === 0 && steps.join() === "bytes") return pres[0].names[0]; // where nothing is merged, it does not matter what is cut
  const found = pres.filter(({ digits, regex }) => [...(digits ? ["digits"] : []), regex, "bytes"].join("\n") === steps.join("\n"));
  return (found.find((pre) => (pre.ignoreMerges ?? false) === ignoreMerges) ?? found[0])?.names[0];
}

function stepsOf(step: unknown): readonly string[] | undefined {
  const { type, ...rest } = (step ?? {}) as JsonObject;
  if (type === "Sequence" && Array.isArray(rest.pretokenizers)) {
    const all = rest.pretokenizers.map(stepsOf);
    return all.every((one) => one !== undefined) ? all.flat() : undefined;
  }
  if (type === "Digits" && rest.individual_digits === true) return ["digits"];
  if (type === "ByteLevel" && rest.add_prefix_space === false) return rest.use_regex === false ? ["bytes"] : [gpt2, "bytes"];
  const regex = (rest.pattern as JsonObject | undefined)?.Regex;
  if (type !== "Split" || typeof regex !== "string" || rest.behavior !== "Isolated" || rest.invert === true) return undefined;
  return [regex === "\\p{N}" ? "digits" : regex];
}
