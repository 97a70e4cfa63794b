import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { FeedError, GraphError, NonFiniteError } from "../../src/base/errors.ts";
import { grad } from "../../src/gradients/grad.ts";
import { buildGraph, tensorFunction } from "../../src/graph/graph.ts";
import { input } from "../../src/graph/leaves.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { layer } from "../../src/graph/scope.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float32, int32 } from "../../src/graph/type.ts";
import { compile } from "../../src/node/device.ts";
import {
  add,
  argmax,
  cast,
  embedding,
  equal,
  exp,
  linear,
  log,
  matmul,
  mean,
  mul,
  pad,
  reshape,
  softmax,
  softmaxCrossEntropy,
  split,
  sum,
  transpose,
} from "../../src/ops/index.ts";
import { parametersOf } from "../../src/runtime/compile.ts";

// Every mistake is a typed error whose sentence says where, what was found, what was wanted, and a cure.

const x = input("x", float32(["batch", "time", 64]));
const ids = input("ids", int32(["batch", "time"]));
const build = (body: (p: Parameters<Parameters<typeof layer>[0]>[0]) => Tensor) => buildGraph(tensorFunction({}, (p) => ({ y: body(p) })));

describe("building a graph", () => {
  it("names the place, both shapes and the axes that do not fit", () => {
    const out = layer((p, y: Tensor) => linear(y, p.param("weight", [32, 128])));
    const attention = layer((p, y: Tensor) => out(p.at("out"), y));
    expect(() => build((p) => attention(p.at("decoder").at("block", 2).at("attention"), x))).toThrow(
      new GraphError(
        "at decoder/block.2/attention/out: linear(float32[batch, time, 64], float32[32, 128]): contracts 64 with 32: [batch, time, 64] @ [32, 128]",
      ),
    );
  });

  it.each<[string, () => unknown, string]>([
    [
      "shapes",
      () => add(x, input("y", float32(["time", 32]))),
      "add(float32[batch, time, 64], float32[time, 32]): [batch, time, 64] and [time, 32] do not broadcast: 64 against 32; sizes must be equal, or one of them 1",
    ],
    [
      "open against known",
      () => add(x, input("y", float32([7, 64]))),
      "add(float32[batch, time, 64], float32[7, 64]): [batch, time, 64] and [7, 64] do not broadcast: time against 7; sizes must be equal, or one of them 1",
    ],
    [
      "matrices",
      () => matmul(x, x),
      "matmul(float32[batch, time, 64], float32[batch, time, 64]): contracts 64 with time: [batch, time, 64] @ [batch, time, 64]",
    ],
    ["dtypes", () => mul(x, ids), "mul(float32[batch, time, 64], int32[batch, time]): float32 meets int32; cast one of them"],
    ["an axis by name", () => sum(x, { axis: "tme" }), 'no axis "tme" in [batch, time, 64]; did you mean "time"?'],
    ["an axis by number", () => softmax(x, { axis: 3 }), "no axis 3 in [batch, time, 64], which has 3 axes"],
    [
      "elements",
      () => reshape(x, ["batch", 64]),
      "reshape(float32[batch, time, 64]): [batch, time, 64] has 64*batch*time elements and [batch, 64] has 64*batch",
    ],
    [
      "an order",
      () => transpose(x, [0, 0, 1]),
      "transpose(float32[batch, time, 64]): the order [0, 0, 1] must name each of the 3 axes once",
    ],
    ["parts", () => split(x, -1, 5), "split: the axis 64 of [batch, time, 64] is not divisible into 5 equal parts"],
    [
      "ids",
      () => embedding(input("table", float32([5, 3])), x),
      "embedding(float32[5, 3], float32[batch, time, 64]): ids must be int32, not float32",
    ],
  ])("refuses %s that do not fit", (_, make, message) => {
    expect(make).toThrow(new GraphError(message));
  });

  it("refuses two parameters of one name", () => {
    const twice = () =>
      build((p) => {
        const place = p.at("block", 0);
        return add(place.param("weight", [2]), place.param("weight", [2]));
      });
    expect(twice).toThrow(
      new GraphError(
        'at block.0/weight: this parameter was declared before; give it another name, or share it: take its place by p.shared("…", use) each time, with another number for each use',
      ),
    );
  });

  it("refuses a parameter with an open dimension", () => {
    expect(() => build((p) => p.param("table", ["vocab", 8]))).toThrow(
      new GraphError('at table: a parameter cannot have the open dimension "vocab"; its size must be a number'),
    );
  });

  it("names the taps that exist when one is asked for that does not", () => {
    const fn = tensorFunction({}, (p) => ({ y: p.at("block", 0).tap("pattern", p.param("w", [2])) }));
    expect(() => buildGraph(fn, { taps: ["block.0/patern"] })).toThrow(
      new GraphError('no tap is called "block.0/patern"; did you mean "block.0/pattern"?'),
    );
    expect(() => buildGraph(fn, { patches: ["nothing/like/it"] })).toThrow(
      new GraphError('no tap is called "nothing/like/it"; there are block.0/pattern'),
    );
  });
});

describe("names and kinds", () => {
  it.each<[string, () => unknown, string]>([
    [
      "an input and a parameter",
      () => buildGraph(tensorFunction({ w: float32([1]) }, (p, { w }) => ({ y: add(w, p.param("w", [1])) }))),
      'an input and a parameter are both called "w"; rename one of them',
    ],
    [
      "a name used inside",
      () => buildGraph(tensorFunction({ "output y": float32([1]) }, (_, inputs) => ({ y: inputs["output y"] }))),
      'an input cannot be called "output y": names that start with "output " are used inside',
    ],
    [
      "an output like a gradient",
      () => buildGraph(tensorFunction({ x: float32([1]) }, (_, { x: y }) => ({ "gradient of w": y }))),
      'an output cannot be called "gradient of w": names that start with "gradient of " are used inside',
    ],
    ["no name", () => build((p) => p.param("", [2])), 'a parameter cannot be called ""; give it another name'],
    ["a dangerous name", () => build((p) => p.param("__proto__", [2])), 'a parameter cannot be called "__proto__"; give it another name'],
    ["no output", () => buildGraph(tensorFunction({}, () => ({}))), "a function needs at least one output"],
    [
      "an output that is none",
      () => buildGraph(tensorFunction({}, () => ({ y: undefined as unknown as Tensor }))),
      'the output "y" is not a tensor but missing',
    ],
    ["a fraction for integers", () => mul(ids, 0.5), "0.5 is no int32; cast the tensor to float32 first"],
    ["functions of integers", () => exp(ids), "exp(int32[batch, time]): wants float32 or float64, not int32; cast it first"],
    [
      "arithmetic of booleans",
      () => add(equal(ids, 1), equal(ids, 2)),
      "add(bool[batch, time], bool[batch, time]): booleans have no arithmetic; cast them to a number first",
    ],
    ["a negative pad", () => pad(x, 0, -1, 1), "pad(float32[batch, time, 64]): -1 zeros cannot be added; slice instead"],
    [
      "smoothing above 1",
      () => softmaxCrossEntropy(x, ids, { smoothing: 7 }),
      "softmaxCrossEntropy: label smoothing is a share from 0 to below 1, not 7",
    ],
    ["ragged rows", () => array("float32", [[1, 2], [3]]), "the rows of an array must be alike: one has the shape [2] and another [1]"],
    ["half an int64", () => array("int64", [0.5]), "0.5 is not a whole number, as int64 wants"],
    ["a negative shape", () => array("float32", new Float32Array(2), [-1, -2]), "a shape is made of whole numbers from 0 on, not [-1, -2]"],
  ])("refuses %s", (_, make, message) => {
    expect(make).toThrow(message);
  });

  it("says where a shared parameter is misused, not where it was declared", () => {
    const head = layer((_, table: Tensor, y: Tensor) => matmul(y, table));
    const fn = tensorFunction({ y: float32([2, 3]) }, (p, { y }) => ({
      z: head(p.at("head"), p.at("embedding").at("a-long-place").param("table", [5, 7]), y),
    }));
    expect(() => buildGraph(fn)).toThrow(/^at head: matmul/);
  });
});

it("keeps an input from taking the place of dropout's random bytes", () => {
  const fn = tensorFunction({ "noise a/dropout": float32([1]) }, (_, inputs) => ({ y: inputs["noise a/dropout"] }));
  expect(() => buildGraph(fn)).toThrow('an input cannot be called "noise a/dropout": names that start with "noise " are used inside');
});

describe("differentiating", () => {
  const w = input("w", float32([3]));
  it.each<[string, () => unknown, string]>([
    ["an integer loss", () => grad(argmax(w), [w]), "the gradient of argmax: int64[] does not exist: a loss must be float32 or float64"],
    [
      "with respect to an integer",
      () => grad(mean(x), [ids]),
      "the gradient with respect to input: int32[batch, time] does not exist: only float32 and float64 tensors have one",
    ],
    [
      "something that is not a scalar",
      () => grad(x, [x]),
      "the gradient of input: float32[batch, time, 64] is not one number per parameter: reduce the loss to a scalar first, with sum or mean",
    ],
    [
      "through an op without a gradient",
      () => grad(sum(cast(argmax(w), "float32")), [w]),
      'the loss does not depend on input: float32[3]; leave it out, or ask for zeros with { unused: "zero" }',
    ],
  ])("refuses %s", (_, make, message) => {
    expect(make).toThrow(new GraphError(message));
  });

  it("names a parameter that the loss does not depend on, or gives zeros on request", async () => {
    const fn = tensorFunction({}, (p) => {
      p.at("block", 1).param("unused", [2]);
      return { loss: sum(p.param("used", [2])) };
    });
    const message =
      'the loss does not depend on the parameter "block.1/unused" (float32[2]); leave it out, or ask for zeros with { unused: "zero" }';
    await expect(compile(fn, { gradientOf: "loss" }).graph()).rejects.toThrow(new GraphError(message));
    const graph = await compile(fn, { gradientOf: "loss", unused: "zero" }).graph();
    expect(graph.outputs.has("gradient of block.1/unused")).toBe(true);
  });
});

describe("feeding", () => {
  const fn = tensorFunction({ a: float32(["batch", "past+time"]), b: float32(["time", 2]) }, (_, { a, b }) => ({ y: add(sum(a), sum(b)) }));
  const a = array("float32", new Float32Array(10), [2, 5]);
  const b = array("float32", new Float32Array(6), [3, 2]);

  it.each<[string, Record<string, unknown>, string]>([
    ["an input that is undefined", { a, b: undefined }, 'the input "b" (float32[time, 2]) is missing'],
    [
      "data of another kind than it says",
      { a, b: { dtype: "float32", shape: [1, 2], data: new Float64Array(2) } },
      'the input "b" says that it is float32, but its data is Float64Array; make it with array("float32", …)',
    ],
    ["a missing input", { a }, 'the input "b" (float32[time, 2]) is missing'],
    ["an unknown input", { a, b, bb: b }, 'there is no input called "bb"; did you mean "b"?'],
    ["a wrong dtype", { a, b: array("int32", [[1, 2]]) }, 'the input "b" is int32, but float32[time, 2] is wanted'],
    ["a wrong number of axes", { a, b: array("float32", [1, 2]) }, 'the input "b" is float32[2] with 1 axes, but float32[time, 2] has 2'],
    [
      "a wrong size",
      { a, b: array("float32", [[1, 2, 3]]) },
      'the input "b" is float32[1, 3]: its axis 1 has size 3, but wanted float32[time, 2]',
    ],
    [
      "sizes that contradict each other",
      { a, b: array("float32", new Float32Array(14), [7, 2]) },
      'the input "a" is float32[2, 5]: its axis 1 has size 5 for past+time, so past would be -2',
    ],
  ])("refuses %s", async (_, feeds, message) => {
    await expect(compile(fn).run(feeds as { a: typeof a; b: typeof b })).rejects.toThrow(new FeedError(message));
  });

  it("refuses one symbol with two sizes", async () => {
    const two = tensorFunction({ a: float32(["batch"]), b: float32(["batch", 2]) }, (_, inputs) => ({
      y: add(sum(inputs.a), sum(inputs.b)),
    }));
    await expect(compile(two).run({ a: array("float32", [1, 2, 3]), b })).resolves.toBeDefined();
    await expect(compile(two).run({ a: array("float32", [1, 2]), b })).rejects.toThrow(
      new FeedError('the input "b" is float32[3, 2]: its axis 0 has size 3, but batch is 2 in "a"'),
    );
  });

  it("refuses a function with parameters that gets no weights, or gradients without a place to put them", async () => {
    const withWeights = tensorFunction({}, (p) => ({ loss: sum(p.param("w", [2])) }));
    const weights = new ParameterBuffer(parametersOf(withWeights));
    await expect(compile(withWeights, { gradientOf: "loss" }).run({}, { weights })).rejects.toThrow(
      new FeedError("gradients are computed, but there is no buffer for them; give one as { gradients }"),
    );
    await expect(compile(withWeights).run({})).rejects.toThrow(
      new FeedError('this function has parameters ("w", …), but no weights were given; pass them as { weights }'),
    );
  });

  it("says where a NaN first appeared", async () => {
    const bad = tensorFunction({ x: float32([2]) }, (p, { x }) => ({ y: layer((_, z: Tensor) => mul(log(z), 2))(p.at("block", 3), x) }));
    const run = compile(bad, { finite: true });
    await run.run({ x: array("float32", [1, 2]) });
    await expect(run.run({ x: array("float32", [1, -1]) })).rejects.toThrow(
      new NonFiniteError('the output "y" has NaN; it first appeared at block.3 in log (float32[2]), element 1: NaN'),
    );
    await expect(run.run({ x: array("float32", [Number.NaN, 1]) })).rejects.toThrow(
      new NonFiniteError('the output "y" has NaN; it first appeared in what was fed as "x"'),
    );
  });
});
