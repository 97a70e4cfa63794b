import { z } from "zod";
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
}

export function checkFile(given: unknown, where: string): CheckedFile {
  if (depth(given) > deepest) throw new FormatError(`${where}: nested more than ${deepest} levels deep, which no tokenizer is`);
  const result = file.safeParse(given);
  if (!result.success) {
    const [{ path, message }] = result.error.issues;
    throw new FormatError(`${where} is not a tokenizer.json: at ${path.join(".") || "the top"}: ${message}`);
  }
  const defaults = { added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
  const json = { ...defaults, ...(given as object) } as unknown as TokenizerJson;
  const ids = checkModel(json.model, where);
  const taken = new Map([...ids].map(([token, id]) => [id, token]));
  for (const { content, id } of json.added_tokens) {
    const other = taken.get(id) ?? content;
    if (other !== content || (ids.get(content) ?? id) !== id) {
      throw new FormatError(`${where}: the added token ${JSON.stringify(content)} has the id ${id}, but so has ${JSON.stringify(other)}`);
    }
    ids.set(content, id);
    taken.set(id, content);
  }
  return { json, ids };
}

function depth(value: unknown): number {
  let level: unknown[] = [value];
  let levels = 0;
  // Level by level, because recursion into a file from outside could overflow the stack.
  while (level.length > 0 && levels <= deepest) {
    const next: unknown[] = [];
    for (const item of level) if (item !== null && typeof item === "object") for (const child of Object.values(item)) next.push(child);
    level = next;
    levels++;
  }
  return levels;
}
