import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { finiteDifference, gradientGap } from "../../src/gradients/finite-difference.ts";
import type { TensorFunction } from "../../src/graph/graph.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { int32 } from "../../src/graph/type.ts";
import { type EncoderDecoderInput, type EncoderInput, encoderConfig } from "../../src/models/config.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { encoder, encoderLoss, encoderStates } from "../../src/models/encoder.ts";
import { encoderDecoderLoss } from "../../src/models/encoder-decoder.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";

// What the options of published models do, in numbers that can be checked by hand.

const small = { layers: 3, heads: 2, width: 8, context: 8, vocab: 9 };
const ids = (...rows: number[][]) => array("int32", Int32Array.from(rows.flat()), [rows.length, rows[0].length]);
const text = [1, 5, 3, 7, 2];

function weightsOf(fn: TensorFunction): ParameterBuffer {
  const weights = initialise(parametersOf(fn), chance(5));
  const source = chance(6);
  for (const [i] of weights.data.entries()) weights.data[i] += 0.3 * source.normal(i);
  return weights;
}

type Feeds = Record<string, HostArray>;

async function outputs(fn: TensorFunction, weights: ParameterBuffer, feeds: Feeds, taps: string[] = []): Promise<Record<string, number[]>> {
  const compiled = compile(fn, { taps, threads: 1 });
  const found = await compiled.run(feeds as never, { weights });
  await compiled.release();
  return Object.fromEntries(Object.entries(found).map(([name, { data }]) => [name, Array.from(data as Float32Array)]));
}

const close = (found: readonly number[], wanted: readonly number[]): void => {
  expect(found).toHaveLength(wanted.length);
  for (const [i, x] of found.entries()) expect(x).toBeCloseTo(wanted[i], 4);
};

describe("a window", () => {
  const patterns = async (fn: TensorFunction, feeds: Feeds, place: string) => {
    const weights = weightsOf(fn);
    for (const [name, { data }] of weights.views) if (name.includes("qkv")) (data as Float32Array).fill(0); // all keys are alike
    const names = [0, 1, 2].map((layer) => `${place}/block.${layer}/attention/pattern`);
    const found = await outputs(fn, weights, feeds, names);
    return names.map((name) => Array.from({ length: 5 }, (_, query) => found[name].slice(5 * query, 5 * query + 5)));
  };
  const [half, third, fourth, fifth] = [1 / 2, 1 / 3, 1 / 4, 1 / 5];
  const everything = [
    [1, 0, 0, 0, 0],
    [half, half, 0, 0, 0],
    [third, third, third, 0, 0],
    [fourth, fourth, fourth, fourth, 0],
    [fifth, fifth, fifth, fifth, fifth],
  ];
  const two = [
    [1, 0, 0, 0, 0],
    [half, half, 0, 0, 0],
    [0, half, half, 0, 0],
    [0, 0, half, half, 0],
    [0, 0, 0, half, half],
  ];

  it("is a query's own key and those before it; every so many layers there is none", async () => {
    const feeds = { ids: ids(text), targets: ids(text) };
    const found = await patterns(decoderLoss({ ...small, window: 2, windowEvery: 2 }), feeds, "decoder");
    for (const [layer, wanted] of [two, everything, two].entries()) close(found[layer].flat(), wanted.flat());
  });

  it("reaches as far ahead in an encoder, and not to padding", async () => {
    const feeds = { ids: ids(text), lengths: array("int32", [4]), targets: array("int32", [0]) };
    const [found] = await patterns(encoderLoss({ ...small, window: 2, labels: 2 }), feeds, "encoder");
    const wanted = [
      [half, half, 0, 0, 0],
      [third, third, third, 0, 0],
      [0, third, third, third, 0],
      [0, 0, half, half, 0],
    ];
    close(found.slice(0, 4).flat(), wanted.flat());
  });
});

describe("a cap", () => {
  it("bends scores of attention and of tokens", async () => {
    const plain = decoderLoss({ ...small, layers: 1 });
    const weights = weightsOf(plain);
    const feeds = { ids: ids(text), targets: ids(text) };
    const tap = "decoder/block.0/attention/scores";
    const before = await outputs(plain, weights, feeds, [tap]);
    const capped = await outputs(decoderLoss({ ...small, layers: 1, scoreCap: 0.5 }), weights, feeds, [tap]);
    close(
      capped[tap],
      before[tap].map((x) => 0.5 * Math.tanh(x / 0.5)),
    );
    const scores = await outputs(decoderLoss({ ...small, layers: 1, scoresCap: 2 }), weights, feeds);
    close(
      scores.scores,
      before.scores.map((x) => 2 * Math.tanh(x / 2)),
    );
  });
});

it("one head of keys and values for all is the same as equal ones for each", async () => {
  const [shared, own] = [decoderLoss({ ...small, layers: 1, kvHeads: 1 }), decoderLoss({ ...small, layers: 1 })];
  const [few, many] = [weightsOf(shared), weightsOf(own)];
  const [q, kv] = [2 * 4, 4]; // rows of two heads of queries, and of one of keys
  for (const [name, { data }] of many.views) {
    const given = few.view(name).data as Float32Array;
    if (!name.includes("/qkv/")) (data as Float32Array).set(given);
    else {
      const each = given.length / (q + 2 * kv);
      const part = (from: number) => Array.from(given.subarray(from * each, (from + kv) * each));
      (data as Float32Array).set([...given.subarray(0, q * each), ...part(q), ...part(q), ...part(q + kv), ...part(q + kv)]);
    }
  }
  const feeds = { ids: ids(text, [4, 0, 8, 6, 6]), targets: ids(text, text) };
  close((await outputs(shared, few, feeds)).scores, (await outputs(own, many, feeds)).scores);
});

describe("an encoder", () => {
  const feeds = { ids: ids(text, [4, 0, 8, 6, 6]), lengths: array("int32", [5, 3]) };
  const config = (more: Partial<EncoderInput>) => encoderConfig({ ...small, layers: 2, ...more });
  const said = (more: Partial<EncoderInput>) =>
    tensorFunction({ ids: int32(["batch", "time"]), lengths: int32(["batch"]) }, (p, inputs) => ({
      y: encoder(p.at("encoder"), inputs.ids, inputs.lengths, config(more)),
    }));
  const states = tensorFunction({ ids: int32(["batch", "time"]), lengths: int32(["batch"]) }, (p, inputs) => ({
    y: encoderStates(p.at("encoder"), inputs.ids, inputs.lengths, config({ task: "embed" })),
  }));
  const weights = weightsOf(said({ task: "embed" }));
  const stateOf = async (row: number, position: number) =>
    (await outputs(states, weights, feeds)).y.slice(8 * (5 * row + position)).slice(0, 8);

  it("gives the vector of a text: its first state, its last, or the mean over what is real", async () => {
    const vectors = async (pool: "first" | "last" | "mean") => (await outputs(said({ task: "embed", pool }), weights, feeds)).y;
    close(await vectors("first"), [...(await stateOf(0, 0)), ...(await stateOf(1, 0))]);
    close(await vectors("last"), [...(await stateOf(0, 4)), ...(await stateOf(1, 2))]);
    const real = [await stateOf(1, 0), await stateOf(1, 1), await stateOf(1, 2)];
    close(
      (await vectors("mean")).slice(8),
      real[0].map((_, i) => (real[0][i] + real[1][i] + real[2][i]) / 3),
    );
  });

  it("gives vectors of length 1", async () => {
    const { y } = await outputs(said({ task: "embed", normalise: true }), weights, feeds);
    for (const row of [y.slice(0, 8), y.slice(8)]) expect(Math.hypot(...row)).toBeCloseTo(1, 5);
  });

  it("wants each text to be most like the one of its target", async () => {
    const fn = encoderLoss({ ...small, layers: 2, task: "embed" });
    const rows = { ids: ids([1, 2, 3], [1, 2, 3], [7, 6, 5], [7, 6, 5]), lengths: array("int32", [3, 3, 3, 3]) };
    const lossOf = async (...targets: number[]) => (await outputs(fn, weights, { ...rows, targets: array("int32", targets) })).loss[0];
    const [right, wrong] = [await lossOf(1, 0, 3, 2), await lossOf(2, 3, 0, 1)];
    expect(right).toBeLessThan(wrong);
    const { scores } = await outputs(fn, weights, { ...rows, targets: array("int32", [1, 0, 3, 2]) });
    const unit = (row: number) => scores.slice(8 * row, 8 * row + 8).map((x, _, all) => x / Math.hypot(...all));
    const cosine = (a: number, b: number) => unit(a).reduce((sum, x, i) => sum + x * unit(b)[i], 0);
    const mean = [0, 1, 2, 3].map((row) => {
      const others = [0, 1, 2, 3].filter((other) => other !== row);
      return Math.log(others.reduce((sum, other) => sum + Math.exp(20 * cosine(row, other)), 0)) - 20 * cosine(row, row ^ 1);
    });
    expect(right).toBeCloseTo(mean.reduce((a, b) => a + b) / 4, 3);
  });

  it("scores hidden tokens, and only where a target is given", async () => {
    const fn = encoderLoss({ ...small, layers: 2, task: "mlm", scoresBias: true });
    const own = weightsOf(fn);
    const lossOf = async (targets: HostArray) => (await outputs(fn, own, { ...feeds, targets })).loss[0];
    const { scores } = await outputs(fn, own, { ...feeds, targets: ids(text, text) });
    const row = scores.slice(9 * 2, 9 * 3);
    const wanted = Math.log(row.reduce((sum, x) => sum + Math.exp(x), 0)) - row[4];
    expect(await lossOf(ids([-1, -1, 4, -1, -1], [-1, -1, -1, -1, -1]))).toBeCloseTo(wanted, 4);
  });

  it.each([
    {
      name: "as many in every row",
      targets: [
        [-1, 5, -1, 7, -1],
        [1, -1, 3, -1, -1],
      ],
    },
    {
      name: "fewer in one",
      targets: [
        [-1, -1, -1, -1, 2],
        [0, 5, -1, -1, -1],
      ],
    },
    {
      name: "none in one",
      targets: [
        [-1, -1, -1, -1, -1],
        [-1, 5, -1, 0, -1],
      ],
    },
  ])("gives scores only where tokens are hidden, $name, and learns the same", async ({ targets }) => {
    const model = { ...small, layers: 2, task: "mlm", scoresBias: true, headTransform: true } as const;
    const [all, some] = [encoderLoss(model), encoderLoss(model, { most: 2 })];
    const own = weightsOf(all);
    const learned = async (fn: TensorFunction) => {
      const compiled = compile(fn, { gradientOf: "loss", threads: 1 });
      const gradients = new ParameterBuffer(parametersOf(fn));
      const found = await compiled.run({ ...feeds, targets: ids(...targets) } as never, { weights: own, gradients });
      await compiled.release();
      return { loss: [Number(found.loss.data[0])], gradients: [...gradients.data], scores: Array.from(found.scores.data as Float32Array) };
    };
    const [a, b] = [await learned(all), await learned(some)];
    close(b.loss, a.loss);
    close(b.gradients, a.gradients);
    expect(Math.max(...a.gradients)).toBeGreaterThan(1e-2);
    const row = (scores: number[], place: number) => scores.slice(9 * place, 9 * place + 9);
    for (const [example, wanted] of targets.entries())
      for (const [i, place] of wanted.flatMap((target, at) => (target < 0 ? [] : [at])).entries())
        close(row(b.scores, 2 * example + i), row(a.scores, 5 * example + place));
    expect(b.scores).toHaveLength(2 * 2 * 9);
  });

  it("that is causal sees nothing ahead", async () => {
    const fn = said({ task: "embed", pool: "first", causal: true });
    const [a, b] = await Promise.all(
      [text, [1, 0, 0, 8, 8]].map((row) => outputs(fn, weights, { ids: ids(row), lengths: array("int32", [5]) })),
    );
    close(a.y, b.y);
    expect((await outputs(said({ task: "embed", pool: "first" }), weights, feeds)).y.slice(0, 8)).not.toEqual(a.y);
  });

  it("adds the row of each token's segment, the first if none is said", async () => {
    const segmented = { task: "embed", segments: 2 } as const;
    const fn = tensorFunction(
      { ids: int32(["batch", "time"]), lengths: int32(["batch"]), kinds: int32(["batch", "time"]) },
      (p, inputs) => ({
        told: encoder(p.at("encoder"), inputs.ids, inputs.lengths, config(segmented), {}, { segments: inputs.kinds }),
      }),
    );
    const own = weightsOf(fn);
    const { y } = await outputs(said(segmented), own, feeds);
    const told = async (...rows: number[][]) => (await outputs(fn, own, { ...feeds, kinds: ids(...rows) })).told;
    close(await told([0, 0, 0, 0, 0], [0, 0, 0, 0, 0]), y);
    expect(Math.abs((await told([0, 0, 1, 1, 1], [0, 0, 0, 0, 0]))[0] - y[0])).toBeGreaterThan(1e-3);
  });
});

describe("values of the first layer", () => {
  const feeds = { ids: ids(text), targets: ids(text) };
  const tapOf = (layer: number) => `decoder/block.${layer}/attention/v`;
  const share = (weights: ParameterBuffer, layer: number, which: "own" | "first") =>
    (weights.view(`decoder/block.${layer}/attention/values/${which}`).data as Float32Array)[0];

  it("are mixed into those of every other, half and half at first", async () => {
    const fn = decoderLoss({ ...small, valueResidual: true });
    const fresh = initialise(parametersOf(fn), chance(5));
    expect([1, 2].flatMap((layer) => [share(fresh, layer, "own"), share(fresh, layer, "first")])).toEqual([0.5, 0.5, 0.5, 0.5]);
    expect(fresh.views.has("decoder/block.0/attention/values/own")).toBe(false);
    const weights = weightsOf(fn);
    const found = await outputs(fn, weights, feeds, [0, 1, 2].map(tapOf));
    // The last layer's own values are what is left when the first layer's share is taken off.
    const alone = initialise(parametersOf(fn), chance(5));
    (alone.data as Float32Array).set(weights.data);
    (alone.view("decoder/block.2/attention/values/first").data as Float32Array)[0] = 0;
    const own = await outputs(fn, alone, feeds, [0, 1, 2].map(tapOf));
    close(own[tapOf(1)], found[tapOf(1)]);
    close(
      found[tapOf(2)],
      own[tapOf(2)].map((x, i) => x + share(weights, 2, "first") * found[tapOf(0)][i]),
    );
  });

  it("with shares of 1 and 0 are the model without them, and a patch of the first layer reaches all", async () => {
    const [plain, mixed] = [decoderLoss(small), decoderLoss({ ...small, valueResidual: true })];
    const weights = weightsOf(mixed);
    for (const [name, { data }] of weights.views) {
      if (name.endsWith("values/own")) (data as Float32Array)[0] = 1;
      if (name.endsWith("values/first")) (data as Float32Array)[0] = 0;
    }
    const same = initialise(parametersOf(plain), chance(5));
    for (const [name, { data }] of same.views) (data as Float32Array).set(weights.view(name).data as Float32Array);
    close((await outputs(mixed, weights, feeds)).scores, (await outputs(plain, same, feeds)).scores);
    (weights.view("decoder/block.2/attention/values/own").data as Float32Array)[0] = 0;
    (weights.view("decoder/block.2/attention/values/first").data as Float32Array)[0] = 2;
    const first = array(
      "float32",
      Float32Array.from({ length: 40 }, (_, i) => Math.sin(i)),
      [1, 2, 5, 4],
    );
    const patched = compile(mixed, { patches: [tapOf(0)], taps: [tapOf(2)], threads: 1 });
    const found = await patched.run({ ...feeds, [tapOf(0)]: first } as never, { weights });
    await patched.release();
    close(
      Array.from(found[tapOf(2)].data as Float32Array),
      Array.from(first.data as Float32Array, (x) => 2 * x),
    );
  });
});

const exact = { float: "float64" as const };

/** How far the gradients of a loss are from finite differences, with weights that matter. */
async function gapOf(fn: TensorFunction, feeds: Feeds): Promise<number> {
  const weights = initialise(parametersOf(fn, exact), chance(3));
  for (const [i] of weights.data.entries()) weights.data[i] += 0.3 * Math.sin(i);
  const gradients = new ParameterBuffer(weights.layout);
  const step = compile(fn, { ...exact, gradientOf: "loss", outputs: ["loss"], threads: 1 });
  const value = async (_: readonly HostArray[]) => Number((await step.run(feeds as never, { weights, gradients })).loss.data[0]);
  await value([]);
  const found = gradients.data.slice();
  const all = { dtype: "float64" as const, shape: [weights.data.length], data: weights.data };
  const gap = gradientGap(found, await finiteDifference(value, [all], 0, 1e-4));
  await step.release();
  return gap;
}

it("gradients of mixed values, squared ReLU and normed heads agree with finite differences in float64", async () => {
  const tiny = { ...small, layers: 2, vocab: 5, width: 4, kvHeads: 1 };
  const fn = decoderLoss({ ...tiny, valueResidual: true, activation: "relu2", qkNorm: true, scoresCap: 3 });
  expect(await gapOf(fn, { ids: ids([1, 4, 3, 2, 0]), targets: ids([4, 3, 2, 0, 1]) })).toBeLessThan(1e-6);
});

describe("places in cross-attention", () => {
  const pair = (source: number[], target: number[]) => ({
    source: ids(source),
    lengths: array("int32", [source.length]),
    target: ids(target),
    targets: ids(target),
  });
  const turned = { ...small, positions: "rotary", crossPositions: true } as const;

  it("let one token be told from the same one elsewhere in the source, which nothing else does", async () => {
    const scores = async (config: EncoderDecoderInput, source: number[]) => {
      const fn = encoderDecoderLoss({ ...config, layers: 1 });
      const weights = weightsOf(fn);
      for (const [name, { data }] of weights.views) if (/encoder.*attention\/out/.test(name)) (data as Float32Array).fill(0); // each source token alone
      return (await outputs(fn, weights, pair(source, [1, 2, 3]))).scores;
    };
    const without = { ...small, positions: "rotary" } as const;
    close(await scores(without, [4, 2, 3, 1]), await scores(without, [1, 3, 2, 4])); // a bag of tokens
    const [there, back] = [await scores(turned, [4, 2, 3, 1]), await scores(turned, [1, 3, 2, 4])];
    expect(Math.max(...there.map((x, i) => Math.abs(x - back[i])))).toBeGreaterThan(1e-3);
  });

  it("have gradients that agree with finite differences in float64", async () => {
    const fn = encoderDecoderLoss({ ...turned, layers: 1, vocab: 5, width: 4, activation: "gelu-tanh" });
    expect(await gapOf(fn, pair([1, 4, 3, 2], [4, 3, 2]))).toBeLessThan(1e-6);
  });

  it("are for rotary positions", () => {
    expect(() => encoderDecoderLoss({ ...turned, positions: "learned" })).toThrow(
      'at config.crossPositions: only rotary positions reach into cross-attention, and these are learned; use it with positions: "rotary"',
    );
  });
});

it("blocks that start at 0 leave the tokens as they are", async () => {
  const fn = decoderLoss({ ...small, zeroInit: true, positions: "rotary" });
  const weights = initialise(parametersOf(fn), chance(5));
  const taps = ["decoder/embedded", "decoder/block.2/output"];
  const found = await outputs(fn, weights, { ids: ids(text), targets: ids(text) }, taps);
  expect(found[taps[1]]).toEqual(found[taps[0]]);
});
