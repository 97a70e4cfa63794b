import type { Turns } from "../base/turns.ts";
import { byteLetters, utf8 } from "./bytes.ts";
import { countWords, type Texts } from "./count.ts";
import { framed, specialsOf, type TokenizerJson } from "./frame.ts";
import { Merger } from "./merger.ts";
import { learnMerges } from "./merges.ts";
import { inPieces, ownTokenizer } from "./own.ts";
import { compiled, patterns } from "./patterns.ts";
import type { CheckedFile } from "./schema.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { byteDecoder, byteTokens, tokensById, vocabObject, vocabSize } from "./vocabulary.ts";

// Byte-level byte-pair encoding, as GPT-2 has it: nothing is unknown and nothing is lost.

export async function learnBpe(texts: Texts, vocab?: number, turns?: Turns): Promise<TokenizerJson> {
  const tokens = [...specialsOf("bpe"), ...byteLetters];
  const size = vocabSize(vocab, 8000, tokens.length, "bpe", "two special tokens and 256 bytes");
  const words = await countWords(texts, patterns.byteWords, turns);
  const first = specialsOf("bpe").length; // the id of byte 0
  const symbols = words.map(([word, count]) => [Int32Array.from(utf8(word), (byte) => byte + first), count] as const);
  const merges = await learnMerges(symbols, tokens, size, (left, right) => left + right, turns);
  return framed("bpe", { vocab: vocabObject(tokens), merges });
}

export function readBpe({ json, merges }: CheckedFile, where: string): Tokenizer {
  const tokens = tokensById(json, "bpe", where);
  const bytes = byteTokens(tokens, "bpe", where);
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const byteIds = Int32Array.from(byteLetters, (letter) => ids.get(letter) ?? 0);
  const merger = new Merger(merges);
  const regex = compiled(patterns.byteWords);
  return ownTokenizer("bpe", json, tokens.length, {
    ...byteDecoder(bytes),
    encode: inPieces((piece, into) => {
      for (const [word] of piece.matchAll(regex)) {
        const symbols = Int32Array.from(utf8(word), (byte) => byteIds[byte]);
        merger.encode(symbols, symbols.length, into);
      }
    }),
  });
}
