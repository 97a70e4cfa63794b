import { byteLetters, utf8 } from "./bytes.ts";
import { framed, specialsOf, type TokenizerJson } from "./frame.ts";
import { ownTokenizer } from "./own.ts";
import type { CheckedFile } from "./schema.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { byteDecoder, byteTokens, tokensById, vocabObject } from "./vocabulary.ts";

// One token for each byte of UTF-8: nothing to learn, nothing unknown.

export const byteJson = (): TokenizerJson => framed("byte", { vocab: vocabObject([...specialsOf("byte"), ...byteLetters]), merges: [] });

export function readByte({ json }: CheckedFile, where: string): Tokenizer {
  const tokens = tokensById(json, "byte", where);
  const bytes = byteTokens(tokens, "byte", where);
  const ids = new Int32Array(256);
  bytes.forEach((part, id) => {
    if (part.length === 1) ids[part[0]] = id;
  });
  return ownTokenizer("byte", json, tokens.length, {
    ...byteDecoder(bytes),
    encode(text, into) {
      const given = utf8(text);
      for (let i = 0; i < given.length; i++) into.push(ids[given[i]]);
    },
  });
}
