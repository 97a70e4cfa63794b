import type { Trained } from "../library/trained.ts";
import { accuracies, milestones, stepsToBar } from "./milestones.ts";
import type { Measured, Row, Study } from "./study.ts";

/** The best accuracy, and the first checkpoint that reaches the bar. */
async function measure(run: Trained): Promise<Measured> {
  const found = await accuracies(run);
  return { figures: { "best accuracy": Math.max(...found.map(({ accuracy }) => accuracy)), ...stepsToBar(found) } };
}

const norms = {
  layer: "LayerNorm: keys lie on a plane, and are equally long",
  rms: "RMSNorm: equally long keys, without the plane",
  none: "no norm",
} as const;
const seeds = [1, 2, 3];

const rows = Object.entries(norms).flatMap(([norm, what]) =>
  seeds.map(
    (seed): Row => ({
      name: `${norm}-${seed}`,
      what: `${what}; seed ${seed}`,
      data: "layernorm",
      model: { norm },
      training: { seed, ...milestones(50) },
      measure,
    }),
  ),
);

export const layernorm: Study = {
  name: "layernorm",
  teaches:
    "What LayerNorm does for attention: to tell the most frequent letter a query must see all keys alike, which is easy if they lie on a plane. Steps until 99 % of the answers are right, with three starts each.",
  rows,
};
