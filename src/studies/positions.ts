import { evaluated } from "./answers.ts";
import type { Row, Study } from "./study.ts";

const kinds: Readonly<Record<string, string>> = {
  learned: "a table, of which the rows past the trained length were never trained",
  sinusoidal: "sines and cosines, added",
  rotary: "queries and keys are turned",
  relative: "a learned bias of the distance",
  alibi: "a fixed bias of the distance",
  none: "no order at all",
};

const row = ([kind, what]: [string, string]): Row => ({
  name: kind,
  what,
  data: "positions",
  model: { positions: kind },
  measure: evaluated({ "accuracy at 1×": "accuracy", "at 2×": "accuracy2x", "at 4×": "accuracy4x" }),
});

export const positions: Study = {
  name: "positions",
  teaches: "Who still knows the order when texts are longer than any that was trained on: twice and four times as long.",
  rows: Object.entries(kinds).map(row),
};
