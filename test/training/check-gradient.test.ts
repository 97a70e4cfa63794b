import { expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { GraphError } from "../../src/base/errors.ts";
import { graphCost } from "../../src/graph/cost.ts";
import { buildGraph, tensorFunction } from "../../src/graph/graph.ts";
import { allOps, defineOp } from "../../src/graph/op.ts";
import { float32 } from "../../src/graph/type.ts";
import { drop } from "../../src/layers/dropout.ts";
import { feedforward } from "../../src/layers/feedforward.ts";
import { checkGradient } from "../../src/library/here.ts";
import { cos, embedding, mul, neg } from "../../src/ops/index.ts";

const wave = defineOp("test wave", {
  type: ([x]) => x,
  vjp: ({ g, inputs: [x] }) => [mul(g, cos(x))],
  onnx: (e, [x]) => e.node("Sin", [x]),
});
const wrong = defineOp("test wrong wave", { ...wave, vjp: ({ g, inputs: [x] }) => [neg(mul(g, cos(x)))], cost: undefined });
const x = array("float64", [[-1, 0.5, 2, 0.25]]);

it("an op with a right gradient passes, with the largest error", async () => {
  expect(await checkGradient((_, inputs) => wave.one([inputs.x], {}), { x })).toBeLessThan(1e-8);
});

it("a wrong one is an error that names the input and shows both", async () => {
  await expect(checkGradient((_, inputs) => wrong.one([inputs.x], {}), { x })).rejects.toThrow(
    /^the gradient of the input "x" is \[.*, .*, .*, .*\], and finite differences give \[.*\]: 2 apart, where at most 0.000001 is let through; mend the gradient rule$/,
  );
});

it("a layer is checked by its inputs and its parameters, with its dropout", async () => {
  const gap = await checkGradient(
    (p, inputs) => drop(p.at("drop"), feedforward(p, inputs.x, { hidden: 6, activation: "gelu-tanh" }), 0.5),
    { x },
  );
  expect(gap).toBeGreaterThan(0);
  expect(gap).toBeLessThan(1e-6);
});

it("ids are fed and not differentiated by; what has nothing to differentiate by is refused", async () => {
  const ids = array("int32", [2, 0, 2]);
  expect(await checkGradient((p, inputs) => embedding(p.param("table", [3, 2]), inputs.ids), { ids })).toBeLessThan(1e-6);
  await expect(checkGradient((_, inputs) => inputs.ids, { ids })).rejects.toThrow("a gradient is that of floats of known sizes, not of");
});

it("an op needs neither a cost nor examples: one operation for each number, and the laws ask for examples", () => {
  const fn = tensorFunction({ x: float32(["batch", 4]) }, (_, inputs) => ({ y: wave.one([inputs.x], {}) }));
  const { flops, bytes } = graphCost(buildGraph(fn));
  expect([flops.expression, bytes.expression]).toEqual(["4*batch", "32*batch"]);
  expect(allOps.get("test wave")).toBe(wave);
  expect(() => wave.examples("float32")).toThrow(
    new GraphError('the op "test wave" declares no examples, and its laws are tried with them; give it `examples`'),
  );
});
