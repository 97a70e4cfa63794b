import { describe, expect, it } from "vitest";
import { alignmentOf, attendedBy, rollout } from "../../src/inspection/alignment.ts";
import { type AttentionOptions, attentionOf } from "../../src/inspection/attention.ts";
import type { AttentionLook } from "../../src/inspection/look.ts";
import { headStatisticsOf } from "../../src/inspection/statistics.ts";
import { headStatistics } from "../../src/pictures/head-statistics.ts";
import { attention, statistics } from "../../src/views/texts.ts";
import { inputs, runOf } from "./models.ts";

const lookOf = (kind: AttentionLook["kind"], text: string, ...patterns: number[][][]): AttentionLook => ({
  tokens: [...text],
  targetTokens: [...text],
  kind,
  layers: patterns.map((pattern, layer) => ({ layer, heads: [{ head: 0, pattern }] })),
});

const summaryOf = (look: AttentionLook) => headStatisticsOf(look).layers[0].heads[0];

const causal = [
  [1, 0, 0],
  [0.5, 0.5, 0],
  [0.5, 0.25, 0.25],
];

describe("the statistics of a head", () => {
  it("of a causal pattern, by hand", () => {
    const found = summaryOf(lookOf("self", "aba", causal));
    expect(found.entropy).toBeCloseTo((0 + Math.log(2) + 1.5 * Math.log(2)) / 3, 10);
    expect(found.effective).toBeCloseTo(2 ** (2.5 / 3), 10);
    expect(found.previous).toBeCloseTo((0.5 + 0.25) / 2, 10);
    expect(found.first).toBeCloseTo((1 + 0.5 + 0.5) / 3, 10);
    expect(found.diagonal).toBeCloseTo((1 + 0.5 + 0.25) / 3, 10);
    expect(found.same).toBeCloseTo(0.5, 10); // the second a on the first; the first a has no other that it could see
  });

  it("counts the same token on both sides where a query sees both", () => {
    const even = [0, 1, 2].map(() => [0.2, 0.3, 0.5]);
    expect(summaryOf(lookOf("encoder", "aba", even)).same).toBeCloseTo((0.5 + 0.2) / 2, 10);
  });

  it("leaves out what makes no sense: no other equal token, a pattern of queries and keys from two texts", () => {
    expect(summaryOf(lookOf("self", "abc", causal)).same).toBeUndefined();
    const cross = summaryOf({ ...lookOf("cross", "ab", [[0.25, 0.75]]), targetTokens: ["b"] });
    expect(Object.keys(cross)).toEqual(["head", "entropy", "effective", "first", "same"]);
    expect(cross.same).toBe(0.75);
  });
});

describe("rows that are no distributions", () => {
  const at = async (input: Parameters<typeof runOf>[0], options: AttentionOptions = {}) =>
    attentionOf(await runOf(input), "the cat", options);
  const names = (look: AttentionLook) => Object.keys(headStatisticsOf(look).layers[0].heads[0]);

  it.each([
    ["linear attention", { ...inputs.decoder, attention: "linear" }, {}],
    ["linear attention over a source", { ...inputs["encoder–decoder"], attention: "linear" }, { target: "it" }],
    ["a mask after the softmax", { ...inputs.decoder, mask: "after-softmax" }, {}],
  ] as const)("have no entropy: %s", async (_, input, options) => {
    const look = await at(input, options);
    expect(look.rows).toBe("weights");
    const sums = look.layers.flatMap(({ heads }) => heads.flatMap(({ pattern }) => pattern.map((row) => row.reduce((a, b) => a + b))));
    expect(Math.max(...sums.map((sum) => Math.abs(sum - 1)))).toBeGreaterThan(0.1);
    expect(names(look)).not.toContain("entropy");
    expect(names(look)).not.toContain("effective");
    expect(names(look)).toContain("first");
    const found = headStatisticsOf(look);
    for (const drawn of [statistics(found), attention(look, { columns: 80, colour: false }), headStatistics(found)])
      expect(drawn).not.toMatch(/entropy|NaN|undefined/);
    expect(statistics(found)).toMatch(/^layer 0 {2}head 0 {2}.*first/);
  });

  it.each([
    ["a decoder", inputs.decoder, {}],
    ["no mask", { ...inputs.decoder, mask: "none" }, {}],
    ["no parameters", { ...inputs.decoder, attention: "free" }, {}],
    ["a source, with a mask after the softmax", { ...inputs["encoder–decoder"], mask: "after-softmax" }, { target: "it", kind: "cross" }],
    ["an encoder, with a mask after the softmax", { ...inputs.classifier, mask: "after-softmax" }, { kind: "self" }],
    ["an RNN", inputs["rnn with attention"], { target: "it" }],
  ] as const)("are others than these: %s", async (_, input, options) => {
    const look = await at(input, options);
    expect(look.rows).toBeUndefined();
    for (const { heads } of look.layers)
      for (const { pattern } of heads) for (const row of pattern) expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
    expect(names(look)).toContain("entropy");
    expect(headStatistics(headStatisticsOf(look))).toContain("entropy (nats)");
  });
});

describe("a rollout", () => {
  it("multiplies the layers with half a residual, by hand", () => {
    const swapped = [
      [0, 1],
      [1, 0],
    ];
    const [first, second] = rollout(lookOf("encoder", "ab", swapped, swapped)).layers.map(({ heads }) => heads[0].pattern);
    expect(first).toEqual([
      [0.5, 0.5],
      [0.5, 0.5],
    ]);
    expect(second).toEqual(first);
    const gathered = [
      [1, 0],
      [1, 0],
    ];
    const plain = rollout(lookOf("encoder", "ab", gathered, swapped), { residual: false }).layers[1].heads[0].pattern;
    expect(plain).toEqual(gathered); // the later layer from the left: whatever it swaps, all comes from the first token
    const other = rollout(lookOf("encoder", "ab", swapped, gathered), { residual: false }).layers[1].heads[0].pattern;
    expect(other).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  it("has rows that sum to one and sees nothing of the future in a decoder, and is not for cross-attention", async () => {
    const run = await runOf(inputs.decoder);
    const { layers } = rollout(await attentionOf(run, "the cat"));
    expect(layers).toHaveLength(2);
    for (const [i, row] of layers[1].heads[0].pattern.entries()) {
      expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
      expect(row.slice(i + 1).every((p) => p === 0)).toBe(true);
    }
    expect(() => rollout(lookOf("cross", "ab", [[1, 0]]))).toThrow("look at the kind self or encoder");
  });
});

describe("an alignment", () => {
  it("is the mean over heads and the best source token of each target token", () => {
    const look: AttentionLook = {
      tokens: ["p", "h"],
      targetTokens: ["F"],
      kind: "cross",
      layers: [
        {
          layer: 0,
          heads: [
            [0.75, 0.25],
            [0, 1],
          ].map((row, head) => ({ head, pattern: [row] })),
        },
      ],
    };
    expect(alignmentOf(look)).toEqual({ tokens: ["p", "h"], targetTokens: ["F"], matrix: [[0.375, 0.625]], path: [1] });
  });

  it("of an RNN leads from every target token to a source token", async () => {
    const { matrix, path } = alignmentOf(await attentionOf(await runOf(inputs["rnn with attention"]), "the cat", { target: "it" }));
    expect(path).toHaveLength(3);
    for (const [i, row] of matrix.entries()) expect(row[path[i]]).toBe(Math.max(...row));
  });
});

describe("the coreference look", () => {
  it("tells by head which token another attends to most", () => {
    expect(attendedBy(lookOf("self", "abc", causal), "c")).toEqual([{ query: 2, layer: 0, head: 0, key: 0, token: "a", weight: 0.5 }]);
    expect(attendedBy(lookOf("self", "aba", causal), 2)[0].token).toBe("a");
  });

  it("refuses a token that is not there, or there twice", () => {
    expect(() => attendedBy(lookOf("self", "aba", causal), "a")).toThrow('"a" occurs at the places 0, 2; give one of these numbers');
    expect(() => attendedBy(lookOf("self", "aba", causal), "x")).toThrow('no token is "x"; there are a, b, a');
    expect(() => attendedBy(lookOf("self", "aba", causal), 3)).toThrow("there is no token at place 3; the text has 3, counted from 0");
  });
});
