import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { labellingOf, type RawExamples } from "../data/raw.ts";
import { answerOf } from "../text/examples.ts";

/** How much each class counts in the loss: all the same, the rarer the more, or as it is said (1 for a label that is not named). */
export type ClassWeights = "none" | "balanced" | Readonly<Record<string, number>>;

/**
 * The weight of every label, in their order. `balanced` is scikit-learn's: examples / (labels · examples of the label). Weights are scaled to a
 * mean of 1 over the training examples, so the loss over all of them is Σ w·loss / Σ w, as scikit-learn has it. Where texts have several labels, a
 * weight is how much it counts that the label is there (PyTorch's pos_weight), and `balanced` is texts without it / texts with it.
 */
export function classWeightsOf(wanted: ClassWeights | undefined, raw: RawExamples, labels: readonly string[]): number[] | undefined {
  if (wanted === undefined || wanted === "none") return undefined;
  const counts = new Map<string, number>();
  for (const name of raw.train.flatMap(answerOf)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const times = labels.map((label) => counts.get(label) ?? 0);
  if (labellingOf(raw.train) === "several") {
    const texts = raw.train.length;
    return wanted === "balanced" ? times.map((count) => (count === 0 ? 1 : Math.max(1, texts - count) / count)) : given(wanted, labels);
  }
  const all = times.reduce((a, b) => a + b, 0);
  const present = times.filter((count) => count > 0).length;
  if (wanted === "balanced") return times.map((count) => (count === 0 ? 1 : all / (present * count)));
  const weights = given(wanted, labels);
  const mean = weights.reduce((sum, weight, i) => sum + weight * times[i], 0) / all;
  return weights.map((weight) => weight / mean);
}

function given(wanted: Readonly<Record<string, number>>, labels: readonly string[]): number[] {
  for (const [label, weight] of Object.entries(wanted)) {
    const facts = { path: "classWeights" } as const;
    if (!labels.includes(label))
      throw new ConfigError(
        sentence`there is no label "${label}" to give a weight with ${setting("classWeights")}${suggest(label, labels) || `; there are ${labels.slice(0, 12).join(", ")}`}`,
        { code: "config.unknown-name", ...facts },
      );
    if (!(weight > 0 && weight <= 1e6))
      throw new ConfigError(
        sentence`the weight of "${label}" is above 0 and at most a million, not ${weight}; change ${setting("classWeights")}`,
        {
          code: "config.range",
          ...facts,
        },
      );
  }
  return labels.map((label) => (Object.hasOwn(wanted, label) ? wanted[label] : 1));
}
