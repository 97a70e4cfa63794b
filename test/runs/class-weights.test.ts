import { describe, expect, it } from "vitest";
import { atOnce } from "../../src/base/turns.ts";
import { dividing } from "../../src/data/raw.ts";
import { type ClassWeights, classWeightsOf } from "../../src/runs/class-weights.ts";

const divided = (...given: Parameters<typeof dividing>) => atOnce(dividing(...given));

const of = (counts: Readonly<Record<string, number>>) =>
  divided(
    "classify",
    Object.entries(counts).flatMap(([label, count]) => Array.from({ length: count }, (_, i) => ({ text: `${label} ${i}`, label }))),
    { validFraction: 0 },
  );

describe("class weights", () => {
  const raw = of({ a: 6, b: 3, c: 1 });
  const weights = (wanted?: ClassWeights) => classWeightsOf(wanted, raw, ["a", "b", "c"]);

  it("are scikit-learn's when they are balanced: examples / (labels · examples of the label)", () => {
    expect(weights("balanced")).toEqual([10 / (3 * 6), 10 / (3 * 3), 10 / (3 * 1)]);
    expect(classWeightsOf("balanced", raw, ["a", "b", "c", "never"])).toEqual([10 / 18, 10 / 9, 10 / 3, 1]);
    expect([weights(), weights("none")]).toEqual([undefined, undefined]);
  });

  it("have a mean of 1 over the training examples", () => {
    const found = weights({ c: 5 }) ?? [];
    expect(found[2] / found[0]).toBeCloseTo(5, 12);
    expect((6 * found[0] + 3 * found[1] + found[2]) / 10).toBeCloseTo(1, 12);
  });

  it("are for the presence of a label, where texts have several", () => {
    const several = divided(
      "classify",
      [
        { text: "1", labels: ["a"] },
        { text: "2", labels: ["a", "b"] },
        { text: "3", labels: ["a"] },
        { text: "4", labels: [] },
      ],
      { validFraction: 0 },
    );
    expect(classWeightsOf("balanced", several, ["a", "b"])).toEqual([1 / 3, 3]);
    expect(classWeightsOf({ b: 4 }, several, ["a", "b"])).toEqual([1, 4]);
  });

  it("refuse a label that is not there, and weights that are none", () => {
    expect(() => weights({ d: 2 })).toThrow('there is no label "d" to give a weight with classWeights');
    expect(() => weights({ a: -1 })).toThrow('the weight of "a" is above 0 and at most a million, not -1; change classWeights');
  });
});
