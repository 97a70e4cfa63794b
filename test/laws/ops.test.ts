import { describe, expect, it } from "vitest";
import { type HostArray, isFloat } from "../../src/base/arrays.ts";
import { finiteDifference, gradientGap } from "../../src/gradients/finite-difference.ts";
import { grad } from "../../src/gradients/grad.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { allOps, type Example, type Op } from "../../src/graph/op.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import type { TensorType } from "../../src/graph/type.ts";
import "../../src/entries/graph.ts";
import { bound, concrete, random, samples, sizeVariants } from "../../src/graph/samples.ts";
import { compile } from "../../src/node/device.ts";
import { add, mul, sum } from "../../src/ops/index.ts";
import { portableEngine } from "../support/portable-engine.ts";

// Every op that exists obeys these laws. A new op is tested by existing.

type AnyExample = Example<never>;
const outputTypes = (op: Op, { inputs, attributes }: AnyExample): readonly TensorType[] => {
  const types = op.type(
    inputs.map(({ type }) => type),
    attributes,
  );
  return "dtype" in types ? [types] : types;
};

function applied(op: Op, example: AnyExample) {
  const inputs = Object.fromEntries(example.inputs.map(({ type }, i): [string, TensorType] => [`x${i}`, type]));
  return tensorFunction(inputs, (_, tensors) => {
    const outputs = op.apply(Object.values(tensors), example.attributes);
    return Object.fromEntries(outputs.map((y, i): [string, Tensor] => [`y${i}`, y]));
  });
}

const feedsOf = (arrays: readonly HostArray[]) => Object.fromEntries(arrays.map((x, i) => [`x${i}`, x]));

/** Σ over float outputs of output · fixed random numbers, a scalar that depends on every element, and its gradients. */
function projected(op: Op, example: AnyExample) {
  const outputs = outputTypes(op, example);
  const probed = outputs.slice(0, outputs.length - (op.saved ?? 0)).flatMap((type, i) => (isFloat(type.dtype) ? [[i, type] as const] : []));
  const probes = Object.fromEntries(probed.map(([i, type]): [string, TensorType] => [`r${i}`, type]));
  const { inputs, build } = applied(op, example);
  const fn = tensorFunction({ ...inputs, ...probes }, (p, tensors) => {
    const own = Object.fromEntries(Object.keys(inputs).map((key): [string, Tensor] => [key, tensors[key]]));
    const results = build(p, own);
    const loss = probed.map(([i]) => sum(mul(results[`y${i}`], tensors[`r${i}`]))).reduce((a, b) => add(a, b));
    const of = Object.entries(own).filter(([, x]) => isFloat(x.dtype));
    const gradients = grad(
      loss,
      of.map(([, x]) => x),
    );
    return { loss, ...Object.fromEntries(of.map(([key], i): [string, Tensor] => [`d${key}`, gradients[i]])) };
  });
  return {
    fn,
    probes: Object.fromEntries(probed.map(([i, type]) => [`r${i}`, random(concrete(type, {}), 77 + i, type.dtype as "float64")])),
  };
}

const leaves = ["input", "parameter", "constant"]; // fed from outside, nothing to compute
const cases = [...allOps.values()].filter((op) => !leaves.includes(op.name));

describe.each(cases.map((op) => [op.name, op] as const))("%s", (_, op) => {
  const examples = op.examples("float32") as readonly AnyExample[];

  it("has examples", () => expect(examples.length).toBeGreaterThan(0));

  it("gives the shape and dtype that its type rule foretells, with sizes bound and left open, ordinary, 1 and 0", async () => {
    for (const example of examples) {
      const open = compile(applied(op, example), { symbols: "open", threads: 1 });
      for (const { name, sizes } of sizeVariants(example)) {
        const ready = bound(example, sizes);
        const fixed = compile(applied(op, ready), { threads: 1 });
        const feeds = feedsOf(samples(example, sizes));
        const [a, b] = [await fixed.run(feeds), await open.run(feeds)];
        for (const [i, type] of outputTypes(op, ready).entries()) {
          expect([name, a[`y${i}`].dtype, a[`y${i}`].shape]).toEqual([name, type.dtype, concrete(type, {})]);
          expect([name, b[`y${i}`].shape, b[`y${i}`].data]).toEqual([name, a[`y${i}`].shape, a[`y${i}`].data]);
        }
        await fixed.release();
      }
      await open.release();
    }
  });

  it("has a cost that is neither negative nor absurd", () => {
    for (const example of examples) {
      const ready = bound(example, sizeVariants(example)[0].sizes);
      const inputs = ready.inputs.map(({ type }) => type);
      const outputs = outputTypes(op, ready);
      const shares = op.cost(inputs, outputs, ready.attributes);
      for (const { flops, products, bytes } of shares) {
        expect(bytes.known).toBeGreaterThanOrEqual(0);
        expect(products.known).toBeGreaterThanOrEqual(0);
        expect(flops.known).toBeGreaterThanOrEqual(products.known);
      }
      const elements = [...inputs, ...outputs].reduce((n, type) => n + concrete(type, {}).reduce((a, b) => a * b, 1), 0);
      expect(shares.reduce((total, { flops }) => total + flops.known, 0)).toBeLessThanOrEqual(elements ** 2);
      const passes = op.scans ? 48 : 24; // a few, where one op is several kernels; a loop reads in every step what does not move
      expect(shares.reduce((total, { bytes }) => total + bytes.known, 0)).toBeLessThanOrEqual(elements * passes);
    }
  });

  it("gives the same, and the same gradients, in ONNX's own operators alone", async () => {
    if (op.name === "quantisedLinear") return; // there it is refused: test/runtime/target.test.ts
    for (const example of examples) {
      for (const { name, sizes } of sizeVariants(example)) {
        const ready = bound(example, sizes);
        const inputs = samples(example, sizes);
        const differentiates = op.vjp !== undefined && inputs.some((x) => isFloat(x.dtype));
        const { fn, probes } = differentiates ? projected(op, ready) : { fn: applied(op, ready), probes: {} };
        const [own, plain] = [compile(fn, { threads: 1 }), compile(fn, { device: { engine: portableEngine, threads: 1 } })];
        const feeds = { ...feedsOf(inputs), ...probes };
        const [a, b]: Record<string, HostArray>[] = [await own.run(feeds), await plain.run(feeds)];
        for (const key of Object.keys(a)) {
          const [x, y] = [a[key], b[key]].map(({ data }) => Array.from(data as Iterable<number | bigint>, Number));
          expect(gradientGap(x, y), `${key} with ${name}`).toBeLessThanOrEqual(1e-5);
        }
        await own.release();
        await plain.release();
      }
    }
  });

  if (!op.vjp) return;
  const float = op.float32Only ? "float32" : "float64";

  it(`has a gradient that agrees with finite differences in ${float}`, async () => {
    const [step, tolerance] = float === "float64" ? [1e-3, 1e-6] : [3e-2, 1e-3];
    for (const example of op.examples(float) as readonly AnyExample[]) {
      for (const { name, sizes } of sizeVariants(example).slice(0, 2)) {
        const inputs = samples(example, sizes);
        if (!inputs.some((x) => isFloat(x.dtype))) continue;
        await agrees(op, bound(example, sizes), inputs, step, tolerance, name);
      }
    }
  });
});

async function agrees(op: Op, example: AnyExample, inputs: HostArray[], step: number, tolerance: number, variant: string): Promise<void> {
  const { fn, probes } = projected(op, example);
  const run = compile(fn, { threads: 1 });
  const loss = async (arrays: readonly HostArray[]) => Number((await run.run({ ...feedsOf(arrays), ...probes })).loss.data[0]);
  const analytic: Record<string, HostArray> = await run.run({ ...feedsOf(inputs), ...probes });
  for (const [i, x] of inputs.entries()) {
    if (!isFloat(x.dtype)) continue;
    const numeric = await finiteDifference(loss, inputs, i, step);
    const exact = analytic[`dx${i}`].data as Float64Array;
    expect(gradientGap(exact, numeric), `input ${i} with ${variant}: ${exact} against ${numeric}`).toBeLessThanOrEqual(tolerance);
  }
  await run.release();
}
