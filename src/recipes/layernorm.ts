import { type Chance, chance } from "../base/chance.ts";
import { sentence, setting } from "../base/sentence.ts";
import type { Tagged } from "../text/examples.ts";
import type { Recipe } from "./recipe.ts";

// The majority task of Brody, Alon and Yahav (2023), "On the Expressivity Role of LayerNorm in Transformers' Attention".

const letters = "abcdefghijklmnopqrst";
const length = 50;
/** The most frequent letter is there so many times more than any other. */
const lead = 6;

/** Its most frequent letter 14 to 24 times, the others drawn from 5 to 19 letters, in a random order. */
function drawn(own: Chance): Tagged {
  const most = 14 + own.fork("most").integer(0, 11);
  const kinds = shuffled([...letters], own.fork("kinds")).slice(0, 6 + own.fork("count").integer(0, 15));
  const counts = new Map([[kinds[0], most]]);
  const others = own.fork("others");
  for (let place = 0, left = length - most; left > 0; place++) {
    const kind = kinds[1 + others.integer(place, kinds.length - 1)];
    const count = counts.get(kind) ?? 0;
    if (count === most - lead) continue;
    counts.set(kind, count + 1);
    left--;
  }
  const text = [...counts].flatMap(([kind, count]) => Array.from({ length: count }, () => kind));
  return { text: shuffled(text, own.fork("order")).join(""), tags: Array.from({ length }, () => kinds[0]) };
}

/** The same list in the order of random numbers. */
function shuffled<T>(list: readonly T[], source: Chance): T[] {
  return list
    .map((item, place) => ({ item, key: source.bits(place) }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

function strings(purpose: string, count: number): Tagged[] {
  const source = chance(1).fork("layernorm").fork(purpose);
  return Array.from({ length: count }, (_, i) => drawn(source.fork(i)));
}

export const layernorm: Recipe = {
  name: "layernorm",
  teaches: sentence`LayerNorm helps attention to see all keys alike: every position tells the most frequent letter of the string; compare ${setting("norm", "layer")}, rms (no projection) and none`,
  result:
    "accuracy 0.992 on 1,000 held-out strings (full 0.993); 99 % after 550 to 1,100 steps with LayerNorm, 350 to 850 with RMSNorm, not within 2,000 without (three seeds)",
  task: "tag",
  data: async () => ({
    kind: "examples",
    task: "tag",
    train: strings("train", 10_000),
    valid: strings("valid", 500),
    test: strings("test", 1_000),
  }),
  settings: (full) => ({
    tokenizer: "char",
    // As in the paper: one layer, one head, no positions, and a norm without parameters of its own; its width of 8 is slow to get to 99 %.
    model: {
      layers: 1,
      heads: 1,
      width: 16,
      hidden: 16,
      context: length,
      positions: "none",
      norm: "layer",
      normAffine: false,
      activation: "relu",
      dropout: 0,
    },
    training: { batch: 64, steps: full ? 10_000 : 2000, lr: 1e-2, warmup: 100, weightDecay: 0, evalEvery: 100 },
  }),
};
