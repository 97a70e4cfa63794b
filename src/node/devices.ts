import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { EngineError } from "../base/errors.ts";
import { call, sentence } from "../base/sentence.ts";
import { buildGraph, tensorFunction } from "../graph/graph.ts";
import { float32 } from "../graph/type.ts";
import { emitOnnx, outputName } from "../onnx/emit.ts";
import { matmul } from "../ops/products.ts";
import type { Device } from "../runtime/device.ts";
import {
  type DeviceChoice,
  type DeviceName,
  deviceChoices,
  deviceNames,
  type Provider,
  webgpu,
  withoutPlace,
} from "../runtime/provider.ts";
import type { Engine } from "../runtime/session.ts";
import { nodeEngine, providerEngine } from "./engine.ts";
import { freeMemory } from "./machine.ts";

// The devices that ONNX Runtime in Node knows, what each of them lacks, and whether it can be used here.

export { type DeviceChoice, type DeviceName, deviceChoices, deviceNames };

/**
 * What the lowering must know. Of devices other than WebGPU, which nobody has run, only what the source of ONNX Runtime says: what turns out to be missing is
 * refused by name. Outputs stay on a device where the binding lets them: it knows the buffers of
 * WebGPU and no others ("WebGPU_Buf" in js/node/src/inference_session_wrap.cc).
 */
const providers: Readonly<Record<Exclude<DeviceName, "cpu">, Provider>> = {
  cuda: { name: "cuda", has: ["fused-products"], lacks: ["byte-comparisons", "scans"], holds: false },
  webgpu,
  dml: { name: "dml", lacks: ["byte-comparisons", "scans"], holds: false },
  coreml: { name: "coreml", lacks: ["float64", "byte-comparisons", "scans"], holds: false },
};

/** Where onnxruntime-node has a provider at all. */
const homes: Readonly<Record<DeviceName, string>> = {
  cpu: "everywhere",
  cuda: "on Linux x64, once its install script has fetched the libraries of CUDA",
  webgpu: "on Linux x64, macOS and Windows",
  dml: "on Windows",
  coreml: "on macOS",
};

const engines = new Map<DeviceName, Engine>([["cpu", nodeEngine]]);

/** ONNX Runtime in this process, on a device. */
export function engineOn(name: DeviceName): Engine {
  const made = engines.get(name) ?? providerEngine(providers[name as Exclude<DeviceName, "cpu">]);
  engines.set(name, made);
  return made;
}

/** A device by its name. That it can be used is known when something is computed on it, and for "auto" by trying. */
export function deviceNamed(name: DeviceChoice, options: Omit<Device, "engine"> = {}): Device {
  if (!deviceChoices.includes(name))
    throw new EngineError(
      sentence`there is no device called "${name}"; there are ${deviceChoices.join(", ")}, and ${call("devices")} tells which can be used`,
      {
        code: "engine.device",
      },
    );
  return { engine: engineOn(resolved(name)), memory: freeMemory, ...options };
}

/** A device, or the one of this name; the processor if nothing is given. */
export const deviceOf = (given: Device | DeviceChoice = "cpu", options: Omit<Device, "engine"> = {}): Device =>
  typeof given === "string" ? deviceNamed(given, options) : { ...given, ...options };

/** "auto" is the device that multiplies matrices fastest, of those that can be used. */
export function resolved(name: DeviceChoice): DeviceName {
  if (name !== "auto") return name;
  const [best] = devices().toSorted((a, b) => (b.gflops ?? -1) - (a.gflops ?? -1));
  return best.gflops === undefined ? "cpu" : best.name;
}

export interface DeviceReport {
  readonly name: DeviceName;
  readonly usable: boolean;
  /** Why it cannot be used. */
  readonly reason?: string;
  /** A product of matrices (1,024², for slow devices 256²) that are copied there, and the result back: 10⁹ operations a second, at best. */
  readonly gflops?: number;
  /** What goes between the memories of host and device in a step of training. */
  readonly copies: string;
  /** What a model cannot have on it. */
  readonly lacks: readonly string[];
}

/** What is copied in every step of training. */
export const copiesOf = ({ engine }: Device): string =>
  engine.host === undefined
    ? "nothing: it computes in the memory of the host"
    : engine.holds
      ? "ids go in, loss and gradient norm come out; weights, gradients and what the optimizer remembers stay there, unless gradients are accumulated"
      : "all weights go in and all gradients come out (8 bytes a parameter), because the binding of ONNX Runtime for Node leaves nothing there";

/** What this installation can do, and why not. Each device is tried in a process of its own, because a driver may crash or hang. */
export function devices(names: readonly DeviceName[] = deviceNames): DeviceReport[] {
  const require = createRequire(import.meta.url);
  let backends: readonly { readonly name: string }[];
  let ort: string;
  try {
    ort = require.resolve("onnxruntime-node");
    backends = (require(ort) as { listSupportedBackends(): { name: string }[] }).listSupportedBackends();
  } catch (error) {
    throw new EngineError(`onnxruntime-node could not be loaded (${error instanceof Error ? error.message.split("\n")[0] : error})`, {
      code: "engine.missing",
      cause: error,
    });
  }
  return names.map((name) => {
    const device = deviceNamed(name);
    const about = { copies: copiesOf(device), lacks: name === "cpu" ? [] : lacksOf(device) };
    if (!backends.some((backend) => backend.name === name)) {
      const reason = `onnxruntime-node has it ${homes[name]}; this is ${process.platform} ${process.arch}`;
      return { name, usable: false, reason, ...about };
    }
    return { name, ...tried(name, ort), ...about };
  });
}

const lacksOf = ({ engine }: Device): string[] => [
  ...(engine.can("few-bit-products") ? [] : ["weights of 8 or 4 bits"]),
  ...(engine.can("float64") ? [] : ["float64"]),
];

/** Matrices that are multiplied: small ones to see that it works, large ones where these were quick. */
const sides = [256, 1024];
/** Milliseconds that a device may take to say whether it is there. */
const patience = 30_000;

/** Computes one product on a device, in another process. */
function tried(name: DeviceName, ort: string): Pick<DeviceReport, "usable" | "reason" | "gflops"> {
  const products = sides.map((side) => {
    const fn = tensorFunction({ a: float32([side, side]), b: float32([side, side]) }, (_, { a, b }) => ({ y: matmul(a, b) }));
    return { side, model: Buffer.from(emitOnnx(buildGraph(fn), { opset: 21 })).toString("base64") };
  });
  const asked = JSON.stringify({ ort, products, provider: name, output: outputName("y") });
  const child = spawnSync(process.execPath, ["-e", `(${trial})(JSON.parse(process.argv[1]), require)`, asked], {
    encoding: "utf8",
    timeout: patience,
    killSignal: "SIGKILL",
    maxBuffer: 2 ** 24,
  });
  const [line] = child.stdout.split("\n").filter((text) => text.startsWith("{"));
  if (line !== undefined) {
    const { error, gflops, right } = JSON.parse(line) as { error?: string; gflops?: number; right?: boolean };
    if (error !== undefined) return { usable: false, reason: [withoutPlace(error.trim()), cureOf(name)].filter(Boolean).join("; ") };
    if (!right) return { usable: false, reason: "a product of matrices came out wrong" };
    return { usable: true, gflops };
  }
  if (child.signal === "SIGKILL") return { usable: false, reason: `it did not answer within ${patience / 1000} s` };
  return { usable: false, reason: `its driver ended the process (${child.signal ?? `code ${child.status}`})` };
}

function cureOf(name: DeviceName): string | undefined {
  if (name === "cuda")
    return "CUDA 12 with cuDNN 9 is wanted, and the libraries that onnxruntime-node fetches when npm may run its install script";
  if (name === "webgpu" && process.platform === "linux") return "on Linux a driver for Vulkan is wanted, and its loader (libvulkan.so.1)";
  return undefined;
}

/** What the other process does; it knows nothing of ours but what it is given. */
const trial = (async (
  given: { ort: string; products: { side: number; model: string }[]; provider: string; output: string },
  require: (path: string) => typeof import("onnxruntime-node"),
): Promise<void> => {
  const { ort, products, provider, output } = given;
  try {
    const { InferenceSession, Tensor } = require(ort);
    const strict = provider === "cpu" ? {} : { extra: { session: { disable_cpu_ep_fallback: "1" } } };
    let [gflops, right] = [0, true];
    for (const { side, model } of products) {
      const session = await InferenceSession.create(new Uint8Array(Buffer.from(model, "base64")), {
        executionProviders: [provider],
        graphOptimizationLevel: "disabled",
        logSeverityLevel: 4,
        ...strict,
      });
      const numbers = Float32Array.from({ length: side * side }, (_, i) => (i % 7) - 3);
      let wanted = 0;
      for (let k = 0; k < side; k++) wanted += numbers[side + k] * numbers[k * side + 5];
      const x = new Tensor("float32", numbers, [side, side]);
      let best = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 5; i++) {
        const start = performance.now();
        const y = (await session.run({ a: x, b: x }))[output].data as Float32Array;
        best = Math.min(best, performance.now() - start);
        right = right && Math.abs(y[side + 5] - wanted) <= 1e-3 * side;
      }
      gflops = (2 * side ** 3) / best / 1e6;
      if (best > 20) break;
    }
    process.stdout.write(`\n${JSON.stringify({ gflops, right })}\n`);
  } catch (error) {
    process.stdout.write(`\n${JSON.stringify({ error: error instanceof Error ? error.message.split("\n")[0] : String(error) })}\n`);
  }
}).toString();
