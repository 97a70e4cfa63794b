import { DataError } from "../base/errors.ts";
import type { Turns } from "../base/turns.ts";
import { codePointOrder, countWords, type Texts } from "./count.ts";
import { framed, longestWord, specialsOf, type TokenizerJson } from "./frame.ts";
import { learnMerges } from "./merges.ts";
import { inPieces, ownTokenizer } from "./own.ts";
import { compiled, isPunctuation, patterns } from "./patterns.ts";
import type { CheckedFile } from "./schema.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { tokensById, vocabObject, vocabSize } from "./vocabulary.ts";

// The tokenizer of BERT, cased: a word is cut into the longest known pieces from the left; pieces after the first begin
// with ##. Learned by merges, as the `tokenizers` package does. Whitespace is lost on the way.

const prefix = "##";

export async function learnWordpiece(texts: Texts, vocab?: number, turns?: Turns): Promise<TokenizerJson> {
  const words = await countWords(texts, patterns.bertWords, turns);
  const seen = new Set<string>();
  for (const [word] of words) for (const character of word) seen.add(character);
  if (seen.size === 0) throw new DataError("there is no text to take the pieces of a vocabulary from");
  const single = [...seen].sort(codePointOrder);
  // A sign is always a word by itself, so it never continues one.
  const continuing = single.filter((character) => !isPunctuation(character)).map((character) => prefix + character);
  const tokens = [...specialsOf("wordpiece"), ...single, ...continuing];
  const size = vocabSize(
    vocab,
    8000,
    tokens.length,
    "wordpiece",
    `three special tokens and the ${single.length} characters of the text, as the first of a word and inside it`,
  );
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const symbols = words
    .filter(([word]) => word.length <= longestWord)
    .map(([word, count]) => [Array.from(word, (character, i) => ids.get(i > 0 ? prefix + character : character) ?? 0), count] as const);
  await learnMerges(symbols, tokens, size, (left, right) => left + right.slice(prefix.length), turns);
  return framed("wordpiece", { vocab: vocabObject(tokens) });
}

export function readWordpiece({ json }: CheckedFile, where: string): Tokenizer {
  const tokens = tokensById(json, "wordpiece", where);
  const pieces = new Pieces(tokens);
  const regex = compiled(patterns.bertWords);
  return ownTokenizer("wordpiece", json, tokens.length, {
    encode: inPieces((piece, into) => {
      for (const [word] of piece.matchAll(regex)) for (const id of pieces.of(word)) into.push(id);
    }),
    decode: (given) => textOfPieces(given.map((id) => tokens[id])),
    piece: (id) => tokens[id],
  });
}

class Pieces {
  readonly #first = new Map<string, number>();
  readonly #continuing = new Map<string, number>();
  readonly #longest: number;

  constructor(tokens: readonly string[]) {
    tokens.forEach((token, id) => {
      this.#first.set(token, id);
      if (token.startsWith(prefix)) this.#continuing.set(token.slice(prefix.length), id);
    });
    this.#longest = tokens.reduce((most, token) => Math.max(most, token.length), 0);
  }

  /** The longest known piece from the left, again and again; one that is missing makes the whole word unknown. */
  of(word: string): number[] {
    if (word.length > longestWord && (word.length > 2 * longestWord || Array.from(word).length > longestWord)) return [0];
    const found: number[] = [];
    for (let from = 0; from < word.length; ) {
      const known = from > 0 ? this.#continuing : this.#first;
      let to = Math.min(word.length, from + this.#longest) + 1;
      let id: number | undefined;
      while (id === undefined && --to > from) id = known.get(word.slice(from, to));
      if (id === undefined) return [0];
      found.push(id);
      from = to;
    }
    return found;
  }
}

/** Pieces to text: no space before ## and none before the signs that end a sentence or a part of it. */
function textOfPieces(pieces: readonly string[]): string {
  return pieces.map((piece, i) => (i === 0 ? piece : textAfterText(piece))).join("");
}

/** What a piece adds to the text of those before it. */
export function textAfterText(piece: string): string {
  if (piece.startsWith(prefix)) return piece.slice(prefix.length);
  return /^[.?!,]/.test(piece) ? piece : ` ${piece}`;
}
