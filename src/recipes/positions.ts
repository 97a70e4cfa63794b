import { chance } from "../base/chance.ts";
import { sentence, setting } from "../base/sentence.ts";
import type { Tagged } from "../text/examples.ts";
import type { Recipe } from "./recipe.ts";

const letters = "abcd";
const trained = 20;

/** For every letter, how many of the two before it and the two after it are the same letter: 0, 1, or 2 for two and more. */
export function likeNeighbours(text: string): string[] {
  return Array.from(text, (letter, i) => {
    const around = text.slice(Math.max(0, i - 2), i) + text.slice(i + 1, i + 3);
    return `${Math.min(2, [...around].filter((other) => other === letter).length)}`;
  });
}

function strings(purpose: string, count: number, length: number): Tagged[] {
  const source = chance(1).fork("positions").fork(purpose);
  return Array.from({ length: count }, (_, i) => {
    const own = source.fork(i);
    const text = Array.from({ length }, (_, k) => letters[own.integer(k, letters.length)]).join("");
    return { text, tags: likeNeighbours(text) };
  });
}

/** The task is the same to the left and to the right, so that ALiBi, which knows only how far away a letter is, has its chance too. */
export const positions: Recipe = {
  name: "positions",
  teaches: sentence`who knows where a letter stands when the text is longer than any seen: trained on 20 letters, tested on 20, 40 and 80, with each kind of ${setting("positions")} in turn`,
  result:
    "quick, accuracy at 20, 40 and 80 letters: learned 1.00, 0.67, 0.51; rotary 1.00, 0.62, 0.47; relative 0.99, 0.76, 0.56; sinusoidal 0.97, 0.62, 0.45; alibi 0.75, 0.71, 0.69; none 0.49, 0.45, 0.42",
  task: "tag",
  data: async () => ({
    kind: "examples",
    task: "tag",
    train: strings("train", 10_000, trained),
    valid: strings("valid", 500, trained),
    test: strings("test", 500, trained),
    longer: { "2x": strings("2x", 250, 2 * trained), "4x": strings("4x", 125, 4 * trained) },
  }),
  settings: (full) => ({
    tokenizer: "char",
    // A learned table has room for the longest test; that its later rows were never trained is the point.
    model: { layers: 2, heads: 4, width: 64, hidden: 128, context: 4 * trained, positions: "rotary", activation: "gelu", dropout: 0 },
    training: { batch: 64, steps: full ? 4000 : 1000, lr: 3e-3, warmup: 50 },
  }),
};
