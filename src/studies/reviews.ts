import { evaluated } from "./answers.ts";
import type { Row, Study } from "./study.ts";

const reader = (name: string, what: string, model: Row["model"]): Row => ({
  name,
  what,
  data: "reviews",
  full: true,
  model,
  measure: evaluated({ accuracy: "accuracy", f1: "f1" }),
});

export const reviews: Study = {
  name: "reviews",
  teaches:
    "Whether attention is worth its price for film reviews: the encoder beside the mean of the words' vectors, each with as much time.",
  minutes: 10,
  rows: [
    reader("encoder", "the long setting of the recipe", {}),
    reader("mean", "the mean of the words' vectors, classified: no attention, no order", { layers: 0, norm: "none", positions: "none" }),
  ],
};
