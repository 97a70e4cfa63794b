import { FormatError } from "../base/errors.ts";
import type { TextFrame, Tokenizer } from "../tokens/tokenizer.ts";
import type { GgufMetadata, GgufValue } from "../weights/gguf.ts";
import type { JsonObject } from "./family.ts";
import { preCalled, preNameOf, preNames, preTokenizer } from "./gguf-pre.ts";

// The tokenizer of a GGUF file as a tokenizer.json, and back.

/** What a token is: GGUF's numbers for it. */
const kinds = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

export interface GgufTokenizer {
  /** The content of a tokenizer.json. */
  readonly json: JsonObject;
  /** The content of a tokenizer_config.json. */
  readonly config: JsonObject;
  /** The content of a generation_config.json. */
  readonly generation: JsonObject;
  readonly chatTemplate?: string;
}

/** What a file says under "tokenizer.ggml." and beside it. */
export function tokenizerOf(metadata: GgufMetadata, where: string): GgufTokenizer {
  const read = new Metadata(metadata, where);
  const model = read.text("tokenizer.ggml.model");
  if (model !== "gpt2" && model !== "llama")
    throw new FormatError(
      `${where}: the tokenizer ${JSON.stringify(model?.slice(0, 60))} is not read; those that are are gpt2 (byte-level BPE) and llama (SentencePiece BPE)`,
    );
  const tokens = read.strings("tokenizer.ggml.tokens");
  if (tokens.length === 0) throw new FormatError(`${where}: tokenizer.ggml.tokens is missing or empty`);
  const types = read.numbers("tokenizer.ggml.token_type", tokens.length) ?? tokens.map(() => kinds.normal);
  const roles = rolesIn(read, tokens);
  const vocabulary = { tokens, types, roles };
  const { pre, post } = model === "gpt2" ? byteLevel(read, vocabulary) : sentencePiece(read, vocabulary);
  const { start, ends, pad, unknown } = roles;
  const addStart = read.flag("tokenizer.ggml.add_bos_token") ?? post.start;
  const addEnd = read.flag("tokenizer.ggml.add_eos_token") ?? false;
  const before = addStart && start !== undefined ? [start] : [];
  const after = addEnd && ends.length > 0 ? [ends[0]] : [];
  const chatTemplate = read.text("tokenizer.chat_template");
  const named = (key: string, id: number | undefined) => (id === undefined ? {} : { [key]: tokens[id] });
  return {
    json: { version: "1.0", truncation: null, padding: null, ...pre, post_processor: template(before, after, tokens) },
    config: {
      tokenizer_class: "PreTrainedTokenizerFast",
      ...{ ...named("bos_token", start), ...named("eos_token", ends[0]), ...named("pad_token", pad), ...named("unk_token", unknown) },
      add_bos_token: before.length > 0,
      add_eos_token: after.length > 0,
      clean_up_tokenization_spaces: false,
      ...(chatTemplate !== undefined && { chat_template: chatTemplate }),
    },
    generation: {
      ...(start !== undefined && { bos_token_id: start }),
      ...(ends.length > 0 && { eos_token_id: ends.length === 1 ? ends[0] : ends }),
      ...(pad !== undefined && { pad_token_id: pad }),
    },
    ...(chatTemplate !== undefined && { chatTemplate }),
  };
}

interface RoleIds {
  readonly start?: number;
  readonly ends: readonly number[];
  readonly pad?: number;
  readonly unknown?: number;
}

interface Vocabulary {
  readonly tokens: readonly string[];
  readonly types: readonly number[];
  readonly roles: RoleIds;
}

function rolesIn(read: Metadata, { length }: readonly string[]): RoleIds {
  const id = (key: string) => read.id(`tokenizer.ggml.${key}_token_id`, length);
  const ends = [id("eos"), id("eot")].filter((one) => one !== undefined);
  const [start, pad, unknown] = [id("bos"), id("padding"), id("unknown")];
  return {
    ...(start !== undefined && { start }),
    ends: [...new Set(ends)],
    ...(pad !== undefined && { pad }),
    ...(unknown !== undefined && { unknown }),
  };
}

/** Tokens that only fill the table up to a round number. */
const isFiller = (token: string, type: number): boolean => type === kinds.unused && /^\[PAD\d+\]$/.test(token);

const addedTokens = ({ tokens, types }: Vocabulary, also: (type: number) => boolean = () => false) =>
  tokens.flatMap((content, id) => {
    const special = types[id] === kinds.control || also(types[id]);
    if (content === "" || (!special && types[id] !== kinds.userDefined)) return [];
    return [{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special }];
  });

/** Every token with its id; two equal ones would be one. */
function vocabOf({ tokens, types }: Vocabulary, where: string): Record<string, number> {
  const vocab = new Map<string, number>();
  for (const [id, token] of tokens.entries()) {
    if (isFiller(token, types[id])) continue;
    if (vocab.has(token))
      throw new FormatError(`${where}: the token ${JSON.stringify(token.slice(0, 60))} stands twice in tokenizer.ggml.tokens`);
    vocab.set(token, id);
  }
  return Object.fromEntries(vocab);
}

const bpeModel = { type: "BPE", dropout: null, continuing_subword_prefix: null, end_of_word_suffix: null };

function byteLevel(read: Metadata, vocabulary: Vocabulary) {
  const name = read.text("tokenizer.ggml.pre") ?? "default";
  const pre = preCalled(name);
  if (!pre)
    throw new FormatError(
      `${read.where}: texts are cut in the way ${JSON.stringify(name.slice(0, 60))} (tokenizer.ggml.pre), which is not known; those that are are ${preNames.join(", ")}`,
    );
  const merges = read.strings("tokenizer.ggml.merges").map((merge): readonly [string, string] => {
    const at = merge.indexOf(" ", 1); // a merge of the first letter " " there is not: spaces are Ġ
    if (at < 0) throw new FormatError(`${read.where}: the merge ${JSON.stringify(merge.slice(0, 60))} has no space between its two tokens`);
    return [merge.slice(0, at), merge.slice(at + 1)];
  });
  const { ignoreMerges = false, nfc = false, start = false } = pre;
  return {
    pre: {
      added_tokens: addedTokens(vocabulary),
      normalizer: nfc ? { type: "NFC" } : null,
      pre_tokenizer: preTokenizer(pre),
      decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: {
        ...{ ...bpeModel, unk_token: null, fuse_unk: false, byte_fallback: false, ignore_merges: ignoreMerges },
        ...{ vocab: vocabOf(vocabulary, read.where), merges },
      },
    },
    post: { start },
  };
}

function sentencePiece(read: Metadata, vocabulary: Vocabulary) {
  const { tokens, types, roles } = vocabulary;
  const scores = read.numbers("tokenizer.ggml.scores", tokens.length);
  if (!scores)
    throw new FormatError(`${read.where}: tokenizer.ggml.scores is missing, from which the merges of a SentencePiece tokenizer follow`);
  const prefixed = read.flag("tokenizer.ggml.add_space_prefix") ?? true;
  const space = { type: "Replace", pattern: { String: " " }, content: "▁" };
  const fallback = [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" }];
  const unknown = roles.unknown ?? types.indexOf(kinds.unknown);
  return {
    pre: {
      added_tokens: addedTokens(vocabulary, (type) => type === kinds.unknown),
      normalizer: prefixed ? { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, space] } : space,
      pre_tokenizer: null,
      decoder: {
        type: "Sequence",
        decoders: prefixed ? [...fallback, { type: "Strip", content: " ", start: 1, stop: 0 }] : fallback,
      },
      model: {
        ...{
          ...bpeModel,
          unk_token: tokens[unknown] ?? null,
          fuse_unk: true,
          byte_fallback: types.includes(kinds.byte),
          ignore_merges: false,
        },
        ...{ vocab: vocabOf(vocabulary, read.where), merges: mergesOf(vocabulary, scores) },
      },
    },
    post: { start: true },
  };
}

/**
 * SentencePiece merges what makes the token of the highest score. As merges in an order: every way to cut a token into two tokens,
 * by its score; of equal ones the longer first part first, as Hugging Face's converter has them.
 */
function mergesOf({ tokens, types }: Vocabulary, scores: readonly number[]): (readonly [string, string])[] {
  const mergeable = (type: number) => type === kinds.normal || type === kinds.userDefined || type === kinds.unused;
  const known = new Map(tokens.map((token, id) => [token, id]));
  const found: { readonly left: string; readonly right: string; readonly score: number; readonly order: number }[] = [];
  for (const [id, token] of tokens.entries()) {
    if (!mergeable(types[id])) continue;
    const letters = [...token];
    const own: { readonly left: string; readonly right: string; readonly ids: readonly [number, number] }[] = [];
    for (let cut = 1, left = letters[0]; cut < letters.length; left += letters[cut], cut++) {
      const right = token.slice(left.length);
      const [a, b] = [known.get(left), known.get(right)];
      if (a !== undefined && b !== undefined) own.push({ left, right, ids: [a, b] });
    }
    own.sort((x, y) => x.ids[0] - y.ids[0] || x.ids[1] - y.ids[1]);
    for (const { left, right } of own) found.push({ left, right, score: scores[id], order: found.length });
  }
  found.sort((x, y) => y.score - x.score || y.left.length - x.left.length || y.right.length - x.right.length || x.order - y.order);
  return found.map(({ left, right }) => [left, right]);
}

function template(before: readonly number[], after: readonly number[], tokens: readonly string[]): JsonObject | null {
  if (before.length + after.length === 0) return null;
  const special = (id: number) => ({ SpecialToken: { id: tokens[id], type_id: 0 } });
  const text = (id: string, type_id: number) => ({ Sequence: { id, type_id } });
  const [front, back] = [before.map(special), after.map(special)];
  return {
    type: "TemplateProcessing",
    single: [...front, text("A", 0), ...back],
    pair: [...front, text("A", 0), ...back, ...front, text("B", 1), ...back],
    special_tokens: Object.fromEntries(
      [...before, ...after].map((id) => [tokens[id], { id: tokens[id], ids: [id], tokens: [tokens[id]] }]),
    ),
  };
}

/** Metadata from outside, asked for by type. */
class Metadata {
  readonly where: string;
  readonly #metadata: GgufMetadata;

  constructor(metadata: GgufMetadata, where: string) {
    this.#metadata = metadata;
    this.where = where;
  }

  text(key: string): string | undefined {
    const value = this.#metadata.get(key)?.value;
    if (value === undefined || typeof value === "string") return value;
    throw this.#wrong(key, "a text");
  }

  flag(key: string): boolean | undefined {
    const value = this.#metadata.get(key)?.value;
    if (value === undefined || typeof value === "boolean") return value;
    throw this.#wrong(key, "true or false");
  }

  /** The number of a token; undefined also where the file has one that means none. */
  id(key: string, count: number): number | undefined {
    const value = this.#metadata.get(key)?.value;
    if (value === undefined || value === 2 ** 32 - 1) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < count) return value;
    throw this.#wrong(key, `the number of one of ${count} tokens`);
  }

  strings(key: string): readonly string[] {
    const found = this.#metadata.get(key);
    if (found === undefined) return [];
    if (found.type === "array" && found.of === "string") return found.value;
    throw this.#wrong(key, "a list of texts");
  }

  numbers(key: string, length: number): readonly number[] | undefined {
    const found = this.#metadata.get(key);
    if (found === undefined) return undefined;
    if (found.type === "array" && found.value.length === length && found.value.every((one) => typeof one === "number"))
      return found.value as readonly number[];
    throw this.#wrong(key, `a list of ${length} numbers, one for each token,`);
  }

  #wrong(key: string, wanted: string): FormatError {
    return new FormatError(`${this.where}: ${key} is not what it should be: ${wanted} was wanted`);
  }
}

/** A tokenizer as metadata, or the reasons why GGUF cannot say what it does. */
export function ggufTokenizer(
  tokenizer: Tokenizer,
  vocab: number,
  chatTemplate: string | undefined,
): { readonly metadata: Readonly<Record<string, GgufValue>> } | { readonly reasons: readonly string[] } {
  const { json, kind } = tokenizer;
  const { model, normalizer } = json as { readonly model: JsonObject; readonly normalizer: JsonObject | null };
  if (kind !== "other" && kind !== "bpe" && kind !== "byte")
    return { reasons: [`a tokenizer of the kind ${kind} has no place in GGUF (only bpe, byte, and BPE tokenizers from elsewhere)`] };
  if (model.type !== "BPE") return { reasons: [`a tokenizer with the model ${String(model.type)} has no place in GGUF here (only BPE)`] };
  const made = model.byte_fallback === true ? pieces(json as JsonObject) : letters(json as JsonObject, normalizer);
  if ("reasons" in made) return made;
  const { tokens, types } = tokenTable(json as JsonObject, vocab, tokenizer.unknown);
  const { start, end, ends = end === undefined ? [] : [end], pad, unknown, frame } = tokenizer;
  const id = (key: string, value: number | undefined): Record<string, GgufValue> =>
    value === undefined ? {} : { [`tokenizer.ggml.${key}_token_id`]: { type: "uint32", value } };
  return {
    metadata: {
      "tokenizer.ggml.model": { type: "string", value: made.model },
      ...made.metadata(tokens),
      "tokenizer.ggml.tokens": { type: "array", of: "string", value: tokens },
      "tokenizer.ggml.token_type": { type: "array", of: "int32", value: types },
      ...{ ...id("bos", start), ...id("eos", ends[0]), ...id("eot", ends[1]), ...id("padding", pad), ...id("unknown", unknown) },
      "tokenizer.ggml.add_bos_token": { type: "bool", value: adds(frame?.before, start) },
      "tokenizer.ggml.add_eos_token": { type: "bool", value: adds(frame?.after, ends[0]) },
      ...(chatTemplate !== undefined && { "tokenizer.chat_template": { type: "string", value: chatTemplate } }),
    },
  };
}

const adds = (around: TextFrame["before"] = [], id: number | undefined): boolean => id !== undefined && around.includes(id);

interface Made {
  readonly model: "gpt2" | "llama";
  metadata(tokens: readonly string[]): Readonly<Record<string, GgufValue>>;
}

type Pairs = readonly (string | readonly [string, string])[];
const pairsOf = ({ merges = [] }: JsonObject): (readonly [string, string])[] =>
  (merges as Pairs).map((pair) => (typeof pair === "string" ? (pair.split(" ") as [string, string]) : pair));

/** Byte-level BPE. */
function letters(json: JsonObject, normalizer: JsonObject | null): Made | { readonly reasons: readonly string[] } {
  const model = json.model as JsonObject;
  const merges = pairsOf(model);
  const pre = preNameOf(json.pre_tokenizer, { ignoreMerges: model.ignore_merges === true, merges: merges.length });
  const reasons = [
    ...(pre === undefined ? [`its way to cut texts has no name in GGUF (only ${preNames.join(", ")})`] : []),
    ...(normalizer !== null && normalizer.type !== "NFC" ? [`it changes texts before it reads them (${String(normalizer.type)})`] : []),
    ...(model.continuing_subword_prefix || model.end_of_word_suffix ? ["it marks the parts of words"] : []),
  ];
  if (pre === undefined || reasons.length > 0) return { reasons };
  return {
    model: "gpt2",
    metadata: () => ({
      "tokenizer.ggml.pre": { type: "string", value: pre },
      "tokenizer.ggml.merges": { type: "array", of: "string", value: merges.map((pair) => pair.join(" ")) },
    }),
  };
}

/** SentencePiece BPE. Its scores follow from the order of its merges: the earlier one wins, and so does the higher score. */
function pieces(json: JsonObject): Made | { readonly reasons: readonly string[] } {
  const parts = JSON.stringify([json.normalizer, json.pre_tokenizer]);
  if (!parts.includes("▁")) return { reasons: ["it does not write spaces as ▁, as SentencePiece does"] };
  const prefixed = parts.includes('"Prepend"') || /"prepend_scheme":"(always|first)"/.test(parts);
  const order = new Map<string, number>();
  for (const [left, right] of pairsOf(json.model as JsonObject)) if (!order.has(left + right)) order.set(left + right, order.size);
  return {
    model: "llama",
    metadata: (tokens) => ({
      "tokenizer.ggml.pre": { type: "string", value: "default" },
      "tokenizer.ggml.scores": { type: "array", of: "float32", value: tokens.map((token) => -(order.get(token) ?? order.size)) },
      "tokenizer.ggml.add_space_prefix": { type: "bool", value: prefixed },
    }),
  };
}

/** Every row of the table of tokens has a name, those that no text reaches too. */
function tokenTable(json: JsonObject, vocab: number, unknown: number | undefined) {
  const tokens = Array.from({ length: vocab }, (_, id) => `[PAD${id}]`);
  const types: number[] = tokens.map(() => kinds.unused);
  const model = json.model as JsonObject;
  for (const [token, id] of Object.entries(model.vocab as Record<string, number>)) {
    tokens[id] = token;
    types[id] = model.byte_fallback === true && /^<0x[0-9A-F]{2}>$/.test(token) ? kinds.byte : kinds.normal;
  }
  for (const { id, content, special } of json.added_tokens as { id: number; content: string; special?: boolean }[]) {
    tokens[id] = content;
    types[id] = special ? kinds.control : kinds.userDefined;
  }
  if (model.byte_fallback === true && unknown !== undefined) types[unknown] = kinds.unknown;
  return { tokens, types };
}
