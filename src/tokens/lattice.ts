import { ByteTrie } from "./trie.ts";

/**
 * All ways to cut a word of bytes into pieces: an edge for each piece that occurs in it, ordered by where the piece begins.
 * One lattice serves many words, one after the other.
 */
export class Lattice {
  /** How many edges the last word has. */
  edges = 0;
  from = new Int32Array(256);
  to = new Int32Array(256);
  piece = new Int32Array(256);
  readonly #trie = new ByteTrie();

  constructor(pieces: readonly Uint8Array[]) {
    pieces.forEach((bytes, i) => {
      if (bytes.length > 0) this.#trie.set(bytes, i);
    });
  }

  read(word: Uint8Array): void {
    this.edges = 0;
    for (let from = 0; from < word.length; from++) {
      for (let to = from, node = 0; to < word.length; to++) {
        node = this.#trie.step(node, word[to]);
        if (node < 0) break;
        const piece = this.#trie.value(node);
        if (piece >= 0) this.#add(from, to + 1, piece);
      }
    }
  }

  /**
   * The best way by the sum of scores, as pieces from left to right (Viterbi). Among ways of equal score the one whose last
   * piece begins first, as in the other implementations of this format. `without` is a piece that may not be used.
   */
  best(length: number, scores: ArrayLike<number>, without = -1): number[] {
    const total = new Float64Array(length + 1).fill(Number.NEGATIVE_INFINITY);
    const last = new Int32Array(length + 1);
    total[0] = 0;
    for (let edge = 0; edge < this.edges; edge++) {
      const score = total[this.from[edge]] + scores[this.piece[edge]];
      if (score > total[this.to[edge]] && this.piece[edge] !== without) {
        total[this.to[edge]] = score;
        last[this.to[edge]] = edge;
      }
    }
    const pieces: number[] = [];
    for (let at = length; at > 0; at = this.from[last[at]]) pieces.push(this.piece[last[at]]);
    return pieces.reverse();
  }

  #add(from: number, to: number, piece: number): void {
    if (this.edges === this.from.length) {
      for (const name of ["from", "to", "piece"] as const) {
        const grown = new Int32Array(2 * this[name].length);
        grown.set(this[name]);
        this[name] = grown;
      }
    }
    this.from[this.edges] = from;
    this.to[this.edges] = to;
    this.piece[this.edges++] = piece;
  }
}
