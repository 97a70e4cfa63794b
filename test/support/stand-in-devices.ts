import type { HostArray } from "../../src/base/arrays.ts";
import { EngineError } from "../../src/base/errors.ts";
import { engineOn } from "../../src/node/devices.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import { operatorsOf } from "../../src/onnx/emit.ts";
import { type DeviceArray, type Engine, isHeld } from "../../src/runtime/session.ts";

// Devices for machines that have none: they compute on the processor what is written for a device.

const { name, opset, can } = engineOn("webgpu");

/** Says that it can do what WebGPU can. */
export const likeWebgpu: Engine = { ...nodeEngine, name, opset, can, host: nodeEngine };

/** Lacks operators of ONNX; as providers do, it would leave them to the processor, sizes included. */
export const lacking = (...operators: readonly string[]): Engine => ({
  ...nodeEngine,
  name: "somewhere",
  host: nodeEngine,
  createSession: async (model, options = {}) => {
    if (!options.openSizes && operatorsOf(model).some((one) => one === "Shape" || operators.includes(one)))
      throw new EngineError("something is missing", { code: "engine.elsewhere" });
    return nodeEngine.createSession(model, options);
  },
});

/** What a device holds, as far as its engine knows: an array that must be released once, and not be read after that. */
class Kept implements DeviceArray {
  readonly place = "device";
  readonly dtype: HostArray["dtype"];
  readonly shape: readonly number[];
  #array: HostArray | undefined;
  readonly #gone: () => void;

  constructor(array: HostArray, gone: () => void) {
    this.#array = array;
    this.dtype = array.dtype;
    this.shape = array.shape;
    this.#gone = gone;
  }

  get array(): HostArray {
    if (!this.#array) throw new Error("it was released before");
    return this.#array;
  }

  release(): void {
    if (this.array) this.#gone();
    this.#array = undefined;
  }
}

/** Holds outputs, and counts those that nobody has released. */
export function holding(): { readonly engine: Engine; readonly held: () => number } {
  let held = 0;
  const createSession: Engine["createSession"] = async (model, { keep = [], ...options } = {}) => {
    const session = await nodeEngine.createSession(model, options);
    const kept = (array: HostArray) => {
      held++;
      return new Kept(array, () => held--) as DeviceArray as unknown as HostArray;
    };
    return {
      endProfiling: () => session.endProfiling(),
      release: () => session.release(),
      async run(feeds, outputs, into) {
        const here = Object.entries(feeds).map(([key, x]) => [key, isHeld(x) ? (x as Kept).array : x] as const);
        const results = await session.run(Object.fromEntries(here), outputs, into);
        return Object.fromEntries(Object.entries(results).map(([key, x]) => [key, keep.includes(key) ? kept(x) : x]));
      },
    };
  };
  return { engine: { ...likeWebgpu, holds: true, createSession }, held: () => held };
}
