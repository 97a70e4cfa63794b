import { describe, expect, it } from "vitest";
import { activationMemory } from "../../src/cost/memory.ts";
import { exponent, theory } from "../../src/cost/scaling.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { float32 } from "../../src/graph/type.ts";
import { countedScaling } from "../../src/library/here.ts";
import { compile } from "../../src/node/device.ts";
import { add, linear, mul, reshape, sum, tanh } from "../../src/ops/index.ts";

describe("activation memory", () => {
  it("is the most that is alive at once; inputs, parameters and views are free", async () => {
    const fn = tensorFunction({ x: float32([2, 6]) }, (p, { x }) => {
      const a = tanh(linear(x, p.param("w", [6, 10]))); // 20 numbers twice; the product is free once tanh has read it
      const b = reshape(a, [20]); // a view
      return { y: sum(tanh(add(b, 1))) };
    });
    const graph = await compile(fn).graph();
    expect(activationMemory(graph, {})).toEqual({ peakBytes: 2 * 20 * 4, keptBytes: 0 });
  });

  it("counts what the backward pass reads again, and not the gradients of parameters", async () => {
    const fn = tensorFunction({ x: float32(["batch", 6]) }, (p, { x }) => ({ loss: sum(tanh(linear(x, p.param("w", [6, 10])))) }));
    const graph = await compile(fn, { gradientOf: "loss" }).graph({ batch: 2 });
    const { keptBytes, peakBytes } = activationMemory(graph, {});
    expect(keptBytes).toBe(20 * 4); // tanh's output; its gradient is 1 − y²
    expect(peakBytes).toBeLessThan(4 * 20 * 4);
  });

  it("keeps a tensor that is read late, with sizes that were left open", async () => {
    const fn = tensorFunction({ x: float32(["batch", 5]) }, (_, { x }) => {
      const early = tanh(x);
      return { y: mul(early, tanh(tanh(tanh(early)))) };
    });
    const graph = await compile(fn).graph();
    expect(activationMemory(graph, { batch: 3 }).peakBytes).toBe(3 * 15 * 4); // early, and two of the chain at a time
  });
});

describe("scaling", () => {
  it("fits exponents by least squares", () => {
    expect(exponent([1, 2, 4, 8], [3, 12, 48, 192])).toBeCloseTo(2, 12);
    expect(exponent([1, 10, 100], [5, 5, 5])).toBeCloseTo(0, 12);
  });

  it("finds the lecture's exponents in the counts", async () => {
    for (const { axis, exponents } of await countedScaling())
      for (const [step, found] of Object.entries(exponents))
        expect(found, `${axis} ${step}`).toBeCloseTo(theory[axis][step as "scores"], 9);
  });
});
