import type { TypedArray } from "../base/arrays.ts";
import { EngineError } from "../base/errors.ts";
import { Queue } from "../base/turns.ts";
import { emptyModel, message } from "../runtime/provider.ts";

// onnxruntime-web is loaded when it is first needed, from a folder that the app serves: nothing of it is in a bundle of ours, and nothing of it has to be
// allowed beside scripts of the page's own origin and WebAssembly.

/** What is used of onnxruntime-web. Spelled out, because whoever installs qkv for Node has none of its types. */
export interface OnnxRuntime {
  readonly env: {
    readonly wasm: { numThreads?: number; proxy?: boolean; wasmPaths?: unknown };
    readonly webgpu: { readonly device: Promise<LosableDevice> };
    readonly versions: { readonly web?: string; readonly common: string };
  };
  readonly InferenceSession: { create(model: Uint8Array, options?: object): Promise<OrtSession> };
  readonly Tensor: new (type: "float32", data: Float32Array, dims: readonly number[]) => OrtTensor;
}

export interface OrtSession {
  run(feeds: Readonly<Record<string, OrtTensor>>, fetches: readonly string[]): Promise<Readonly<Record<string, OrtTensor>>>;
  release(): Promise<void>;
  endProfiling(): void;
}

export interface OrtTensor {
  readonly type: string;
  readonly dims: readonly number[];
  /** Where it is: "cpu" or "gpu-buffer". */
  readonly location: string;
  readonly data: unknown;
  dispose(): void;
}

/** As much of a GPUDevice as is asked for here. */
interface LosableDevice {
  readonly lost: Promise<{ readonly reason?: string; readonly message: string }>;
  readonly limits: { readonly maxBufferSize: number; readonly maxStorageBufferBindingSize: number };
}

/** Builds of onnxruntime-web: their module and, without its ending, their WebAssembly. */
const builds = {
  wasm: { module: "ort.wasm.min.mjs", binary: "ort-wasm-simd-threaded" },
  webgpu: { module: "ort.webgpu.min.mjs", binary: "ort-wasm-simd-threaded.asyncify" },
} as const;

export type Build = keyof typeof builds;

/** The files of onnxruntime-web's folder `dist` that are loaded, of all builds. */
export const buildFiles: readonly string[] = Object.values(builds).flatMap(({ module, binary }) => [
  module,
  `${binary}.mjs`,
  `${binary}.wasm`,
]);

export interface LoadOptions {
  /** The address of the folder `dist` of onnxruntime-web; or what its module exports, where a bundler has brought it. */
  readonly onnxruntime: string | URL | OnnxRuntime;
  /** Threads of WebAssembly: all cores but one if left out. The first who loads a module decides for all. */
  readonly threads?: number;
}

/** A module that is ready. */
export interface Loaded {
  readonly ort: OnnxRuntime;
  readonly threads: number;
  /** Why so many threads. */
  readonly reason: string;
  /** One call at a time: code that was made to wait for a GPU cannot be entered twice. */
  readonly calls: Queue;
}

const modules = new Map<string, Promise<OnnxRuntime>>();
const ready = new WeakMap<OnnxRuntime, Promise<Loaded>>();

/** The addresses of what a build is loaded from: its module, the script of its threads, its WebAssembly. */
export function addressesOf(folder: string | URL, build: Build): { readonly module: string; readonly mjs: string; readonly wasm: string } {
  const base = new URL(String(folder).replace(/\/*$/, "/"), globalThis.location?.href);
  const { module, binary } = builds[build];
  const at = (name: string) => new URL(name, base).href;
  return { module: at(module), mjs: at(`${binary}.mjs`), wasm: at(`${binary}.wasm`) };
}

/** Loads a build, once. */
export async function loadOnnxRuntime(build: Build, { onnxruntime, threads }: LoadOptions): Promise<Loaded> {
  const given = typeof onnxruntime === "object" && "InferenceSession" in onnxruntime;
  const ort = given ? onnxruntime : await imported(onnxruntime, build);
  const before = ready.get(ort);
  if (before) {
    const found = await before;
    if (threads === undefined || threads === found.threads) return found;
    return { ...found, reason: `ONNX Runtime was loaded with ${found.threads} before, and the number cannot change` };
  }
  const loading = prepared(ort, threads);
  ready.set(ort, loading);
  loading.catch(() => ready.delete(ort));
  return loading;
}

async function imported(folder: string | URL, build: Build): Promise<OnnxRuntime> {
  const { module, mjs, wasm } = addressesOf(folder, build);
  const loading =
    modules.get(module) ??
    (import(/* @vite-ignore */ /* webpackIgnore: true */ module) as Promise<OnnxRuntime & { readonly default?: OnnxRuntime }>).then(
      (exported) => {
        const ort = exported.InferenceSession ? exported : (exported.default as OnnxRuntime);
        ort.env.wasm.wasmPaths = { mjs, wasm }; // else every thread would load the script of the worker that it is made in
        return ort;
      },
    );
  modules.set(module, loading);
  try {
    return await loading;
  } catch (error) {
    modules.delete(module);
    throw missing(module, error);
  }
}

async function prepared(ort: OnnxRuntime, asked: number | undefined): Promise<Loaded> {
  const { threads, reason } = threadsFor(asked);
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.proxy = false; // whoever computes is in a worker already
  try {
    await (await ort.InferenceSession.create(emptyModel(), { graphOptimizationLevel: "disabled", logSeverityLevel: 4 })).release();
  } catch (error) {
    throw missing("its WebAssembly", error);
  }
  return { ort, threads, reason, calls: new Queue() };
}

const missing = (what: string, error: unknown): EngineError =>
  new EngineError(
    `onnxruntime-web could not be loaded: ${what}: ${message(error)}; serve its folder dist and give its address as { onnxruntime }`,
    { code: "engine.missing", cause: error },
  );

/** More threads than this rarely pay for small models. */
const mostThreads = 8;

/** How many threads there are, and why. Threads wait by spinning, so one core is left to the page unless all are asked for. */
export function threadsFor(
  asked: number | undefined,
  isolated = globalThis.crossOriginIsolated === true,
  cores = globalThis.navigator?.hardwareConcurrency ?? 1,
): { readonly threads: number; readonly reason: string } {
  if (asked !== undefined && !(Number.isInteger(asked) && asked >= 1))
    throw new EngineError(`threads must be a whole number from 1 on, not ${asked}`);
  if (asked === 1) return { threads: 1, reason: "as asked" };
  if (!isolated)
    return {
      threads: 1,
      reason:
        "the page is not cross-origin isolated, and memory is not shared then; for threads serve it with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp",
    };
  if (asked === undefined)
    return { threads: Math.max(1, Math.min(mostThreads, cores - 1)), reason: `of ${cores} cores one is left to the page` };
  return asked <= cores ? { threads: asked, reason: "as asked" } : { threads: cores, reason: `there are ${cores} cores` };
}

/** A tensor around an array. */
export const tensorOf = (ort: OnnxRuntime, dtype: string, data: TypedArray, shape: readonly number[]): OrtTensor =>
  new ort.Tensor(dtype as "float32", data as Float32Array, shape);
