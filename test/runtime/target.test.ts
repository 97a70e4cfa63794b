import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { EngineError } from "../../src/base/errors.ts";
import { gradientGap } from "../../src/gradients/finite-difference.ts";
import { buildGraph, type TensorFunction, tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import type { Feature } from "../../src/graph/target.ts";
import { float32, float64 } from "../../src/graph/type.ts";
import { modelConfig, modelLoss } from "../../src/models/any.ts";
import { compile } from "../../src/node/device.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import { emitOnnx } from "../../src/onnx/emit.ts";
import { ModelProtoSchema } from "../../src/onnx/onnx_pb.ts";
import { linear, mul, sum } from "../../src/ops/index.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import type { Engine } from "../../src/runtime/session.ts";
import { baked } from "../../src/trained/baked.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { weightsInMemory } from "../../src/weights/weights.ts";
import { architectures } from "../support/architectures.ts";
import { domainsOf, portableEngine } from "../support/portable-engine.ts";

// A model is written for whoever runs it: the engine says what it can do, and the lowering asks.

const sizes = { batch: 2, time: 5, sourceTime: 4 };
const symbolsOf = ({ inputs }: TensorFunction) =>
  new Set(Object.values(inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols)));

/** Small ids, and lengths of which one is shorter. */
function feedsOf({ inputs }: TensorFunction): Record<string, HostArray> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { shape }]) => {
      const dims = shape.map((dim) => dim.bind(sizes).known);
      const count = dims.reduce((a, b) => a * b, 1);
      const data = Int32Array.from({ length: count }, (_, i) => (name === "lengths" ? sizes.sourceTime - i : (i * 7 + 1) % 3));
      return [name, array("int32", data, dims)];
    }),
  );
}

/** The loss and all its gradients, computed by an engine. */
async function gradientsOf(fn: TensorFunction, weights: ParameterBuffer, engine: Engine) {
  const gradients = new ParameterBuffer(weights.layout);
  const step = compile(fn, { gradientOf: "loss", outputs: ["loss"], device: { engine, threads: 1 } });
  const { loss } = await step.run(feedsOf(fn), { weights, gradients, chance: chance(3) });
  await step.release();
  return { loss: Number(loss.data[0]), gradients };
}

describe("in ONNX's own operators alone, loss and gradients are the same", () => {
  const small = { layers: 2, heads: 2, width: 8, hidden: 12, context: 8, vocab: 9 };
  it.each(architectures(small))("%s", async (_, given) => {
    const fn = modelLoss(modelConfig(given));
    const bind = Object.fromEntries(Object.entries(sizes).filter(([symbol]) => symbolsOf(fn).has(symbol)));
    const weights = initialise(parametersOf(fn, { bind }), chance(5));
    const [own, portable] = [await gradientsOf(fn, weights, nodeEngine), await gradientsOf(fn, weights, portableEngine)];
    expect(Math.abs(own.loss - portable.loss)).toBeLessThan(1e-5 * Math.max(1, own.loss));
    for (const [name, { data }] of own.gradients.views) {
      if (/\/k\/bias$/.test(name)) continue; // it moves all scores of a query alike, which a softmax does not see: nothing but rounding is left
      expect(gradientGap(data as Float32Array, portable.gradients.view(name).data as Float32Array), name).toBeLessThan(1e-4);
    }
  });
});

describe("a target", () => {
  const product = tensorFunction({ x: float32([3, 2]) }, (p, { x }) => ({
    y: sum(mul(linear(x, p.param("w", [4, 2]), undefined, { transposed: true }), 0.5)),
  }));

  it("is any runtime for a file of which nobody said who reads it, and ONNX Runtime's own operators are for those who have them", () => {
    const graph = buildGraph(product);
    expect(domainsOf(emitOnnx(graph))).toEqual([""]);
    expect(domainsOf(emitOnnx(graph, { target: nodeEngine }))).toEqual(["", "com.microsoft"]);
  });

  const models: Uint8Array[] = [];
  const without = (...missing: Feature[]): Engine => ({
    name: "somebody",
    can: (feature) => !missing.includes(feature),
    createSession(model, options) {
      models.push(model);
      return nodeEngine.createSession(model, options);
    },
  });
  const weights = initialise(parametersOf(product), chance(1));
  const x = array("float32", new Float32Array(6).fill(1), [3, 2]);

  it("that does not keep outputs in place is given no sequence in front of them", async () => {
    const fronts = async (engine: Engine) => {
      const gradients = new ParameterBuffer(weights.layout);
      await compile(product, { gradientOf: "y", device: { engine } }).run({ x }, { weights, gradients });
      return fromBinary(ModelProtoSchema, models[models.length - 1]).graph?.output.map(({ name }) => name);
    };
    expect(await fronts(without())).toEqual(["qkv:sequence", "output y", "output gradient of w"]);
    expect(await fronts(without("outputs-in-place"))).toEqual(["output y", "output gradient of w"]);
  });

  it("without products of few bits is not given rounded weights", async () => {
    const wide = tensorFunction({ x: float32([1, 64]) }, (p, { x: row }) => ({
      y: linear(row, p.at("out").param("weight", [3, 64]), undefined, { transposed: true }),
    }));
    const weights = weightsInMemory(initialise(parametersOf(wide), chance(1)));
    const rounded = (engine: Engine) => baked(weights, { engine, precision: "q4" });
    const row = array("float32", new Float32Array(64), [1, 64]);
    expect((await compile(wide, rounded(without())).run({ x: row })).y.shape).toEqual([1, 3]);
    await expect(compile(wide, rounded(without("few-bit-products"))).run({ x: row })).rejects.toThrow(
      new EngineError("somebody has no products with weights of 4 bits (MatMulNBits); use the weights as they were trained, f32"),
    );
  });

  it("without float64, or without weights in other files, refuses them with the cure", async () => {
    const precise = tensorFunction({ x: float64([2]) }, (_, { x: wide }) => ({ y: mul(wide, 2) }));
    expect(() => emitOnnx(buildGraph(precise), { target: without("float64") })).toThrow(
      new EngineError("input gives float64, which somebody has not; use float32"),
    );
    const elsewhere = { weights: () => ({ kind: "external", file: "weights.bin", offset: 0 }) as const };
    expect(() => emitOnnx(buildGraph(product), { ...elsewhere, target: without("external-data") })).toThrow(
      new EngineError('the weights "w" are in the file weights.bin, and somebody reads none beside a model; give them as numbers'),
    );
  });
});
