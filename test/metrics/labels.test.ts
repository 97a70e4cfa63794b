import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calibrationError, fittedTemperature, separateShares, shares } from "../../src/metrics/calibration.ts";
import { classification, type Scores } from "../../src/metrics/classification.ts";
import { severalClassification } from "../../src/metrics/several.ts";
import { marksSpans, spanScores, spansOf } from "../../src/metrics/spans.ts";

type Numbers = Scores & { readonly support?: number };

interface Reference {
  readonly labels: readonly { truth: number[]; predicted: number[]; labels: number; classes: Numbers[]; macro: Scores; weighted: Scores }[];
  readonly sets: readonly {
    truth: number[][];
    predicted: number[][];
    labels: number;
    accuracy: number;
    classes: Numbers[];
    confusion: number[][][];
    micro: Scores;
    macro: Scores;
    weighted: Scores;
  }[];
  readonly spans: readonly {
    truth: string[][];
    predicted: string[][];
    spans: [string, number, number][][];
    micro: Numbers;
    macro: Numbers;
    weighted: Numbers;
    types: (Numbers & { type: string })[];
  }[];
}

const reference: Reference = JSON.parse(readFileSync(new URL("labels-reference.json", import.meta.url), "utf8"));

const close = (found: Numbers, wanted: Numbers): void => {
  for (const name of ["precision", "recall", "f1"] as const) expect(found[name], name).toBeCloseTo(wanted[name], 12);
  if (wanted.support !== undefined && found.support !== undefined) expect(found.support).toBe(wanted.support);
};

describe("precision, recall, F1 and support", () => {
  it("are counted by hand for three labels", () => {
    const { classes, macro, weighted } = classification([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 0, 1], 3);
    close(classes[0], { precision: 2 / 3, recall: 2 / 3, f1: 2 / 3, support: 3 });
    close(classes[1], { precision: 1 / 3, recall: 1 / 2, f1: 2 / 5, support: 2 });
    close(classes[2], { precision: 0, recall: 0, f1: 0, support: 1 });
    close(macro, { precision: 1 / 3, recall: (2 / 3 + 1 / 2) / 3, f1: (2 / 3 + 2 / 5) / 3 });
    close(weighted, { precision: (3 * 2) / 3 / 6 + (2 * 1) / 3 / 6, recall: 3 / 6, f1: (3 * (2 / 3) + 2 * (2 / 5)) / 6 });
  });

  it("are those of scikit-learn", () => {
    expect(reference.labels).toHaveLength(20);
    for (const { truth, predicted, labels, classes, macro, weighted } of reference.labels) {
      const found = classification(truth, predicted, labels);
      for (const [i, one] of classes.entries()) close(found.classes[i], one);
      close(found.macro, macro);
      close(found.weighted, weighted);
      expect(found.f1).toBe(found.macro.f1);
    }
  });
});

describe("several labels", () => {
  it("are counted by hand for two texts", () => {
    const found = severalClassification(
      [
        [1, 0],
        [1, 1],
      ],
      [
        [1, 0],
        [0, 1],
      ],
      2,
    );
    expect(found.accuracy).toBe(1 / 2);
    expect(found.confusion).toEqual([
      [
        [0, 0],
        [1, 1],
      ],
      [
        [1, 0],
        [0, 1],
      ],
    ]);
    close(found.micro, { precision: 1, recall: 2 / 3, f1: 4 / 5 });
  });

  it("are those of scikit-learn", () => {
    expect(reference.sets).toHaveLength(20);
    for (const { truth, predicted, labels, accuracy, classes, confusion, micro, macro, weighted } of reference.sets) {
      const found = severalClassification(truth, predicted, labels);
      expect(found.accuracy).toBeCloseTo(accuracy, 12);
      expect(found.confusion).toEqual(confusion);
      for (const [i, one] of classes.entries()) close(found.classes[i], one);
      close(found.micro, micro);
      close(found.macro, macro);
      close(found.weighted, weighted);
    }
  });

  it("refuses rows of another length", () => {
    expect(() => severalClassification([[1]], [[1, 0]], 2)).toThrow("row 0 has 1 and 2 numbers; wanted one for each of 2 labels");
  });
});

describe("spans", () => {
  it("begin with B, go on with I, and end before O, another type or another B", () => {
    expect(spansOf(["B-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-PER"])).toEqual([
      { type: "PER", first: 0, last: 1 },
      { type: "LOC", first: 3, last: 3 },
      { type: "LOC", first: 4, last: 4 },
      { type: "PER", first: 5, last: 5 },
    ]);
    expect(spansOf([])).toEqual([]);
  });

  it("are those of seqeval, and so are their scores", () => {
    expect(reference.spans).toHaveLength(30);
    for (const { truth, predicted, spans, micro, macro, weighted, types } of reference.spans) {
      expect(truth.map((row) => spansOf(row).map(({ type, first, last }) => [type, first, last]))).toEqual(spans);
      const found = spanScores(truth, predicted);
      close(found.micro, micro);
      close(found.macro, macro);
      close(found.weighted, weighted);
      expect(found.types.map(({ type }) => type)).toEqual(types.map(({ type }) => type));
      for (const [i, one] of types.entries()) close(found.types[i], one);
    }
  });

  it("are what tags of that form mark, and no others", () => {
    expect(marksSpans(["O", "B-PER", "I-PER"])).toBe(true);
    for (const tags of [["O"], ["O", "I-PER"], ["NN", "VB"], ["B-PER", "DT"], ["b-per", "o"]]) expect(marksSpans(tags)).toBe(false);
  });
});

describe("calibration", () => {
  it("is the mean distance of what was said and what was so, by bins of 1/15", () => {
    const claims = (confidence: number, right: number, all: number) =>
      Array.from({ length: all }, (_, i) => ({ confidence, right: i < right }));
    expect(calibrationError(claims(0.8, 8, 10))).toBeCloseTo(0, 12);
    expect(calibrationError(claims(1, 5, 10))).toBeCloseTo(0.5, 12);
    expect(calibrationError([...claims(0.9, 5, 10), ...claims(0.3, 6, 10)])).toBeCloseTo((0.4 + 0.3) / 2, 12);
    expect(calibrationError([...claims(0.61, 10, 10), ...claims(0.65, 0, 10)])).toBeCloseTo(0.13, 12); // one bin: |0.5 − 0.63|
    expect(() => calibrationError([])).toThrow("no answers to score");
  });

  it("finds the temperature that the scores were heated with", () => {
    // Of 10,000 answers with scores (x, 0), the share sigmoid(x) is right: a temperature of 1 is best; with scores three times as large, 3.
    const answers = [-2, -1, -0.5, 0.5, 1, 2].flatMap((x) => {
      const right = Math.round(10_000 / (1 + Math.exp(-x)));
      return Array.from({ length: 10_000 }, (_, i) => ({ scores: [3 * x, 0], truth: i < right ? 0 : 1 }));
    });
    expect(fittedTemperature(answers)).toBeCloseTo(3, 2);
    const separate = answers.map(({ scores: [x], truth }) => ({ scores: [x], truth: [1 - truth] }));
    expect(fittedTemperature(separate)).toBeCloseTo(3, 2);
  });

  it("lets no few right answers make a model certain", () => {
    const temperature = fittedTemperature(Array.from({ length: 8 }, () => ({ scores: [2, 0, 0], truth: 0 })));
    expect(shares([2, 0, 0], temperature)[0]).toBeCloseTo(1 - 1 / 10, 4); // (n + 1) / (n + 2)
  });

  it("changes no answer", () => {
    const score = fc.double({ min: -20, max: 20, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(score, { minLength: 2, maxLength: 6 }),
        fc.double({ min: 0.05, max: 20, noNaN: true }),
        (scores, temperature) => {
          const most = scores.indexOf(Math.max(...scores));
          const probabilities = shares(scores, temperature);
          expect(probabilities[most]).toBe(Math.max(...probabilities));
          expect(probabilities.reduce((a, b) => a + b)).toBeCloseTo(1, 9);
          for (const [i, probability] of separateShares(scores, temperature).entries())
            expect(probability >= 0.5).toBe(scores[i] >= 0 || probability === 0.5);
        },
      ),
    );
  });
});
