import { DataError } from "../base/errors.ts";
import type { Turns } from "../base/turns.ts";
import { countWords, type Texts } from "./count.ts";
import { framed, longestWord, specialsOf, type TokenizerJson } from "./frame.ts";
import { inPieces, ownTokenizer } from "./own.ts";
import { compiled, patterns } from "./patterns.ts";
import type { CheckedFile } from "./schema.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { tokensById, vocabObject, vocabSize } from "./vocabulary.ts";

// One token for each of the most frequent words and runs of signs. Which whitespace was between them is lost: decoding
// puts one space between any two.

export async function learnWord(texts: Texts, vocab?: number, turns?: Turns): Promise<TokenizerJson> {
  const specials = specialsOf("word");
  const size = vocabSize(vocab, 20_000, specials.length + 1, "word", "three special tokens and a word");
  const counts = await countWords(texts, patterns.words, turns);
  const words = counts.map(([word]) => word).filter((word) => word.length <= longestWord);
  if (words.length === 0) throw new DataError("there is no text to take the words of a vocabulary from");
  return framed("word", { vocab: vocabObject([...specials, ...words.slice(0, size - specials.length)]) });
}

export function readWord({ json }: CheckedFile, where: string): Tokenizer {
  const tokens = tokensById(json, "word", where);
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const regex = compiled(patterns.words);
  return ownTokenizer("word", json, tokens.length, {
    encode: inPieces((piece, into) => {
      for (const [word] of piece.matchAll(regex)) into.push(ids.get(word) ?? 0);
    }),
    decode: (given) => given.map((id) => tokens[id]).join(" "),
    piece: (id) => tokens[id],
  });
}
