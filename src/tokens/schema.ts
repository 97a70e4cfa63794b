import * as z from "zod";
import { FormatError } from "../base/errors.ts";
import type { TokenizerJson } from "./frame.ts";
import { checkModel, largestId } from "./model-check.ts";

// What every tokenizer.json must be before anything is built from it. The checked file is kept as it was given.

const addedToken = z.looseObject({
  id: z.number().int().min(0).max(largestId),
  content: z.string().min(1),
  special: z.boolean().optional(),
  normalized: z.boolean().optional(),
  lstrip: z.boolean().optional(),
  rstrip: z.boolean().optional(),
  single_word: z.boolean().optional(),
});

const pattern = z.union([z.object({ String: z.string().min(1) }), z.object({ Regex: z.string().min(1).max(10_000) })]);

/** A normaliser, pre-tokenizer, post-processor or decoder; some are lists of others. */
const part: z.ZodType = z.lazy(() =>
  z.looseObject({
    type: z.string(),
    pattern: pattern.optional(),
    content: z.string().max(1000).optional(),
    prepend: z.string().max(1000).optional(),
    behavior: z.string().optional(),
    length: z.number().int().positive().optional(),
    normalizers: list.optional(),
    pretokenizers: list.optional(),
    processors: list.optional(),
    decoders: list.optional(),
  }),
);
const list = z.array(part).max(32);

const file = z.looseObject({
  added_tokens: z.array(addedToken).max(largestId).default([]),
  normalizer: part.nullable().default(null),
  pre_tokenizer: part.nullable().default(null),
  post_processor: part.nullable().default(null),
  decoder: part.nullable().default(null),
  model: z.custom<Record<string, unknown>>(
    (model) => model !== null && typeof model === "object" && !Array.isArray(model),
    "expected a model",
  ),
});

const deepest = 100;

export interface CheckedFile {
  readonly json: TokenizerJson;
  /** Every token with its id, added ones included. */
  readonly ids: ReadonlyMap<string, number>;
  /** The same the other way round. */
  readonly names: ReadonlyMap<number, string>;
  /** Three ids for each merge of a BPE, the earliest first: its two tokens and what they become. */
  readonly merges: Int32Array;
}

export function checkFile(given: unknown, where: string): CheckedFile {
  if (isDeeper(given, deepest)) throw new FormatError(`${where}: nested more than ${deepest} levels deep, which no tokenizer is`);
  const result = file.safeParse(given);
  if (!result.success) {
    const [{ path, message }] = result.error.issues;
    throw new FormatError(`${where} is not a tokenizer.json: at ${path.join(".") || "the top"}: ${message}`);
  }
  const defaults = { added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
  const json = { ...defaults, ...(given as object) } as unknown as TokenizerJson;
  const { ids, merges } = checkModel(json.model, where);
  const names = new Map<number, string>();
  for (const [token, id] of ids) names.set(id, token);
  for (const { content, id } of json.added_tokens) {
    const other = names.get(id) ?? content;
    if (other !== content || (ids.get(content) ?? id) !== id) {
      throw new FormatError(`${where}: the added token ${JSON.stringify(content)} has the id ${id}, but so has ${JSON.stringify(other)}`);
    }
    ids.set(content, id);
    names.set(id, content);
  }
  return { json, ids, names, merges };
}

/** Whether a value is nested more than so many levels deep; it is never followed further, because that could overflow the stack. */
function isDeeper(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== "object") return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const child of value) if (typeof child === "object" && isDeeper(child, levels - 1)) return true;
    return false;
  }
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    if (typeof child === "object" && isDeeper(child, levels - 1)) return true;
  }
  return false;
}
