// A training step of W1 in qkv, and generation with W1 and with a model of GPT-2's size, whose weights are random.

import { chance } from "../../dist/base/chance.js";
import { trainingStep } from "../../dist/bench/workload-step.js";
import { workloads } from "../../dist/bench/workloads.js";
import { speakerOf } from "../../dist/generation/speaker.js";
import { ParameterBuffer } from "../../dist/graph/parameters.js";
import { modelConfig, modelLoss } from "../../dist/models/any.js";
import { decoderPresets } from "../../dist/models/presets.js";
import { parametersOf } from "../../dist/runtime/compile.js";
import { baked } from "../../dist/trained/baked.js";
import { webDevice } from "../../dist/web/devices.js";
import { serve, timed } from "./worker.mjs";

let [device, step] = [];

serve({
  async prepare({ threads, folder }) {
    device = await webDevice("wasm", { onnxruntime: folder, threads });
    step = await trainingStep(
      workloads.find(({ name }) => name === "W1"),
      device,
    );
    return {
      first: await step.run(),
      about: `qkv on onnxruntime-web ${device.engine.version}, ${device.threads} threads (${device.engine.reason})`,
    };
  },
  steps: ({ count }) => timed(count, step.run),
  /** Milliseconds of each token, one row, after a prompt of 8. */
  async write({ preset, tokens, folder }) {
    const config = modelConfig({ model: "decoder", ...decoderPresets[preset] });
    const layout = parametersOf(modelLoss(config, { training: false }));
    const buffer = new ParameterBuffer(layout);
    let state = 1;
    for (let i = 0; i < buffer.data.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      buffer.data[i] = 0.04 * (state / 2 ** 32 - 0.5);
    }
    // The weights are a file for the engine: within the model they would be in memory twice more.
    const bytes = new Uint8Array(buffer.data.buffer, buffer.data.byteOffset, buffer.data.byteLength);
    const places = new Map(layout.entries.map(({ name, offset }) => [name, 4 * offset]));
    const weights = {
      buffer,
      folder: "",
      numbers: (name) => buffer.view(name).data,
      source: (name) => ({ kind: "external", file: "weights", offset: places.get(name) }),
    };
    const own = await webDevice("wasm", { onnxruntime: folder, readFile: () => bytes });
    const speaker = speakerOf(config, baked(weights, own));
    const speech = speaker.begin();
    await speech.join([{ ids: Int32Array.from({ length: 8 }, (_, i) => chance(1).integer(i, config.vocab)) }]);
    const found = await timed(tokens, async () => {
      const [{ scores }] = await speech.next([7]);
      return scores[0];
    });
    await speaker.release();
    return found;
  },
});
