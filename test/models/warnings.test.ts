import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { Dim } from "../../src/graph/dim.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { random } from "../../src/graph/samples.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float32, int32 } from "../../src/graph/type.ts";
import { attention } from "../../src/layers/attention.ts";
import { alibiSlopes, attentionPositions, sinusoids } from "../../src/layers/positions.ts";
import { type DecoderInput, decoderConfig } from "../../src/models/config.ts";
import { decoder, decoderLoss } from "../../src/models/decoder.ts";
import { compile } from "../../src/node/device.ts";
import { add, cast, iota, matmul } from "../../src/ops/index.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { AdamW } from "../../src/training/adam.ts";
import { initialise } from "../../src/weights/initialise.ts";

// What the lectures warn of, and what they promise, each as numbers.

const config = decoderConfig({ heads: 2, vocab: 7, positions: "none" });
const x = random([1, 4, 8], 3);
const causal = (more: object) =>
  tensorFunction({ x: float32(["batch", "time", 8]) }, (p, inputs) => ({
    y: attention(p.at("attention"), inputs.x, { ...config, ...more }, { causal: true }),
  }));

async function tapped(more: object, input: HostArray, tap: string): Promise<HostArray> {
  const fn = causal(more);
  const weights = initialise(parametersOf(fn), chance(2));
  return (await compile(fn, { taps: [`attention/${tap}`] }).run({ x: input }, { weights }))[`attention/${tap}`];
}

const rows = ({ data, shape }: HostArray): number[][] => {
  const width = shape.at(-1) as number;
  return Array.from({ length: data.length / width }, (_, i) => Array.from(data.subarray(i * width, (i + 1) * width) as Float32Array));
};
const total = (row: number[]) => row.reduce((a, b) => a + b, 0);

describe("masking", () => {
  it("before the softmax: rows sum to one and the future has no weight", async () => {
    for (const [i, row] of rows(await tapped({}, x, "pattern")).entries()) {
      expect(total(row)).toBeCloseTo(1, 6);
      expect(row.slice((i % 4) + 1).every((value) => value === 0)).toBe(true);
    }
  });

  it("after the softmax: rows do not sum to one, and the future leaks through the denominator", async () => {
    const before = rows(await tapped({ mask: "after-softmax" }, x, "pattern"));
    expect(total(before[0])).toBeLessThan(0.9); // the first query sees itself alone, yet its weight is not 1
    const changed = array(
      "float32",
      (x.data as Float32Array).map((value, i) => (i < 24 ? value : -value)),
      [1, 4, 8],
    ); // only the last token
    const after = rows(await tapped({ mask: "after-softmax" }, changed, "pattern"));
    expect(Math.abs(after[0][0] - before[0][0])).toBeGreaterThan(1e-3);
    const right = [rows(await tapped({}, x, "pattern")), rows(await tapped({}, changed, "pattern"))];
    expect(right[1][0]).toEqual(right[0][0]);
  });

  it("not at all: a decoder cheats, its loss falls to nearly nothing, and it cannot generate", async () => {
    const sizes = { layers: 2, heads: 2, width: 32, context: 12, vocab: 8 };
    const honest = await trained({ ...sizes });
    const cheating = await trained({ ...sizes, mask: "none" });
    expect(cheating.loss).toBeLessThan(0.02); // nearly every next token stands in the input, one place further on
    expect(honest.loss).toBeLessThan(0.4); // it has to find out the step of each row first
    const [right, wrong] = [await generated(honest.weights, { ...sizes }), await generated(cheating.weights, { ...sizes, mask: "none" })];
    expect(right).toBeGreaterThan(0.95);
    expect(wrong).toBeLessThan(0.5);
  }, 60_000);
});

/** Rows that count up by their own step: 3 5 7 1 3 … A token can be told from the two before it. */
const counting = (seed: number, length: number) =>
  Array.from({ length: 32 }, (_, r) => {
    const [start, step] = [
      chance(3)
        .fork(seed)
        .integer(2 * r, 8),
      1 +
        chance(3)
          .fork(seed)
          .integer(2 * r + 1, 3),
    ];
    return Array.from({ length }, (_, t) => (start + step * t) % 8);
  });
const flat = (list: number[][]) => array("int32", Int32Array.from(list.flat()), [list.length, list[0].length]);

async function trained(sizes: DecoderInput): Promise<{ loss: number; weights: ParameterBuffer }> {
  const fn = decoderLoss(sizes);
  const layout = parametersOf(fn);
  const optimizer = new AdamW(layout, { clip: 1 });
  initialise(layout, chance(1), optimizer.weights);
  const step = compile(fn, { gradientOf: "loss", outputs: ["loss"], threads: 1 });
  let loss = 0;
  for (let i = 1; i <= 400; i++) {
    const list = counting(i, 13);
    const feeds = { ids: flat(list.map((row) => row.slice(0, 12))), targets: flat(list.map((row) => row.slice(1))) };
    loss = Number((await step.run(feeds, { weights: optimizer.weights, gradients: optimizer.gradients })).loss.data[0]);
    await optimizer.step(3e-3 * Math.min(1, i / 20));
  }
  return { loss, weights: optimizer.weights };
}

/** The share of right tokens when each row is continued greedily, from 4 tokens to 10. */
async function generated(weights: ParameterBuffer, sizes: DecoderInput): Promise<number> {
  const fn = tensorFunction({ ids: int32(["batch", "time"]) }, (p, { ids }) => ({
    scores: decoder(p.at("decoder"), ids, decoderConfig(sizes)),
  }));
  const f = compile(fn);
  const wanted = counting(9999, 10);
  const rows = wanted.map((row) => row.slice(0, 4));
  for (let length = 4; length < 10; length++) {
    const { scores } = await f.run({ ids: flat(rows) }, { weights });
    for (const [b, row] of rows.entries()) {
      const last = Array.from((scores.data as Float32Array).subarray((b * length + length - 1) * 8, (b * length + length) * 8));
      row.push(last.indexOf(Math.max(...last)));
    }
  }
  const right = rows.flatMap((row, b) => row.slice(4).map((token, t) => Number(token === wanted[b][t + 4])));
  return right.reduce((a, b) => a + b) / right.length;
}

describe("attention as the lectures define it", () => {
  it("linear attention is a matrix product: (q kᵀ/√size) v", async () => {
    const [scores, pattern] = [
      await tapped({ attention: "linear", mask: "none" }, x, "scores"),
      await tapped({ attention: "linear", mask: "none" }, x, "pattern"),
    ];
    expect(pattern.data).toEqual(scores.data);
    const masked = rows(await tapped({ attention: "linear" }, x, "pattern"));
    const raw = rows(await tapped({ attention: "linear" }, x, "scores"));
    for (const [i, row] of masked.entries()) expect(row).toEqual(raw[i].map((value, j) => (j <= i % 4 ? value : value * 0)));
  });

  it("is a fuzzy look-up: with one-hot keys and a large scale it returns exactly one value", async () => {
    const oneHot = array("float32", [
      [
        [50, 0, 0],
        [0, 50, 0],
        [0, 0, 50],
      ],
    ]);
    const fn = tensorFunction({ x: float32(["batch", "time", 3]) }, (p, inputs) => ({
      y: attention(p.at("attention"), inputs.x, { ...config, heads: 1, attention: "free", score: "dot" }),
    }));
    expect([...(await compile(fn).run({ x: oneHot })).y.data]).toEqual([...oneHot.data]);
  });

  it("a bilinear score with W = 1 is the dot product", async () => {
    const fn = (score: "dot" | "bilinear") => causal({ score });
    const dot = initialise(parametersOf(fn("dot")), chance(2));
    const bilinear = initialise(parametersOf(fn("bilinear")), chance(2));
    const identity = bilinear.view("attention/bilinear").data as Float32Array; // [head, 4, 4]
    identity.forEach((_, i) => {
      identity[i] = Math.floor(i / 4) % 4 === i % 4 ? 1 : 0;
    });
    const [a, b] = [await compile(fn("dot")).run({ x }, { weights: dot }), await compile(fn("bilinear")).run({ x }, { weights: bilinear })];
    for (const [i, value] of (a.y.data as Float32Array).entries()) expect(b.y.data[i]).toBeCloseTo(value, 5);
  });

  it("scaling keeps the variance of scores near 1 for inputs of variance 1", async () => {
    const size = 64;
    const fn = (scale: number) =>
      tensorFunction({ q: float32([100, size]), k: float32([100, size]) }, (_, { q, k }) => ({
        s: matmul(q, k, { transposeB: true, scale }),
      }));
    const variance = async (scale: number) => {
      const { s } = await compile(fn(scale)).run({ q: random([100, size], 1), k: random([100, size], 2) });
      return (s.data as Float32Array).reduce((sum, value) => sum + value ** 2, 0) / s.data.length;
    };
    expect(await variance(size ** -0.5)).toBeCloseTo(1, 1);
    expect(await variance(1)).toBeGreaterThan(50);
  });
});

describe("positions", () => {
  /** The scores of equal vectors everywhere: what is left is position alone, [head, query, key]. */
  async function positionScores(kind: "rotary" | "alibi" | "relative", isCausal: boolean): Promise<number[][][]> {
    const fn = tensorFunction({ q: float32([1, 2, 6, 4]) }, (p, { q }) => {
      const { rotate = (y) => y, bias } = attentionPositions(p.at("a"), kind, q, { causal: isCausal });
      const scores = matmul(rotate(q), rotate(q), { transposeB: true });
      return { y: bias ? add(scores, bias) : scores };
    });
    const weights = initialise(parametersOf(fn), chance(1));
    const one = Float32Array.from({ length: 48 }, (_, i) => [0.3, -1.2, 0.7, 0.5][i % 4]);
    const { y } = await compile(fn).run({ q: array("float32", one, [1, 2, 6, 4]) }, { weights });
    return [0, 1].map((head) => rows({ ...y, data: (y.data as Float32Array).slice(head * 36, head * 36 + 36), shape: [6, 6] }));
  }

  it.each([
    ["rotary", false],
    ["alibi", true],
    ["alibi", false],
    ["relative", true],
    ["relative", false],
  ] as const)("%s (causal: %s) depends on the distance only", async (kind, isCausal) => {
    for (const head of await positionScores(kind, isCausal)) {
      for (let i = 0; i < 6; i++)
        for (let j = 0; j < 6; j++) if (i > 0 && j > 0 && (!isCausal || j <= i)) expect(head[i][j]).toBeCloseTo(head[i - 1][j - 1], 4);
    }
  });

  it("dot products of sinusoidal positions peak at distance 0 and fall off", async () => {
    const fn = tensorFunction({ x: float32([1]) }, () => {
      const table = sinusoids(cast(iota(Dim.of(40)), "float32"), Dim.of(64));
      return { table, products: matmul(table, table, { transposeB: true }) };
    });
    const { table, products } = await compile(fn).run({ x: array("float32", [0]) });
    expect([table.data[64 * 3], table.data[64 * 3 + 1]].map(Number)).toEqual([
      expect.closeTo(Math.sin(3), 5),
      expect.closeTo(Math.cos(3), 5),
    ]);
    const from20 = rows(products)[20];
    expect(from20.indexOf(Math.max(...from20))).toBe(20);
    expect([from20[20] > from20[21], from20[21] > from20[23], from20[23] > from20[30]]).toEqual([true, true, true]);
  });

  it("ALiBi never rewards distance, on either side, whatever the mask", async () => {
    for (const isCausal of [true, false]) {
      const [head] = await positionScores("alibi", isCausal);
      for (let i = 0; i < 6; i++) for (let j = 0; j < 6; j++) if (i !== j) expect(head[i][j]).toBeLessThan(head[i][i]);
    }
  });

  it.each([true, false])("relative buckets are T5's, near and far (causal: %s)", async (isCausal) => {
    const time = 200;
    const fn = tensorFunction({ q: float32([1, 1, time, 2]) }, (p, { q }) => ({
      y: attentionPositions(p.at("a"), "relative", q, { causal: isCausal }).bias as Tensor,
    }));
    const layout = parametersOf(fn);
    const weights = new ParameterBuffer(
      layout,
      Float32Array.from({ length: layout.total }, (_, i) => i),
    ); // the bias is the bucket's number
    const { y } = await compile(fn).run({ q: array("float32", new Float32Array(2 * time), [1, 1, time, 2]) }, { weights });
    for (const query of [0, 1, 57, 199]) {
      for (let key = 0; key < time; key++) {
        if (!isCausal || key <= query) expect(y.data[query * time + key], `${key - query}`).toBe(t5Bucket(key - query, isCausal));
      }
    }
  });

  it("ALiBi's slopes are the paper's, also for a number of heads that is no power of two", () => {
    expect(alibiSlopes(8)).toEqual([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]);
    expect(alibiSlopes(6).map((slope) => Math.log2(slope))).toEqual([-2, -4, -6, -8, -1, -3]);
  });
});

/** T5's own rule, for 32 buckets and distances up to 128 (Raffel et al. 2020, relative_position_bucket). */
function t5Bucket(relative: number, causal: boolean): number {
  const count = causal ? 32 : 16;
  const side = !causal && relative > 0 ? 16 : 0;
  const n = causal ? Math.max(0, -relative) : Math.abs(relative);
  const exact = count / 2;
  if (n < exact) return side + n;
  const far = exact + Math.floor(Math.fround(Math.fround(Math.log(Math.fround(n / exact))) / Math.log(128 / exact)) * (count - exact));
  return side + Math.min(far, count - 1);
}
