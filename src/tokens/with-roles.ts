import { DataError } from "../base/errors.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** The ids that stand around texts, where something beside the tokenizer.json knows them. What is left out is as it was. */
export interface Roles {
  readonly start?: number;
  /** All the ids that may end a text; the first one is written. */
  readonly ends?: readonly number[];
  readonly pad?: number;
}

/** The same tokenizer with other roles. */
export function withRoles(tokenizer: Tokenizer, { start, ends = [], pad }: Roles): Tokenizer {
  for (const id of [start, pad, ...ends]) {
    if (id === undefined || (Number.isInteger(id) && id >= 0)) continue;
    throw new DataError(`the token id ${id} cannot stand around a text: ids are whole numbers from 0`);
  }
  return {
    ...tokenizer,
    ...(start !== undefined && { start }),
    ...(ends.length > 0 && { end: ends[0], ends }),
    ...(pad !== undefined && { pad }),
  };
}
