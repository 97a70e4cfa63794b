import { EngineError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { Device, Precision } from "../runtime/device.ts";
import { type WebEngine, type WebgpuEngineOptions, wasmEngine, webgpuEngine } from "./engine.ts";
import { type Gap, gapOf, type Trial } from "./gap.ts";
import type { TrialSize } from "./trial.ts";

// The devices of a page by their names, and the choice between them: by measuring, and only of one that computes what WebAssembly computes.

export const webDeviceNames = ["wasm", "webgpu"] as const;
export type WebDeviceName = (typeof webDeviceNames)[number];
/** What may be asked for: one of them, or whichever trains fastest here. */
export const webDeviceChoices = [...webDeviceNames, "auto"] as const;
export type WebDeviceChoice = (typeof webDeviceChoices)[number];

export interface WebDeviceOptions extends WebgpuEngineOptions {
  /** Of weights that are baked in. */
  readonly precision?: Precision;
  /** Whether "auto" tries adapters that are programs, not chips; only a test wants that. */
  readonly software?: boolean;
  /** What "auto" trains for its choice, where that is to be like what will be trained. */
  readonly trial?: Partial<TrialSize>;
  /** Seconds. */
  readonly clock?: () => number;
}

/** What was found out about one device. */
export interface Measured {
  readonly device: WebDeviceName;
  /** Of a small training step; not there if it was not tried. */
  readonly msPerStep?: number;
  /** How far it is from WebAssembly. */
  readonly gap?: Gap;
  /** Why it was not tried, or is not trusted. */
  readonly reason?: string;
}

export interface WebDevice extends Device {
  readonly engine: WebEngine;
  readonly report: {
    readonly chosen: WebDeviceName;
    readonly why: string;
    readonly measured: readonly Measured[];
    /** Threads of WebAssembly, and why so many. */
    readonly threads: number;
    readonly threadsReason: string;
  };
}

/** A device of this page by its name. "auto" measures a small training step on each that there is. */
export async function webDevice(choice: WebDeviceChoice, options: WebDeviceOptions): Promise<WebDevice> {
  if (!webDeviceChoices.includes(choice))
    throw new EngineError(`there is no device called "${choice}" in a page${suggest(choice, webDeviceChoices)}`, { code: "engine.device" });
  if (choice === "auto") return chooseDevice(options);
  const engine = await (choice === "wasm" ? wasmEngine : webgpuEngine)(options);
  return deviceOn(engine, options, { chosen: choice, why: "as asked", measured: [] });
}

const deviceOn = (
  engine: WebEngine,
  { precision }: WebDeviceOptions,
  report: Pick<WebDevice["report"], "chosen" | "why" | "measured">,
): WebDevice => ({
  engine,
  threads: engine.threads,
  memory: engine.memory,
  ...(precision !== undefined && { precision }),
  report: { ...report, threads: engine.threads, threadsReason: engine.reason },
});

/** Float32 on a GPU: products add up in another order, and functions have other last bits. */
const tolerances: Gap = { loss: 1e-3, gradient: 1e-3 };

async function chooseDevice(options: WebDeviceOptions): Promise<WebDevice> {
  const { clock = () => performance.now() / 1000, trial: size } = options;
  const wasm = await wasmEngine(options);
  const only = (reason: string) =>
    deviceOn(wasm, options, {
      chosen: "wasm",
      why: `WebGPU is out of the question: ${reason}`,
      measured: [{ device: "wasm" }, { device: "webgpu", reason }],
    });
  const lacking = await whyNoGpu(options.software ?? false);
  if (lacking !== undefined) return only(lacking);
  let gpu: WebEngine;
  let found: Trial;
  const { tried } = await import("./trial.ts"); // most pages have no second device to try
  const expected = await tried(deviceOn(wasm, options, { chosen: "wasm", why: "", measured: [] }), { clock, size });
  try {
    gpu = await webgpuEngine(options);
    found = await tried(deviceOn(gpu, options, { chosen: "webgpu", why: "", measured: [] }), {
      clock,
      size,
      hopeless: 3 * expected.msPerStep,
    });
  } catch (error) {
    return only(error instanceof Error ? error.message : String(error));
  }
  const choice = chosenOf(expected, found);
  return deviceOn(choice.chosen === "wasm" ? wasm : gpu, options, choice);
}

/** Which of the two, by what they made of the same training. */
export function chosenOf(wasm: Trial, webgpu: Trial): Pick<WebDevice["report"], "chosen" | "why" | "measured"> {
  const gap = gapOf(wasm, webgpu);
  const [slow, quick] = [wasm.msPerStep, webgpu.msPerStep].map((ms) => `${ms.toFixed(1)} ms`);
  const told = `a small training step takes ${quick} on WebGPU and ${slow} in WebAssembly`;
  const agrees = gap.loss <= tolerances.loss && gap.gradient <= tolerances.gradient;
  const reason = `its losses are ${gap.loss.toExponential(1)} off those of WebAssembly, its gradients ${gap.gradient.toExponential(1)}`;
  const measured: readonly Measured[] = [
    { device: "wasm", msPerStep: wasm.msPerStep },
    { device: "webgpu", msPerStep: webgpu.msPerStep, gap, ...(!agrees && { reason }) },
  ];
  if (!agrees) return { chosen: "wasm", why: `WebGPU is not trusted here: ${reason}`, measured };
  return { chosen: webgpu.msPerStep < wasm.msPerStep ? "webgpu" : "wasm", why: told, measured };
}

/** Why there is no GPU that is worth a trial, if there is none. */
async function whyNoGpu(software: boolean): Promise<string | undefined> {
  if (!globalThis.navigator?.gpu) return "this browser has none, or the page is not in a secure context";
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) return "the browser found no adapter";
  const { vendor, architecture, description, isFallbackAdapter } = adapter.info;
  const about = [vendor, architecture, description].filter(Boolean).join(" ");
  const isProgram = isFallbackAdapter || /swiftshader|llvmpipe|lavapipe|software|basic render/i.test(about);
  return isProgram && !software ? `its adapter is a program, not a chip (${about})` : undefined;
}
