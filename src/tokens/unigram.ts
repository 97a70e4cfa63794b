import { FormatError } from "../base/errors.ts";
import type { Turns } from "../base/turns.ts";
import { tokenOf, utf8 } from "./bytes.ts";
import { countWords, type Texts } from "./count.ts";
import { framed, specialsOf, type TokenizerJson } from "./frame.ts";
import { Lattice } from "./lattice.ts";
import { inPieces, ownTokenizer } from "./own.ts";
import { compiled, patterns } from "./patterns.ts";
import type { CheckedFile } from "./schema.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { learnPieces } from "./unigram-training.ts";
import { byteDecoder, byteTokens, tokensById, vocabSize } from "./vocabulary.ts";

// The unigram language model of SentencePiece (Kudo 2018), over bytes: nothing is unknown and nothing is lost.

/**
 * Scores are multiples of 2^-12. So sums of scores are exact, whatever the order of the additions: equal ways to cut a
 * word are equal in every implementation, and all of them have the same rule for equals.
 */
const grain = 2 ** 12;

export async function learnUnigram(texts: Texts, vocab?: number, turns?: Turns): Promise<TokenizerJson> {
  const specials = specialsOf("unigram");
  const size = vocabSize(vocab, 8000, specials.length + 256, "unigram", "two special tokens and 256 bytes");
  const words = await countWords(texts, patterns.byteWords, turns);
  const pieces = await learnPieces(
    words.map(([word, count]) => [utf8(word), count] as const),
    size - specials.length,
    turns,
  );
  const scored = pieces.map(({ bytes, score }) => [tokenOf(bytes), Math.round(score * grain) / grain] as const);
  return framed("unigram", { vocab: [...specials.map((token) => [token, 0] as const), ...scored] });
}

export function readUnigram({ json }: CheckedFile, where: string): Tokenizer {
  const tokens = tokensById(json, "unigram", where);
  if (new Set(tokens).size < tokens.length) throw new FormatError(`${where}: model.vocab has the same token twice`);
  const bytes = byteTokens(tokens, "unigram", where);
  const lattice = new Lattice(bytes);
  const { vocab } = json.model as { vocab: readonly (readonly [string, number])[] };
  const scores = Float64Array.from(vocab, ([, score]) => score);
  const regex = compiled(patterns.byteWords);
  return ownTokenizer("unigram", json, tokens.length, {
    ...byteDecoder(bytes),
    encode: inPieces((piece, into) => {
      for (const [word] of piece.matchAll(regex)) {
        const symbols = utf8(word);
        lattice.read(symbols);
        for (const id of lattice.best(symbols.length, scores)) into.push(id);
      }
    }),
  });
}
