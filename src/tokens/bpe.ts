import type { Turns } from "../base/turns.ts";
import { byteLetters, utf8 } from "./bytes.ts";
import { countWords, type Texts } from "./count.ts";
import { framed, specialsOf, type TokenizerJson } from "./frame.ts";
import { Heap } from "./heap.ts";
import type { IdList } from "./id-list.ts";
import { learnMerges, type Merge } from "./merges.ts";
import { inPieces, ownTokenizer } from "./own.ts";
import { compiled, patterns } from "./patterns.ts";
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

export function readBpe(json: TokenizerJson, where: string): Tokenizer {
  const tokens = tokensById(json, "bpe", where);
  const bytes = byteTokens(tokens, "bpe", where);
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const byteIds = Int32Array.from(byteLetters, (letter) => ids.get(letter) ?? 0);
  const merger = new Merger(ids, pairsOf(json));
  const regex = compiled(patterns.byteWords);
  return ownTokenizer("bpe", json, tokens.length, {
    ...byteDecoder(bytes),
    encode: inPieces((piece, into) => {
      for (const [word] of piece.matchAll(regex))
        merger.encode(
          Int32Array.from(utf8(word), (byte) => byteIds[byte]),
          into,
        );
    }),
  });
}

/** Merges as pairs; older files write them as "left right". */
function pairsOf(json: TokenizerJson): Merge[] {
  const { merges } = json.model as { merges: (string | Merge)[] };
  return merges.map((merge) => (typeof merge === "string" ? (merge.split(" ") as [string, string]) : merge));
}

const span = 2 ** 21;

/** Applies merges to a word: always the earliest learned one, and from the left. */
class Merger {
  readonly #ranks = new Map<number, number>();
  readonly #made: Int32Array;

  constructor(ids: ReadonlyMap<string, number>, merges: readonly Merge[]) {
    const id = (token: string): number => ids.get(token) ?? 0;
    this.#made = Int32Array.from(merges, ([left, right]) => id(left + right));
    merges.forEach(([left, right], rank) => {
      this.#ranks.set(id(left) * span + id(right), rank);
    });
  }

  encode(symbols: Int32Array, into: IdList): void {
    const { length } = symbols;
    const next = Int32Array.from({ length }, (_, i) => i + 1);
    const before = Int32Array.from({ length }, (_, i) => i - 1);
    const queue = new Heap();
    const enqueue = (at: number): void => {
      if (at < 0 || next[at] >= length) return;
      const rank = this.#ranks.get(symbols[at] * span + symbols[next[at]]);
      if (rank !== undefined) queue.push(rank, at);
    };
    for (let at = 0; at < length; at++) enqueue(at);
    for (let top = queue.pop(); top; top = queue.pop()) {
      const [rank, at] = top;
      const after = next[at];
      // What was queued may have been merged with something else since.
      if (symbols[at] < 0 || after >= length || this.#ranks.get(symbols[at] * span + symbols[after]) !== rank) continue;
      symbols[at] = this.#made[rank];
      symbols[after] = -1;
      next[at] = next[after];
      if (next[at] < length) before[next[at]] = at;
      enqueue(before[at]);
      enqueue(at);
    }
    for (let at = 0; at < length; at = next[at]) into.push(symbols[at]);
  }
}
