import { DataError } from "../base/errors.ts";
import { type TokenBytes, tokenBytes } from "../tokens/token-bytes.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { shownPiece } from "../trained/reading.ts";
import type { ToldToken } from "./messages.ts";

/** What tokens are called: by the text that they add where that is whole characters, and else by a name. */
export function tokenNames(tokenizer: Tokenizer): (id: number) => Pick<ToldToken, "text" | "bytes"> {
  const all = bytesOf(tokenizer);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return (id) => {
    const bytes = all?.[id];
    if (!bytes) return { text: shownPiece(tokenizer, id), bytes: null };
    try {
      return { text: decoder.decode(bytes), bytes: Array.from(bytes) };
    } catch {
      return { text: shownPiece(tokenizer, id), bytes: Array.from(bytes) }; // half a character
    }
  };
}

/** There are tokenizers whose tokens have no bytes of their own. */
function bytesOf(tokenizer: Tokenizer): TokenBytes | undefined {
  try {
    return tokenBytes(tokenizer);
  } catch (error) {
    if (error instanceof DataError) return undefined;
    throw error;
  }
}
