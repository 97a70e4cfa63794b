import { FormatError } from "../base/errors.ts";
import { parseTokenizer } from "../tokens/load.ts";
import type { TextFrame, Tokenizer } from "../tokens/tokenizer.ts";
import { withRoles } from "../tokens/with-roles.ts";
import { type HubRecord, type HubRoles, rolesOf } from "./record.ts";

/** A tokenizer as the model beside it was trained with it: which ids begin, end and fill up texts is said by the other files of the folder. */
export function hubTokenizer(text: string, where: string, record: HubRecord): Tokenizer {
  const plain = parseTokenizer(text, where);
  const { decoderStart, ...roles } = hubRoles(plain, record);
  // What a translator's decoder begins with is what its targets begin with.
  const tokenizer = withRoles(plain, decoderStart === undefined ? roles : { ...roles, start: decoderStart });
  const frame = frameWith(tokenizer, record);
  const { frame: _, ...rest } = tokenizer;
  return frame ? { ...rest, frame } : rest;
}

/** The ids that stand around texts. */
export function hubRoles(tokenizer: Tokenizer, record: HubRecord): HubRoles {
  let ids: ReadonlyMap<string, number> | undefined;
  return rolesOf(record, (token) => {
    ids ??= idsOf(tokenizer);
    return ids.get(token);
  });
}

/** Special tokens by their text. */
function idsOf({ json }: Tokenizer): ReadonlyMap<string, number> {
  const { added_tokens: added = [] } = json as { readonly added_tokens?: readonly { readonly content: string; readonly id: number }[] };
  return new Map(added.map(({ content, id }) => [content, id]));
}

/** What is put around a text: as tokenizer.json says, unless tokenizer_config.json says yes or no to the tokens one by one. */
function frameWith({ frame, start, end }: Tokenizer, { tokenizerConfig = {} }: HubRecord): TextFrame | undefined {
  const said = (key: string, id: number | undefined, found: readonly number[]): readonly number[] => {
    const wish = tokenizerConfig[key];
    if (typeof wish !== "boolean" || id === undefined || found.includes(id) === wish) return found;
    return wish ? [id, ...found] : found.filter((one) => one !== id);
  };
  const before = said("add_bos_token", start, frame?.before ?? []);
  const after = said("add_eos_token", end, frame?.after ?? []);
  return before.length + after.length > 0 ? { before, after } : undefined;
}

/** A table must have a row for every id; it may have more, which nobody writes. */
export function checkVocabulary(tokenizer: Tokenizer, vocab: number, where: string): void {
  if (tokenizer.size <= vocab) return;
  throw new FormatError(
    `${where}: the tokenizer has ids up to ${tokenizer.size - 1}, and the model only ${vocab} rows for them; do tokenizer.json and config.json belong together?`,
  );
}
