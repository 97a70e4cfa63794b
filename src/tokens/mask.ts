import { frameOf } from "./around.ts";
import type { AddedToken, TokenizerJson } from "./frame.ts";
import { loadTokenizer } from "./load.ts";
import type { Tokenizer } from "./tokenizer.ts";

// The token that stands where another is hidden.

export interface MaskToken {
  readonly id: number;
  readonly token: string;
}

const added = ({ json }: Tokenizer): readonly AddedToken[] => (json as Partial<TokenizerJson>).added_tokens ?? [];

/** Files beside a tokenizer say it by name; where they do not, it has one of two customary names. */
export function maskToken(tokenizer: Tokenizer, named?: string): MaskToken | undefined {
  for (const token of [named, "[MASK]", "<mask>"]) {
    const found = token === undefined ? undefined : added(tokenizer).find(({ content }) => content === token);
    if (found) return { id: found.id, token: found.content };
  }
  return undefined;
}

/** The same tokenizer with a mask, `<mask>` after its last token, if it has none. */
export function withMask(tokenizer: Tokenizer): Tokenizer {
  if (maskToken(tokenizer)) return tokenizer;
  const json = tokenizer.json as TokenizerJson;
  const lstrip = JSON.stringify(json.decoder).includes('"ByteLevel"') && tokenizer.kind !== "byte"; // there a word has its space in front
  const flags = { single_word: false, lstrip, rstrip: false, normalized: false, special: true };
  const mask = { id: tokenizer.size, content: "<mask>", ...flags };
  return loadTokenizer({ ...json, added_tokens: [...json.added_tokens, mask] }, "the tokenizer with a mask");
}

/** The tokens that are words, or pieces of words: all but those that stand for something else. */
export function ordinaryIds(tokenizer: Tokenizer): Int32Array {
  const { size, unknown, start, end, ends = [], pad } = tokenizer;
  const { before, after } = frameOf(tokenizer);
  const special = added(tokenizer).flatMap((token) => (token.special ? [token.id] : []));
  const never = new Set([...special, unknown, start, end, ...ends, pad, ...before, ...after]);
  return Int32Array.from({ length: size }, (_, id) => id).filter((id) => !never.has(id));
}
