import { describe, expect, it } from "vitest";
import { type HostArray, isFloat } from "../../src/base/arrays.ts";
import { finiteDifference, gradientGap } from "../../src/gradients/finite-difference.ts";
import { grad } from "../../src/gradients/grad.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { allOps, type Example, type Op } from "../../src/graph/op.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { type TensorType, tensorType } from "../../src/graph/type.ts";
import "../../src/index.ts";
import { add, mul, sum } from "../../src/ops/index.ts";
import { compile } from "../../src/runtime/compile.ts";
import { concrete, random, samples, sizeVariants, type Sizes } from "../support/samples.ts";

// Every op that exists obeys these laws. A new op is tested by existing.

type AnyExample = Example<never>;
const name = (i: number) => `x${i}`;

function applied(op: Op, example: AnyExample) {
  const inputs = Object.fromEntries(example.inputs.map(({ type }, i): [string, TensorType] => [name(i), type]));
  return tensorFunction(inputs, (_, tensors) => {
    const outputs = op.apply(Object.values(tensors), example.attributes);
    return Object.fromEntries(outputs.map((y, i): [string, Tensor] => [`y${i}`, y]));
  });
}

const feedsOf = (arrays: readonly HostArray[]) => Object.fromEntries(arrays.map((x, i) => [name(i), x]));

/** Σ over float outputs of output · fixed random numbers: a scalar that depends on every element. */
function projected(op: Op, example: AnyExample, sizes: Sizes, float: "float32" | "float64") {
  const inputs = Object.fromEntries(example.inputs.map(({ type }, i): [string, TensorType] => [name(i), tensorType(type.dtype, type.shape.map((d) => d.bind(sizes)))]));
  const probe = applied(op, example);
  const shapes: Record<string, TensorType> = {};
  tensorFunction(inputs, (p, tensors) => {
    const outputs = probe.build(p, tensors);
    for (const [key, y] of Object.entries(outputs).slice(0, Object.keys(outputs).length - (op.saved ?? 0))) if (isFloat(y.dtype)) shapes[`r${key}`] = y.type;
    return outputs;
  }).build(undefined as never, Object.fromEntries(Object.entries(inputs).map(([key, type]) => [key, inputTensor(key, type)])));
  const fn = tensorFunction({ ...inputs, ...shapes }, (p, tensors) => {
    const outputs = probe.build(p, Object.fromEntries(Object.entries(tensors).filter(([key]) => key.startsWith("x"))));
    const parts = Object.keys(shapes).map((key) => sum(mul(outputs[key.slice(1)], tensors[key])));
    const loss = parts.reduce((a, b) => add(a, b));
    const of = Object.keys(inputs).filter((key) => isFloat(tensors[key].dtype));
    const gradients = grad(loss, of.map((key) => tensors[key]), { unused: "zero" });
    return { loss, ...Object.fromEntries(of.map((key, i): [string, Tensor] => [`d${key}`, gradients[i]])) };
  });
  const weights = Object.fromEntries(Object.entries(shapes).map(([key, type], i) => [key, random(concrete(type, sizes), 77 + i, float)]));
  return { fn, weights };
}

import { input as inputTensor } from "../../src/graph/leaves.ts";

const cases = [...allOps.values()].filter((op) => !["input", "parameter", "constant"].includes(op.name));

describe.each(cases.map((op) => [op.name, op] as const))("%s", (_, op) => {
  const examples32 = op.examples("float32") as readonly AnyExample[];

  it("has examples", () => expect(examples32.length).toBeGreaterThan(0));

  it("gives the shape and dtype that its type rule foretells, with sizes bound and left open", async () => {
    for (const example of examples32) {
      const open = compile(applied(op, example), { symbols: "open", threads: 1 });
      for (const { name: variant, sizes } of sizeVariants(example)) {
        const feeds = feedsOf(samples(example, sizes));
        const bound = compile(applied(op, example), { threads: 1 });
        const [a, b] = [await bound.run(feeds), await open.run(feeds)];
        const graph = await bound.graph(sizes);
        for (const [key, y] of graph.outputs) {
          expect([variant, a[key].dtype, a[key].shape]).toEqual([variant, y.dtype, concrete(y.type, sizes)]);
          expect([variant, b[key].shape]).toEqual([variant, a[key].shape]);
          expect(b[key].data).toEqual(a[key].data);
        }
        await bound.release();
      }
      await open.release();
    }
  });

  it("has a cost that is neither negative nor absurd", () => {
    for (const example of examples32) {
      const { sizes } = sizeVariants(example)[0];
      const inputs = example.inputs.map(({ type }) => tensorType(type.dtype, concrete(type, sizes)));
      const types = op.type(inputs, example.attributes);
      const outputs = "dtype" in types ? [types] : types;
      const { flops, bytes } = op.cost(inputs, outputs, example.attributes);
      const elements = [...inputs, ...outputs].reduce((n, type) => n + concrete(type, {}).reduce((a, b) => a * b, 1), 0);
      expect(flops.value).toBeGreaterThanOrEqual(0);
      expect(bytes.value).toBeGreaterThanOrEqual(0);
      expect(flops.value).toBeLessThanOrEqual(elements ** 2);
      expect(bytes.value).toBeLessThanOrEqual(elements * 8);
    }
  });

  if (!op.vjp) return;
  const float = op.float32Only ? "float32" : "float64";

  it(`has a gradient that agrees with finite differences in ${float}`, async () => {
    const [step, tolerance] = float === "float64" ? [1e-3, 1e-6] : [3e-2, 1e-3];
    for (const example of op.examples(float) as readonly AnyExample[]) {
      for (const { name: variant, sizes } of sizeVariants(example).slice(0, 2)) {
        const { fn, weights } = projected(op, example, sizes, float);
        if (Object.keys(weights).length === 0) continue;
        const run = compile(fn, { threads: 1 });
        const inputs = samples(example, sizes);
        const value = async (arrays: readonly HostArray[]) => Number((await run.run({ ...feedsOf(arrays), ...weights })).loss.data[0]);
        const analytic = await run.run({ ...feedsOf(inputs), ...weights });
        for (const [i, x] of inputs.entries()) {
          if (!isFloat(x.dtype)) continue;
          const numeric = await finiteDifference(value, inputs, i, step);
          const gap = gradientGap(analytic[`d${name(i)}`].data as Float64Array, numeric);
          expect(gap, `input ${i}, ${variant}: ${[...(analytic[`d${name(i)}`].data as Float64Array)]} against ${numeric}`).toBeLessThanOrEqual(tolerance);
        }
        await run.release();
      }
    }
  });
});
