import * as z from "zod";
import type { Roles } from "../tokens/with-roles.ts";
import type { JsonObject } from "./family.ts";

// What a model from outside came with, beside its weights and its tokenizer. It travels with the model, so that it can be written back.

const object = z.record(z.string(), z.unknown());

/** What the numbers of a checkpoint are kept as. */
export const checkpointTypes = ["F32", "F16", "BF16"] as const;
export type CheckpointType = (typeof checkpointTypes)[number];

export const hubRecordSchema = z.strictObject({
  family: z.string(),
  /** config.json as it was. */
  config: object,
  /** generation_config.json as it was. */
  generation: object.optional(),
  /** tokenizer_config.json as it was. */
  tokenizerConfig: object.optional(),
  chatTemplate: z.string().optional(),
  /** What its numbers were kept as. */
  dtype: z.enum(checkpointTypes).optional(),
  /** Settings whose whole numbers its files have with a point, as Python wants some of them. */
  floats: z.array(z.string()).optional(),
});

/** What a model from outside came with: its own settings as they were. */
export type HubRecord = z.output<typeof hubRecordSchema>;

export interface HubRoles extends Roles {
  /** What the decoder of an encoder–decoder begins with. */
  readonly decoderStart?: number;
}

/**
 * The tokens that stand around texts: generation_config.json says it first, then config.json, then tokenizer_config.json, by name.
 * `idOf` gives the id of a token.
 */
export function rolesOf(record: Omit<HubRecord, "family">, idOf: (token: string) => number | undefined): HubRoles {
  const { generation = {}, config, tokenizerConfig = {} } = record;
  const numbers = (key: string): readonly number[] => {
    for (const { [key]: value } of [generation, config]) {
      const ids = [value].flat().filter((id): id is number => typeof id === "number" && Number.isSafeInteger(id) && id >= 0);
      if (ids.length > 0) return ids;
    }
    return [];
  };
  const named = (key: string): readonly number[] => {
    const token = tokenText(tokenizerConfig[key]);
    const id = token === undefined ? undefined : idOf(token);
    return id === undefined ? [] : [id];
  };
  const role = (key: string) => [...numbers(`${key}_token_id`), ...named(`${key}_token`)];
  const ends = numbers("eos_token_id").length > 0 ? numbers("eos_token_id") : named("eos_token");
  const [[start], [pad], [decoderStart]] = [role("bos"), role("pad"), numbers("decoder_start_token_id")];
  return {
    ...(start !== undefined && { start }),
    ...(ends.length > 0 && { ends: [...new Set(ends)] }),
    ...(pad !== undefined && { pad }),
    ...(decoderStart !== undefined && { decoderStart }),
  };
}

/** Tokens that the files forbid to write, one by one: Marian's padding, which its decoder begins with. */
export function neverWritten({ generation = {}, config }: HubRecord): number[] {
  const isId = (id: unknown): id is number => typeof id === "number" && Number.isSafeInteger(id) && id >= 0;
  const words = [generation, config].map(({ bad_words_ids: found }) => found).find(Array.isArray) ?? [];
  const alone = words.flatMap((word: unknown) => (Array.isArray(word) && word.length === 1 ? word : []));
  const tokens = [generation, config].map(({ suppress_tokens: found }) => found).find(Array.isArray) ?? [];
  return [...new Set([...alone, ...tokens].filter(isId))];
}

/** A token is a string, or an object that has one. */
export function tokenText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const content = typeof value === "object" && value !== null ? (value as JsonObject).content : undefined;
  return typeof content === "string" ? content : undefined;
}

/** The chat template of tokenizer_config.json: a text, or a list of named ones, of which the default counts. */
export function templateOf(tokenizerConfig: JsonObject | undefined): string | undefined {
  const template = tokenizerConfig?.chat_template;
  if (typeof template === "string") return template;
  if (!Array.isArray(template)) return undefined;
  const found = template.find((one) => (one as JsonObject | null)?.name === "default") as JsonObject | undefined;
  return typeof found?.template === "string" ? found.template : undefined;
}
