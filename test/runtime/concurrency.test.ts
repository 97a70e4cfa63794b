import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { ConfigError, NonFiniteError } from "../../src/base/errors.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { float32 } from "../../src/graph/type.ts";
import { compile } from "../../src/node/device.ts";
import { add, log, mul, sum } from "../../src/ops/index.ts";
import { parametersOf } from "../../src/runtime/compile.ts";

const row = (n: number, value = 1) => array("float32", new Float32Array(n).fill(value), [n]);
const total = tensorFunction({ x: float32(["n"]) }, (_, { x }) => ({ y: sum(x) }));
const weighted = tensorFunction({ x: float32([1]) }, (p, { x }) => ({ loss: sum(mul(x, p.param("w", [1]))) }));

describe("runs at the same time", () => {
  it("never lose their session to another size, however few are kept", async () => {
    for (const sessions of [1, 2, 8]) {
      const f = compile(total, { sessions });
      const results = await Promise.all(Array.from({ length: 12 }, (_, i) => f.run({ x: row(i + 1) })));
      expect(results.map(({ y }) => y.data[0])).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
      expect(f.sessionCount).toBe(Math.min(12, sessions));
      await f.release();
    }
  });

  it("keep their own results when they share a gradient buffer", async () => {
    const weights = new ParameterBuffer(parametersOf(weighted), Float32Array.of(11));
    const gradients = new ParameterBuffer(weights.layout);
    const f = compile(weighted, { gradientOf: "loss" });
    const results = await Promise.all([1, 2, 3].map((value) => f.run({ x: row(1, value) }, { weights, gradients })));
    expect(results.map(({ loss }) => loss.data[0])).toEqual([11, 22, 33]);
  });

  it("find out where their own NaN came from", async () => {
    const f = compile(
      tensorFunction({ x: float32([1]) }, (_, { x }) => ({ y: log(x) })),
      { finite: true },
    );
    const [good, bad] = await Promise.allSettled([f.run({ x: row(1) }), f.run({ x: row(1, -1) })]);
    expect(good.status).toBe("fulfilled");
    expect(bad.status === "rejected" && bad.reason.message).toBe(
      'the output "y" has NaN; it first appeared in log (float32[1]), element 0: NaN',
    );
  });
});

it("buffers may change places: weights now, gradients next", async () => {
  const layout = parametersOf(weighted);
  const [a, b] = [new ParameterBuffer(layout, Float32Array.of(2)), new ParameterBuffer(layout, Float32Array.of(5))];
  const f = compile(weighted, { gradientOf: "loss" });
  expect((await f.run({ x: row(1, 3) }, { weights: a, gradients: b })).loss.data[0]).toBe(6);
  expect((await f.run({ x: row(1, 3) }, { weights: b, gradients: a })).loss.data[0]).toBe(9); // b holds the gradient, 3
});

it("a size that was prepared is the one that runs, with some symbols bound beforehand", async () => {
  const two = tensorFunction({ x: float32(["a", "b"]) }, (_, { x }) => ({ y: sum(x) }));
  const f = compile(two, { bind: { a: 2 } });
  await f.prepare({ b: 3 });
  await f.run({ x: array("float32", new Float32Array(6), [2, 3]) });
  const open = compile(two, { symbols: "open" });
  await open.prepare();
  await open.run({ x: array("float32", new Float32Array(6), [2, 3]) });
  expect([f.sessionCount, open.sessionCount]).toEqual([1, 1]);
  await expect(f.prepare({ c: 3 })).rejects.toThrow(new ConfigError('no input has an axis "c" to bind'));
  expect(() => compile(two, { bind: { aa: 1 } })).toThrow(new ConfigError('no input has an axis "aa" to bind; did you mean "a"?'));
  expect(() => compile(two, { sessions: 0 })).toThrow(new ConfigError("at least one session must be kept, not 0"));
});

it("a NaN is found with weights baked in, and a mask of −∞ is not blamed for it", async () => {
  const fn = tensorFunction({ x: float32([1]) }, (p, { x }) => ({ y: log(add(mul(x, p.param("w", [1])), 0)) }));
  const weights = new ParameterBuffer(parametersOf(fn), Float32Array.of(-1));
  const run = compile(fn, { weights, finite: true }).run({ x: row(1) });
  await expect(run).rejects.toThrow(new NonFiniteError('the output "y" has NaN; it first appeared in log (float32[1]), element 0: NaN'));
});
