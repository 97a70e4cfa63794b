import { evaluated } from "./answers.ts";
import type { Row, Study } from "./study.ts";

const reader = (name: string, what: string, settings: Pick<Row, "model" | "training"> = {}): Row => ({
  name,
  what,
  data: "reviews",
  full: true,
  ...settings,
  measure: evaluated({ accuracy: "accuracy", f1: "f1" }),
});

export const reviews: Study = {
  name: "reviews",
  teaches:
    "Whether attention is worth its price for film reviews: the encoder beside the mean of the words' vectors, each with as much time.",
  minutes: 3, // the mean has begun to learn the reviews by heart long before
  rows: [
    reader("encoder", "the long setting of the recipe"),
    reader("mean", "the mean of the words' vectors, classified: no attention, no order", {
      model: { layers: 0, positions: "none" },
      training: { lr: 1e-2, weightDecay: 0.1 }, // a table alone learns best with a higher rate, and needs less decay then
    }),
  ],
};
