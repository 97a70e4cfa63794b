import { describe, expect, it } from "vitest";
import { report } from "../../src/cli/eval-report.ts";
import { classification } from "../../src/metrics/classification.ts";
import { confusedPairs, troubled } from "../../src/metrics/confused.ts";

const measured = (truth: readonly number[], found: readonly number[], labels: readonly string[]) => {
  const { classes, ...measures } = classification(truth, found, labels.length);
  return {
    ...measures,
    labels,
    classes: classes.map((one, i) => ({ label: labels[i], ...one })),
    ece: 0.125,
    examples: truth.length,
    seconds: 1,
  };
};

describe("what eval prints", () => {
  it("are the measures, the scores of each label, and what was taken for what", () => {
    expect(report(measured([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 0, 1], ["cat", "dog", "a very long name of a bird"]), { columns: 80 })).toBe(
      `accuracy        0.5000
f1              0.3556
ece             0.1250
examples        6
seconds         1

label                     precision  recall      f1  support
────────────────────────  ─────────  ──────  ──────  ───────
cat                          0.6667  0.6667  0.6667        3
dog                          0.3333  0.5000  0.4000        2
a very long name of a b…     0.0000  0.0000  0.0000        1
macro average                0.3333  0.3889  0.3556        6
weighted average             0.4444  0.5000  0.4667        6

true \\ found  cat  dog  a very long…
         cat    2    1             ·
         dog    1    1             ·
a very long…    ·    1             ·`,
    );
  });

  it("of many labels are those that are found worst, and the most confused pairs in the place of a matrix too wide", () => {
    const labels = Array.from({ length: 60 }, (_, i) => `label ${i}`);
    const truth = labels.flatMap((_, i) => [i, i, i]);
    const found = truth.map((label, i) => (label % 6 === 0 && i % 3 === 0 ? label + 1 : label));
    const text = report(measured(truth, found, labels), { columns: 100 });
    expect(text).toContain("… and 20 more labels with an F1 of 1.0000 or more; --json has all of them");
    expect(text).not.toContain("true \\ found");
    expect(text).toMatch(/^label 0 → label 1 +1 +33\.3 %$/m);
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  });
});

describe("confusion", () => {
  const confusion = [
    [5, 0, 1],
    [3, 1, 0],
    [0, 0, 4],
  ];

  it("has the most frequent mistake first", () => {
    expect(confusedPairs(confusion)).toEqual([
      { truth: 1, found: 0, times: 3, share: 3 / 4 },
      { truth: 0, found: 2, times: 1, share: 1 / 6 },
    ]);
  });

  it("has labels with more trouble than others", () => {
    expect(troubled(confusion, 2)).toEqual([0, 1]);
    expect(troubled(confusion, 9)).toEqual([0, 1, 2]);
  });
});
