import { expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { grad } from "../../src/gradients/grad.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { compile } from "../../src/node/device.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import type { Engine } from "../../src/runtime/session.ts";
import { initialise } from "../../src/weights/initialise.ts";

// Gradients are written straight into the flat buffer. They must be those of an ordinary run, output by output.

const loss = decoderLoss({ layers: 2, heads: 2, width: 16, context: 8, vocab: 11 });
const weights = initialise(parametersOf(loss), chance(2));
const ids = array(
  "int32",
  Int32Array.from({ length: 24 }, (_, i) => (i * 7) % 11),
  [3, 8],
);
const targets = array(
  "int32",
  Int32Array.from({ length: 24 }, (_, i) => (i * 5 + 1) % 11),
  [3, 8],
);

const plain = tensorFunction(loss.inputs, (p, inputs) => {
  const { loss: value } = loss.build(p, inputs);
  const parameters = p.parameters();
  const gradients = grad(value, parameters);
  const names = [...weights.views.keys()];
  return { loss: value, ...Object.fromEntries(gradients.map((g, i): [string, Tensor] => [`d ${names[i]}`, g])) };
});

it("gradients in the flat buffer equal those of an ordinary run, bit for bit, run after run", async () => {
  const ordinary: Record<string, HostArray> = await compile(plain).run({ ids, targets }, { weights });
  const gradients = new ParameterBuffer(weights.layout);
  const step = compile(loss, { gradientOf: "loss", outputs: ["loss"] });
  for (let run = 0; run < 3; run++) {
    gradients.data.fill(Number.NaN);
    const result = await step.run({ ids, targets }, { weights, gradients });
    expect(result.loss.data).toEqual(ordinary.loss.data);
    for (const [name, view] of gradients.views) expect(view.data, name).toEqual(ordinary[`d ${name}`].data);
  }
});

it("an earlier result is not overwritten by a later run", async () => {
  const gradients = new ParameterBuffer(weights.layout);
  const step = compile(loss, { gradientOf: "loss", outputs: ["loss"] });
  const first = await step.run({ ids, targets }, { weights, gradients });
  const before = first.loss.data[0];
  const second = await step.run({ ids, targets: ids }, { weights, gradients });
  expect(second.loss.data[0]).not.toBe(before);
  expect(first.loss.data[0]).toBe(before);
});

it("a loss that is NaN comes back as NaN", async () => {
  const broken = new ParameterBuffer(weights.layout, weights.data.slice().fill(Number.NaN));
  const result = await compile(loss, { gradientOf: "loss", outputs: ["loss"] }).run(
    { ids, targets },
    { weights: broken, gradients: new ParameterBuffer(weights.layout) },
  );
  expect(result.loss.data[0]).toBeNaN();
});

it("an engine that knows nothing of it gives the same", async () => {
  const simple: Engine = {
    name: "simple",
    can: (feature) => feature !== "outputs-in-place",
    createSession: async (model, options) => {
      const session = await nodeEngine.createSession(model, options);
      // copies instead of writing in place, as a web engine would
      const run: typeof session.run = async (feeds, outputs, into = {}) => {
        const results = await session.run(feeds, outputs);
        for (const name of outputs) (into[name]?.data as Float32Array | undefined)?.set(results[name].data as Float32Array);
        return { ...results, ...into };
      };
      return { run, endProfiling: () => {}, release: () => session.release() };
    },
  };
  const [a, b] = [new ParameterBuffer(weights.layout), new ParameterBuffer(weights.layout)];
  await compile(loss, { gradientOf: "loss", outputs: ["loss"] }).run({ ids, targets }, { weights, gradients: a });
  await compile(loss, { gradientOf: "loss", outputs: ["loss"], device: { engine: simple } }).run(
    { ids, targets },
    { weights, gradients: b },
  );
  expect(b.data).toEqual(a.data);
});
