import { DataError } from "../base/errors.ts";
import type { Trained } from "../library/trained.ts";
import { letterCounting as recipe } from "../recipes/letter-counting.ts";
import type { Pair, Tagged } from "../text/examples.ts";
import { answersTo, evaluated } from "./answers.ts";
import { jsonLines } from "./json-lines.ts";
import type { MadeData, Measured, Row, Study } from "./study.ts";

// An encoder sees the whole string at once, so it has no causal mask to leave out. What a mask is for is seen where the counts are written
// one after the other: the same strings, as the source of an encoder–decoder, with their counts as its target.

const parts = ["train", "valid", "test"] as const;

/** Strings and their counts: `abcab` → `00011`. */
async function written(): Promise<Readonly<Record<(typeof parts)[number], Pair[]>>> {
  const data = await recipe.data(false);
  if (data.kind !== "examples") throw new DataError("letter counting has examples");
  const [train, valid, test] = parts.map((part) =>
    (data[part] as Tagged[]).map(({ text, tags }) => ({ source: text, target: tags.join("") })),
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
  const rights = answers.map(({ answer, nearest }) => [...nearest].filter((count, i) => count === answer[i]).length);
  const all = answers.reduce((total, { nearest }) => total + nearest.length, 0);
  return { figures: { accuracy: rights.reduce((a, b) => a + b, 0) / all } };
}

const without = (name: string, what: string, model: Row["model"]): Row => ({
  name,
  what,
  data: recipe.name,
  model,
  measure: evaluated({ accuracy: "accuracy" }),
});

const writer = (name: string, what: string, mask: string): Row => ({
  name,
  what,
  data: counts,
  tokenizer: "char",
  model: { model: "encoder-decoder", layers: 2, heads: 2, width: 64, hidden: 128, context: 21, positions: "learned", dropout: 0, mask },
  training: { batch: 64, steps: 1500, lr: 3e-3, warmup: 50, labelSmoothing: 0 },
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
