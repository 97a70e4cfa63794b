import * as z from "zod";
import { ConfigError, FormatError, NetworkError } from "../base/errors.ts";
import { either, sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";

// What a hub says of a model, and which of its files are wanted.

/** A file by its path in the repository, and how it is known again: by the SHA-256 of its bytes, or as git does. */
export interface HubFile {
  readonly path: string;
  readonly bytes: number;
  readonly sum: { readonly kind: "sha256" | "git"; readonly hex: string };
}

export interface Repository {
  /** The commit that a revision is at this moment. */
  readonly commit: string;
  readonly files: readonly HubFile[];
}

const mostFiles = 20_000;
const bytes = z
  .int()
  .min(0)
  .max(2 ** 48);
const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const sibling = z.looseObject({
  rfilename: z.string(),
  size: bytes.nullish(),
  blobId: hex(40).nullish(),
  lfs: z.looseObject({ sha256: hex(64), size: bytes }).nullish(),
});
const answer = z.looseObject({ sha: hex(40), siblings: z.array(z.unknown()).max(mostFiles) });

/** The answer of `/api/models/<id>/revision/<revision>?blobs=true`. */
export function repositoryOf(json: unknown, where: string): Repository {
  const whole = answer.safeParse(json);
  if (!whole.success) throw strange(where, whole.error);
  const { sha: commit, siblings } = whole.data;
  const files = siblings.flatMap((one) => {
    const name = z.looseObject({ rfilename: z.string() }).safeParse(one);
    if (name.success && !isWanted(name.data.rfilename)) return []; // what is not taken may be as it likes
    const found = sibling.safeParse(one);
    if (!found.success) throw strange(where, found.error);
    return [fileOf(found.data, where)];
  });
  const twin = files.find(({ path }, i) => files.findIndex((other) => other.path === path) < i);
  if (twin) throw new FormatError(`${where} lists ${twin.path} twice`);
  return { commit, files };
}

const strange = (where: string, error: z.ZodError): FormatError => {
  const [{ path, message }] = error.issues;
  return new FormatError(
    `${where} answers in a way that is not understood (${path.join(".") || "the whole"}: ${message}); is it a hub of models?`,
  );
};

function fileOf({ rfilename: path, size, blobId, lfs }: z.output<typeof sibling>, where: string): HubFile {
  if (lfs) return { path, bytes: lfs.size, sum: { kind: "sha256", hex: lfs.sha256 } };
  if (blobId && typeof size === "number") return { path, bytes: size, sum: { kind: "git", hex: blobId } };
  throw new FormatError(
    `${where} tells neither size nor checksum of ${JSON.stringify(path.slice(0, 100))}, so nobody could see whether it came whole`,
  );
}

const settings =
  /^(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|adapter_config|modules|sentence_bert_config|config_sentence_transformers|chat_template|1_Pooling\/config)\.json$/;
const vocabularies =
  /^(vocab\.txt|merges\.txt|chat_template\.jinja|tokenizer\.model|spiece\.model|sentencepiece\.bpe\.model|(source|target)\.spm)$/;
const weights = /^((model|adapter_model)\.safetensors|model-\d{5}-of-\d{5}\.safetensors|model\.safetensors\.index\.json)$/;
/** Under a name of its own, where it is the only one. */
const other = /^[\w-]+(\.[\w-]+)*\.safetensors$/;
const pickles = /^[^/]*\.(bin|pt|pth|ckpt|h5|msgpack|pkl)$/;
const gguf = /^[\w.+-]+(\/[\w.+-]+)*\.gguf$/;

/** Everything that may be asked for, and what is named in a refusal. No other path is ever made. */
const isWanted = (path: string): boolean =>
  [settings, vocabularies, other, weights, pickles, gguf].some((names) => names.test(path)) &&
  !path.split("/").some((part) => /^\.+$/.test(part));

/** The files of a folder that can be opened: config, tokenizer, and weights in safetensors. Or one .gguf. */
export function wantedFiles(files: readonly HubFile[], id: string, one?: string): HubFile[] {
  const named = (names: RegExp) => files.filter(({ path }) => names.test(path) && isWanted(path));
  if (one !== undefined) {
    const found = named(gguf).find(({ path }) => path === one);
    if (found) return [found];
    const known = named(gguf).map(({ path }) => path);
    throw new ConfigError(
      known.length === 0
        ? `${id} has no .gguf file`
        : `${id} has no file ${JSON.stringify(one)}${suggest(one, known) || `; it has ${some(known)}`}`,
      { code: "config.unknown-name", path: "gguf" },
    );
  }
  const numbers = named(weights);
  const whole = numbers.filter(({ path }) => path === "model.safetensors");
  const alone = named(other).length === 1 ? named(other) : [];
  const chosen =
    whole.length > 0 ? [...whole, ...numbers.filter(({ path }) => path.startsWith("adapter_"))] : numbers.length > 0 ? numbers : alone;
  if (!chosen.some(({ path }) => path.endsWith(".safetensors"))) throw unusable(id, named(pickles), named(gguf));
  const wanted = [...named(settings), ...named(vocabularies), ...chosen];
  if (!wanted.some(({ path }) => path === "config.json" || path === "adapter_config.json"))
    throw new NetworkError(`${id} has no config.json, so nobody can tell what its weights are`, { code: "network.missing" });
  return wanted;
}

function unusable(id: string, old: readonly HubFile[], packed: readonly HubFile[]): NetworkError {
  const code = "network.missing";
  if (packed.length > 0) {
    const names = packed.map(({ path }) => path);
    return new NetworkError(
      sentence`${id} has its weights as .gguf only; choose one with ${setting("gguf", names[0])} (it has ${some(names)})`,
      {
        code,
      },
    );
  }
  if (old.length > 0) {
    const cure = either([setting("revision", "refs/pr/1"), "a copy that somebody converted"]);
    return new NetworkError(
      sentence`${id} has its weights as ${some(old.map(({ path }) => path))} only, a format that can run any program when it is opened, so it is never read; look for safetensors (${cure}), or convert it in Python: save_pretrained(…, safe_serialization=True)`,
      { code },
    );
  }
  return new NetworkError(`${id} has no weights in safetensors (model.safetensors)`, { code });
}

const some = (names: readonly string[]): string => `${names.slice(0, 4).join(", ")}${names.length > 4 ? `, … (${names.length})` : ""}`;

/** `owner/name`, or the name alone of the oldest ones. */
export function checkId(id: string): void {
  const parts = id.split("/");
  if (parts.length <= 2 && parts.every((part) => /^[\w.-]{1,96}$/.test(part) && !/^\.+$/.test(part))) return;
  throw new ConfigError(
    `a model is called owner/name, such as HuggingFaceTB/SmolLM2-135M-Instruct, not ${JSON.stringify(id.slice(0, 200))}`,
    {
      code: "config.type",
      path: "id",
    },
  );
}

/** Whether a file of a folder that is there is one that a pull writes. */
export const isPulled = (path: string): boolean => isWanted(path) && !pickles.test(path);
