import { describe, expect, it } from "vitest";
import { layerOf } from "../../src/cost/nodes.ts";
import { phaseGraph, phaseOf } from "../../src/cost/phases.ts";
import { grad } from "../../src/gradients/grad.ts";
import { cleanUp } from "../../src/graph/cleanup.ts";
import { nodeShares } from "../../src/graph/cost.ts";
import { buildGraph, type Graph, graphNodes, type TensorFunction, tensorFunction } from "../../src/graph/graph.ts";
import { isLeaf } from "../../src/graph/leaves.ts";
import { parameterLayout } from "../../src/graph/parameters.ts";
import { inPart, type Part } from "../../src/graph/place.ts";
import { layer } from "../../src/graph/scope.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float32 } from "../../src/graph/type.ts";
import { cost } from "../../src/library/here.ts";
import { type ModelInput, modelConfig, modelLoss } from "../../src/models/any.ts";
import { compile, nodeDevice } from "../../src/node/device.ts";
import { emitOnnx } from "../../src/onnx/emit.ts";
import { flattenRows } from "../../src/ops/flatten.ts";
import { add, linear, mul, sum, tanh } from "../../src/ops/index.ts";
import { architectures } from "../support/architectures.ts";

// Layers say what they build; every node, copy and gradient remembers it.

const sizes = { layers: 2, heads: 4, width: 24, hidden: 40, context: 300, vocab: 11 };
const extent = { batch: 3, length: 10, sourceLength: 7, decode: 9 };

describe("the parts of a model", () => {
  it.each(architectures(sizes))("have every node inside a layer, and add up to the whole: %s", async (_, given) => {
    const config = modelConfig(given);
    const isLanguageModel = config.model === "decoder" || (config.model === "rnn" && config.task === "lm");
    const training = phaseOf("training", config, extent);
    if (!training) throw new Error("every model can be trained");
    for (const node of graphNodes(await phaseGraph(training, nodeDevice())).filter((node) => !isLeaf(node))) {
      // Outside, a model that reads padded texts makes masks of their lengths and takes means; that is all that is no part of anything.
      if (isLanguageModel || layerOf(node.scope)) expect(`${node.op.name} at ${node.scope}: ${node.part}`).not.toMatch(/: other$/);
    }
    for (const { name, part } of parameterLayout(buildGraph(modelLoss(config), { bind: training.sizes })).entries)
      expect(`${name}: ${part}`).not.toMatch(/: other$/);
    for (const phase of Object.values((await cost(config, extent)).phases)) {
      for (const of of ["flops", "products", "bytes"] as const)
        expect(phase.parts.reduce((total, part) => total + part[of], 0)).toBe(phase[of]);
    }
  });

  it("share attention in one op out as the same attention, step by step, is counted", async () => {
    const products = async (taps: readonly string[]) => {
      const fn: TensorFunction = modelLoss(modelConfig({ model: "decoder", ...sizes, layers: 1, dropout: 0.1 }));
      const graph = await compile(fn, { gradientOf: "loss", outputs: ["loss"], taps }).graph({ batch: 3, time: 10 });
      const names = graphNodes(graph).map(({ op }) => op.name);
      expect(names.includes("attend")).toBe(taps.length === 0);
      return productsByPart(graph);
    };
    const [fused, stepByStep] = [await products([]), await products(["decoder/block.0/attention/pattern"])];
    expect(fused).toEqual(stepByStep);
    expect([fused.scores, fused["weighted sum"]]).toEqual([3 * 2 * 3 * 10 * 10 * 24, 3 * 2 * 3 * 10 * 10 * 24]);
  });
});

describe("what is counted as what", () => {
  const partsOf = async (model: ModelInput) => (await cost(modelConfig(model), extent)).phases.sequence?.parts.map(({ name }) => name);

  it("a causal mask belongs to the softmax, and a model without positions has none", async () => {
    expect(await partsOf({ model: "decoder", ...sizes, positions: "none" })).not.toContain("positions");
  });

  it("positions inside attention are positions, not scores or heads: linear attention without a mask has nothing of a softmax", async () => {
    expect(await partsOf({ model: "decoder", ...sizes, attention: "linear", mask: "none", positions: "alibi" })).not.toContain("softmax");
  });

  it("two directions are joined by the recurrence; without attention nothing else is projected", async () => {
    const found = await partsOf({ model: "rnn", width: 12, vocab: 11, context: 20, bidirectional: true, attention: false });
    expect(found).not.toContain("output projection");
  });
});

function productsByPart(graph: Graph): Partial<Record<Part, number>> {
  const found: Partial<Record<Part, number>> = {};
  for (const { part, products } of graphNodes(graph).flatMap(nodeShares)) found[part] = (found[part] ?? 0) + products.known;
  return found;
}

describe("a part", () => {
  const feed = layer("feed-forward", (p, x: Tensor): Tensor => tanh(linear(x, p.param("weight", [4, 4]))));
  const both = tensorFunction({ x: float32([2, 3, 4]) }, (p, { x }) => {
    const y = add(
      x,
      inPart("scores", () => feed(p.at("inner"), mul(x, x))),
    );
    const loss = inPart("loss", () => sum(y));
    return { loss, gradient: grad(loss, p.parameters())[0] };
  });
  const partsOf = (graph: Graph) =>
    graphNodes(graph)
      .filter((node) => !isLeaf(node))
      .map(({ op, part }) => `${op.name}: ${part}`);

  it("is the innermost that was said, and gradients have that of the node that they are of", () => {
    expect(partsOf(cleanUp(buildGraph(both)))).toEqual([
      "mul: scores",
      "linear: feed-forward",
      "tanh: feed-forward",
      "add: other",
      "sum: loss",
      "mul: feed-forward",
      "sub: feed-forward",
      "rowsProduct: feed-forward",
    ]);
    expect(parameterLayout(buildGraph(both)).entries.map(({ name, part }) => [name, part])).toEqual([["inner/weight", "feed-forward"]]);
  });

  it("stays when rows are flattened: views are where what they are for is", () => {
    const cleaned = cleanUp(buildGraph(both));
    const views = graphNodes(flattenRows(cleaned)).filter(({ op }) => op.name === "reshape");
    const places = new Set(views.map(({ scope, part }) => `${scope}: ${part}`));
    expect([...places].sort()).toEqual([": other", "inner: feed-forward"]); // add, and the rest
  });

  it("changes nothing of what is computed: equal nodes of two parts are one, and the model is the same", () => {
    const inParts = (first: Part, second: Part) =>
      tensorFunction({ x: float32([2]) }, (_, { x }) => {
        const [a, b] = ([first, second] as const).map((part) => inPart(part, () => tanh(x)));
        return { y: mul(a, b) };
      });
    const graphs = [inParts("scores", "norms"), inParts("other", "other")].map((fn) => cleanUp(buildGraph(fn)));
    expect(graphNodes(graphs[0]).map(({ op }) => op.name)).toEqual(["input", "tanh", "mul"]);
    expect(emitOnnx(graphs[0])).toEqual(emitOnnx(graphs[1]));
  });
});
