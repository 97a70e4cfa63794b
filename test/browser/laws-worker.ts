import type { HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { pause } from "../../src/base/turns.ts";
import { idsInMemory } from "../../src/batches/ids.ts";
import { trainingWindows } from "../../src/batches/windows.ts";
import { computingOps, opCases } from "../../src/bench/op-cases.ts";
import { smallModels, trainSmall, writeSmall, writes } from "../../src/bench/small-models.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { layer } from "../../src/graph/scope.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float32 } from "../../src/graph/type.ts";
import { logSoftmax, matmul, mul } from "../../src/ops/index.ts";
import { compile } from "../../src/runtime/compile.ts";
import type { Device } from "../../src/runtime/device.ts";
import { type WebDeviceChoice, type WebDeviceOptions, webDevice } from "../../src/web/devices.ts";
import { addressesOf } from "../../src/web/onnxruntime.ts";

// What the laws ask of a page. The same functions are asked in Node, so that the two can be compared.

export interface Asked extends Omit<WebDeviceOptions, "onnxruntime"> {
  readonly device: WebDeviceChoice;
}

const deviceOf = ({ device, ...options }: Asked) => webDevice(device, { onnxruntime: "/ort/", ...options });
const clock = (): number => performance.now() / 1000;
const numbersOf = ({ data }: HostArray): number[] => Array.from(data as Iterable<number | bigint>, Number);

/** What every case of every op gives, by its name; or the sentence with which it is refused. */
export async function opResults(device: Device): Promise<Record<string, Record<string, number[]> | string>> {
  const found: Record<string, Record<string, number[]> | string> = {};
  for (const op of computingOps())
    for (const { name, compute } of opCases(op)) {
      try {
        found[name] = Object.fromEntries(Object.entries(await compute(device)).map(([key, x]) => [key, numbersOf(x)]));
      } catch (error) {
        found[name] = String(error);
      }
    }
  return found;
}

interface Wanted {
  readonly models?: readonly string[];
  readonly writing?: boolean;
}

export interface Trained {
  readonly model: string;
  readonly losses: readonly number[];
  /** What it writes, of two rows. */
  readonly ids: readonly number[];
}

/** Losses of the small models and, unless that is not wanted, what those that write then say. */
export async function trainings(device: Device, steps: number, { models, writing = true }: Wanted = {}): Promise<Trained[]> {
  const found: Trained[] = [];
  for (const config of smallModels.filter(({ model }) => models?.includes(model) ?? true)) {
    const { losses, weights } = await trainSmall(config, device, { steps, clock });
    const ids = writing && writes(config) ? (await writeSmall(config, weights, device, clock)).ids : [];
    found.push({ model: config.model, losses, ids });
  }
  return found;
}

/** Batches, weights and the bytes of dropout, which follow from a seed alone. Engines of JavaScript differ in the last bit of a logarithm: weights are float32. */
export async function draws(): Promise<{ readonly ids: number[]; readonly bytes: number[]; readonly weights: number[] }> {
  const source = chance(7);
  const text = idsInMemory(Int32Array.from({ length: 500 }, (_, i) => (i * i) % 91));
  const windows = trainingWindows(text, { batch: 4, context: 16 }, source);
  return {
    ids: [0, 1, 40].flatMap((index) => numbersOf(windows.batch(index).feeds.ids)),
    bytes: [...source.fork("dropout").fork(3).bytes(new Uint8Array(1000))],
    weights: [...Float32Array.from({ length: 1000 }, (_, i) => source.fork("weights").normal(i))],
  };
}

export const tasks = {
  draws,
  ops: async (asked: Asked) => opResults(await deviceOf(asked)),
  train: async ({ steps, models, writing, ...asked }: Asked & Wanted & { readonly steps: number }) =>
    trainings(await deviceOf(asked), steps, { models, writing }),

  async device(asked: Asked) {
    const { engine, report, memory } = await deviceOf(asked);
    return { ...report, name: engine.name, version: engine.version, memory: memory?.() };
  },

  /** x W with W in a file of its own, from its second number on; and what is said where no file can be read. */
  async file() {
    const fn = tensorFunction({ x: float32([1, 2]) }, (p, { x }) => ({ y: matmul(x, p.param("w", [2, 2])) }));
    const bytes = new Uint8Array(Float32Array.of(9, 1, 2, 3, 4).buffer);
    const asked: string[] = [];
    const computed = async (readFile: WebDeviceOptions["readFile"]) => {
      const device = await webDevice("wasm", { onnxruntime: "/ort/", readFile });
      const weights = () => ({ kind: "external", file: "model.safetensors", offset: 4 }) as const;
      const run = compile(fn, { device, weights, folder: "runs/one" });
      return (await run.run({ x: { dtype: "float32", shape: [1, 2], data: Float32Array.of(1, 10) } })).y.data;
    };
    const y = await computed((path) => {
      asked.push(path);
      return bytes;
    });
    const refused = await computed(undefined).catch(String);
    return { asked, y: [...y].map(Number), refused };
  },

  /** What is said when the GPU goes away, of a module that was loaded by somebody else. */
  async lost() {
    const address = "/ort/ort.webgpu.min.mjs";
    const ort = await import(address);
    const { mjs, wasm } = addressesOf("/ort/", "webgpu");
    ort.env.wasm.wasmPaths = { mjs, wasm };
    const told: string[] = [];
    const device = await webDevice("webgpu", { onnxruntime: ort, threads: 1, lost: ({ message }) => told.push(message) });
    const fn = tensorFunction({ x: float32([2]) }, (_, { x }) => ({ y: mul(x, x) }));
    const run = compile(fn, { device });
    const x = { dtype: "float32", shape: [2], data: Float32Array.of(2, 3) } as const;
    const before = [...(await run.run({ x })).y.data].map(Number);
    (await ort.env.webgpu.device).destroy();
    await pause();
    return { before, after: await run.run({ x }).catch(String), told };
  },

  /** What is said where WebGPU lacks something that the lowering believed it to have. */
  async lacking() {
    const device = await deviceOf({ device: "webgpu" });
    const engine = { ...device.engine, can: (feature: Parameters<typeof device.engine.can>[0]) => feature === "log-softmax" };
    const named = layer((_, x: Tensor) => logSoftmax(x));
    const fn = tensorFunction({ x: float32(["rows", 3]) }, (p, { x }) => ({ y: named(p.at("scores"), x) }));
    const run = compile(fn, { device: { ...device, engine } });
    try {
      await run.run({ x: { dtype: "float32", shape: [1, 3], data: Float32Array.of(1, 2, 3) } });
      return "nothing";
    } catch (error) {
      return String(error);
    }
  },
};
