import { DataError } from "../base/errors.ts";
import type { Trained } from "../library/trained.ts";
import { length, letterCounting as recipe } from "../recipes/letter-counting.ts";
import type { Pair, Tagged } from "../text/examples.ts";
import { answersTo, evaluated } from "./answers.ts";
import { share } from "./buckets.ts";
import { accuracies, milestones, stepsToBar } from "./milestones.ts";
import { jsonLines, type MadeData, type Measured, type Row, type Study } from "./study.ts";

// An encoder sees the whole string at once, so it has no causal mask to leave out. What a mask is for is seen where the counts are written
// one after the other: the same strings, as the source of an encoder–decoder, with each letter and its count as the target.

const parts = ["train", "valid", "test"] as const;

const shortest = 4;

/** Strings of many lengths, and each letter again with its count: `abca` → `a0b0c0a1`. With counts alone it takes long to find out whose they are. */
async function written(): Promise<Readonly<Record<(typeof parts)[number], Pair[]>>> {
  const data = await recipe.data(false);
  if (data.kind !== "examples") throw new DataError("letter counting has examples");
  const [train, valid, test] = parts.map((part) =>
    (data[part] as Tagged[]).map(({ text, tags }, i) => {
      const source = text.slice(0, shortest + (i % (text.length - shortest + 1)));
      return { source, target: [...source].map((letter, place) => `${letter}${tags[place]}`).join("") };
    }),
  );
  return { train, valid, test };
}

const counts: MadeData = {
  name: "counts",
  ending: "jsonl",
  async make() {
    const { train, valid } = await written();
    return { train: jsonLines(train), valid: jsonLines(valid) };
  },
};

/** A model without a mask reads everything again for each count, so that not all strings are asked for. */
const asked = 250;

/** The share of counts that are right, each at its own place, when the model writes them by itself. */
async function measureWriter(run: Trained): Promise<Measured> {
  const answers = await answersTo(run, (await written()).test.slice(0, asked));
  const counts = answers.flatMap(({ answer, nearest }) =>
    [...nearest].flatMap((count, i) => (i % 2 === 1 ? [{ count, written: answer[i] }] : [])),
  );
  return { figures: { accuracy: share(counts, ({ count, written }) => count === written) } };
}

/** What it comes to in the end, and how soon it is there. */
async function measureTagger(run: Trained): Promise<Measured> {
  const { figures } = await evaluated({ accuracy: "accuracy" })(run);
  return { figures: { ...figures, ...stepsToBar(await accuracies(run)) } };
}

const without = (name: string, what: string, model: Row["model"]): Row => ({
  name,
  what,
  data: recipe.name,
  model,
  training: milestones(50),
  measure: measureTagger,
});

const writer = (name: string, what: string, mask: string): Row => ({
  name,
  what,
  data: counts,
  tokenizer: "char",
  model: {
    model: "encoder-decoder",
    layers: 2,
    heads: 4,
    width: 64,
    hidden: 128,
    context: 2 * length + 1,
    positions: "learned",
    dropout: 0,
    mask,
  },
  training: { batch: 64, steps: 3000, optimizer: "adamw", lr: 3e-3, warmup: 100, labelSmoothing: 0 },
  measure: measureWriter,
});

export const letterCounting: Study = {
  name: "letter-counting",
  teaches:
    "What each part is for: how often was each letter there before, with one part left out in turn. The last three rows write the counts one after the other, for only there is a causal mask: without it the loss falls to nothing, because each count is read off before it is written, and what the model writes by itself is worthless.",
  rows: [
    without("encoder", "the model of the recipe, with all its parts", {}),
    without("no-positions", "nothing tells before from after", { positions: "none" }),
    without("no-residual", "no residual connections", { residual: false }),
    without("no-feedforward", "attention alone", { feedforward: false }),
    without("one-head", "one head in the place of two", { heads: 1 }),
    without("linear-attention", "no softmax over the scores", { attention: "linear" }),
    writer("writer", "an encoder–decoder that writes the counts", "before-softmax"),
    writer("writer-no-mask", "the same without the causal mask", "none"),
    writer("writer-mask-after", "the same with the mask after the softmax", "after-softmax"),
  ],
};
