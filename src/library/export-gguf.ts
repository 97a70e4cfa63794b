import { ConfigError } from "../base/errors.ts";
import { call, sentence, setting } from "../base/sentence.ts";
import { asDecoder, sizesOf } from "../hub/decoder-parts.ts";
import { families, familyCalled } from "../hub/families.ts";
import type { Family } from "../hub/family.ts";
import { frequenciesOf, type GgufFamily, ggufFamilyFor } from "../hub/gguf-families.ts";
import { toGguf } from "../hub/gguf-names.ts";
import { ggufTokenizer } from "../hub/gguf-tokenizer.ts";
import { backwards, type Theirs, theirsOf } from "../hub/tensors.ts";
import { type Architecture, architectureOf, described, taskOf } from "../models/any.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { GgufMetadata, GgufValue } from "../weights/gguf.ts";
import { ggufBytes, ggufTypes, type WrittenType } from "../weights/gguf-types.ts";
import { ggufHeader, ggufPadding } from "../weights/gguf-write.ts";
import type { Exporter, ExportWeights, Shipped } from "./exporter.ts";

// A model for llama.cpp, and so for Ollama and LM Studio: one file with the weights and the tokenizer.

const typeOf = { f16: "F16", q8: "Q8_0", f32: "F32" } as const satisfies Partial<Record<ExportWeights, WrittenType>>;
type Kept = keyof typeof typeOf;
/** ggml's numbers for whole files. */
const fileTypes: Readonly<Record<Kept, number>> = { f32: 0, f16: 1, q8: 7 };

export const fileName = "model.gguf";

export const ggufExporter: Exporter = {
  weights: Object.keys(typeOf) as Kept[],
  async write({ trained, weights, warn, write }): Promise<Shipped> {
    const kept = weights as Kept; // `weights` above are the only ones that get here
    const model = architectureOf(trained.model, "gguf");
    const { family, gguf } = chosen(trained, model);
    const notes = notesOf(model, warn);
    const metadata = metadataOf(trained, model, gguf, kept);
    const tensors = tensorsOf(trained, model, family, gguf, typeOf[kept]);
    const narrow = [...tensors.values()].filter(({ shape, type }) => shape.length > 1 && kept === "q8" && type === "F16").length;
    if (narrow > 0) warn(`q8: ${narrow} matrices have rows that are no multiple of 32 and are kept as f16`);
    write(fileName, fileOf(metadata, tensors));
    return {
      kind: gguf.architecture,
      metadata: { library_name: "gguf", pipeline_tag: "text-generation" },
      usage: [
        { title: "With llama.cpp", language: "sh", code: `llama-cli -m ${fileName} -p "Once upon a time" -n 100 --temp 0 -no-cnv` },
        { title: "With Ollama", language: "sh", code: `echo 'FROM ./${fileName}' > Modelfile\nollama create my-model -f Modelfile` },
      ],
      notes,
    };
  },
};

/** What something made here can be: the others only say that it came from elsewhere. */
const ownShapes: readonly string[] = ["llama", "gpt2"];

/** The family that a model came from or is shaped like, where llama.cpp has it; or every reason why there is none. */
function chosen({ name, hub }: TrainedModel, model: Architecture): { readonly family: Family; readonly gguf: GgufFamily } {
  if (model.model !== "decoder" || taskOf(model) !== "lm")
    throw new ConfigError(
      sentence`${name} is ${described(model)}, and gguf is for decoders that write text; ${call("exportModel", name, { to: "onnx" })} takes every model`,
      {
        code: "config.task",
        path: "to",
      },
    );
  const own = hub && familyCalled(hub.family);
  const reasons: string[] = [];
  for (const family of own ? [own] : families) {
    const gguf = ggufFamilyFor(family.modelTypes);
    if (!gguf) {
      if (own) reasons.push(`${family.name}: llama.cpp has none of them, or none that is written here`);
      continue;
    }
    const written = family.write(model, { ...(hub && { original: hub.config }) });
    const found = "reasons" in written ? written.reasons : (gguf.reasons?.(asDecoder(model)) ?? []);
    if (found.length === 0) return { family, gguf };
    if (own || ownShapes.includes(family.modelTypes[0])) reasons.push(`${family.name}: ${found.join(", ")}`);
  }
  throw new ConfigError(
    sentence`${name} is no model that llama.cpp knows; it is not like ${reasons.join("; not like ")}. ${call("exportModel", name, { to: "onnx" })} takes every model`,
    { code: "config.conflict", path: "to" },
  );
}

/** What differs when llama.cpp computes it. */
function notesOf(model: Architecture, warn: (sentence: string) => void): string[] {
  if (!("activation" in model) || model.activation !== "gelu") return [];
  const note = "llama.cpp computes GELU by the formula with tanh, which differs from the exact one by up to 0.0005";
  warn(note);
  return [note];
}

function metadataOf(trained: TrainedModel, model: Architecture, { architecture, settings }: GgufFamily, kept: Kept): GgufMetadata {
  const made = ggufTokenizer(trained.tokenizer, model.vocab, trained.chat?.template);
  if ("reasons" in made)
    throw new ConfigError(`${trained.name}: its tokenizer cannot be written as GGUF: ${made.reasons.join("; ")}`, {
      code: "config.conflict",
      path: "to",
    });
  const text = (value: string): GgufValue => ({ type: "string", value });
  return new Map<string, GgufValue>([
    ["general.architecture", text(architecture)],
    ["general.type", text("model")],
    ["general.name", text(trained.name.split("/").filter(Boolean).at(-1) ?? "model")],
    ["general.file_type", { type: "uint32", value: fileTypes[kept] }],
    ...(kept === "q8" ? [["general.quantization_version", { type: "uint32", value: 2 }] as const] : []),
    ...Object.entries(settings(asDecoder(model))).map(([key, value]) => [`${architecture}.${key}`, value] as const),
    ...("activation" in model && model.activation === "gelu" ? [["qkv.activation", text("gelu")] as const] : []),
    ...Object.entries(made.metadata),
  ]);
}

interface Out {
  readonly type: WrittenType;
  readonly shape: readonly number[];
  numbers(): Float32Array;
}

/** Norms, biases and positions stay as they are, as llama.cpp's own converter keeps them. */
function typeFor(name: string, shape: readonly number[], wanted: WrittenType): WrittenType {
  if (shape.length < 2 || name === "position_embd.weight") return "F32";
  return (shape.at(-1) ?? 0) % ggufTypes[wanted].block === 0 ? wanted : "F16";
}

function tensorsOf(trained: TrainedModel, model: Architecture, family: Family, gguf: GgufFamily, wanted: WrittenType): Map<string, Out> {
  const sizes = sizesOf(asDecoder(model));
  const tensors = new Map<string, Out>();
  const frequencies = frequenciesOf(asDecoder(model));
  if (frequencies) tensors.set("rope_freqs.weight", { type: "F32", shape: [frequencies.length], numbers: () => frequencies });
  for (const theirs of theirsOf(family.tensors(model), (name) => trained.weights.numbers(name))) {
    const renamed = toGguf(gguf.names, theirs.name, sizes);
    if (!renamed) throw new ConfigError(`${trained.name}: the tensor ${theirs.name} has no name in GGUF`, { code: "config.conflict" });
    const shape = renamed.turn?.kind === "transpose" ? [...theirs.shape].reverse() : theirs.shape;
    tensors.set(renamed.name, {
      type: typeFor(renamed.name, shape, wanted),
      shape,
      numbers: () => turnedBack(theirs, shape, renamed.turn),
    });
  }
  return tensors;
}

function turnedBack({ numbers }: Theirs, shape: readonly number[], turn: Parameters<typeof backwards>[2]["turn"]): Float32Array {
  if (!turn) return numbers();
  const given = numbers();
  const whole = new Float32Array(given.length);
  backwards(whole, given, { name: "", shape, turn });
  return whole;
}

/** What a half can hold, and 127 steps of one. */
const largest: Readonly<Record<WrittenType, number>> = { F32: Number.POSITIVE_INFINITY, F16: 65_504, Q8_0: 127 * 65_504 };

function refuseBeyond(name: string, numbers: Float32Array, most: number): void {
  const beyond = numbers.find((value) => Math.abs(value) > most);
  if (beyond !== undefined)
    throw new ConfigError(sentence`tensor ${name} has ${beyond}, which 16 bits cannot hold; keep it with ${setting("weights", "f32")}`, {
      code: "config.conflict",
      path: "weights",
    });
}

/** The bytes of the file, one tensor at a time. */
function* fileOf(metadata: GgufMetadata, tensors: ReadonlyMap<string, Out>): Generator<Uint8Array> {
  yield ggufHeader(metadata, tensors).bytes;
  for (const [name, { type, numbers }] of tensors) {
    const given = numbers();
    refuseBeyond(name, given, largest[type]);
    const bytes = ggufBytes(given, type);
    yield bytes;
    yield ggufPadding(bytes.length);
  }
}
