import { fromBinary } from "@bufbuild/protobuf";
import type { DType, HostArray, TypedArray } from "../base/arrays.ts";
import { EngineError } from "../base/errors.ts";
import { pause } from "../base/turns.ts";
import type { Feature } from "../graph/target.ts";
import { ModelProtoSchema } from "../onnx/onnx_pb.ts";
import { emptyModel, message, refusedBy, targetOf, webgpu } from "../runtime/provider.ts";
import { type Arrays, type DeviceArray, type Engine, type Feeds, isHeld, type Session, type SessionOptions } from "../runtime/session.ts";
import { type Loaded, type LoadOptions, loadOnnxRuntime, type OrtSession, type OrtTensor, tensorOf } from "./onnxruntime.ts";

// ONNX Runtime in a web page, in WebAssembly or on WebGPU. It belongs into a worker: a run holds its thread until it is done.

export interface WebEngineOptions extends LoadOptions {
  /** Reads a file of weights that a model names, by its whole path; a page has no folders, so without it such models are refused. */
  readonly readFile?: (path: string) => Uint8Array | Promise<Uint8Array>;
}

export interface WebEngine extends Engine {
  /** How many threads compute, and why so many. */
  readonly threads: number;
  readonly reason: string;
  /** Which ONNX Runtime it is. */
  readonly version: string;
  /** Bytes that may still be taken. */
  readonly memory: () => number;
}

/**
 * What WebAssembly has no good kernel for. Products with weights of few bits are there, but turn all weights into float32 again for every token, which takes many
 * times as long as weights that are float32 from the beginning: so they are refused. Outputs are never left in buffers of ours.
 */
const lackedByWasm: readonly Feature[] = ["few-bit-products", "outputs-in-place"];

/** ONNX Runtime in WebAssembly, with threads where the page may have them. */
export async function wasmEngine(options: WebEngineOptions): Promise<WebEngine> {
  return wasmIn(await loadOnnxRuntime("wasm", options), options, "wasm");
}

function wasmIn(loaded: Loaded, { readFile }: WebEngineOptions, name: string): WebEngine {
  const room = new Room();
  return {
    name,
    ...aboutOf(loaded),
    can: (feature) => !lackedByWasm.includes(feature) && (feature !== "external-data" || readFile !== undefined),
    memory: () => room.left,
    createSession: (model, options = {}) =>
      loaded.calls.run(async () => {
        const files = await externalData(model, options, readFile);
        const bytes = model.length + files.reduce((sum, { data }) => sum + data.length, 0);
        room.take(bytes);
        try {
          const session = await loaded.ort.InferenceSession.create(model, { ...ortOptions(options, files), executionProviders: ["wasm"] });
          return new WebSession(loaded, session, { released: () => room.give(bytes) });
        } catch (error) {
          room.give(bytes);
          throw failed(error, "refused the model");
        }
      }),
  };
}

export interface WebgpuEngineOptions extends WebEngineOptions {
  /** Told once if the GPU goes away: its driver was restarted, or the browser took it. Whatever is asked for after that is refused with the same sentence. */
  readonly lost?: (error: EngineError) => void;
}

/** ONNX Runtime on WebGPU. Nothing but sizes that are open is left to the processor: what has no kernel is refused. */
export async function webgpuEngine(options: WebgpuEngineOptions): Promise<WebEngine> {
  if (!globalThis.navigator?.gpu) throw cannotBeUsed("this browser has none, or the page is not in a secure context");
  if (!(await navigator.gpu.requestAdapter())) throw cannotBeUsed("the browser found no adapter");
  const loaded = await loadOnnxRuntime("webgpu", options);
  const { ort, calls } = loaded;
  const executionProviders = [{ name: webgpu.name, ...webgpu.options }];
  const fate = new Fate();
  const { readFile } = options;
  const create = async (model: Uint8Array, given: SessionOptions): Promise<Session> => {
    const files = await externalData(model, given, readFile);
    const { extra, ...rest } = ortOptions(given, files);
    const { keep = [], openSizes } = given;
    const session = await ort.InferenceSession.create(model, {
      ...rest,
      executionProviders,
      extra: { session: { ...extra.session, ...(!openSizes && { disable_cpu_ep_fallback: "1" }) } },
      ...(keep.length > 0 && { preferredOutputLocation: Object.fromEntries(keep.map((output) => [output, "gpu-buffer"])) }),
    });
    return new WebSession(loaded, session, { narrows: !engine.can("int64"), fate });
  };
  const engine: WebEngine = {
    ...aboutOf(loaded),
    ...targetOf(webgpu),
    can: (feature) => targetOf(webgpu).can(feature) && (feature !== "external-data" || readFile !== undefined),
    host: wasmIn(loaded, options, "wasm"),
    memory: () => largest,
    createSession: (model, given = {}) =>
      calls.run(async () => {
        fate.check();
        try {
          return await create(model, given);
        } catch (error) {
          fate.check();
          throw refusedBy(webgpu.name, error, (said) => `WebGPU cannot be used here: ${said}`);
        }
      }),
  };
  // What a device knows (compiled shaders) goes with its last session; this one stays. It is also what makes the device.
  await engine.createSession(emptyModel());
  const device = await ort.env.webgpu.device;
  fate.follow(device.lost, options.lost);
  const { maxBufferSize, maxStorageBufferBindingSize } = device.limits;
  // No memory of a GPU is told to a page, but how large one tensor may be; of what is asked for, the largest tensor is a third.
  const largest = Math.min(wholeMemory, 3 * Math.min(maxBufferSize, maxStorageBufferBindingSize));
  return engine;
}

const aboutOf = ({ ort: { env }, threads, reason }: Loaded): Pick<WebEngine, "threads" | "reason" | "version"> => ({
  threads,
  reason,
  version: env.versions.web ?? env.versions.common,
});

const cannotBeUsed = (why: string): EngineError => new EngineError(`WebGPU cannot be used here: ${why}`, { code: "engine.device" });

/** What 32 bits can address. */
const wholeMemory = 4 * 2 ** 30;
/** Of ONNX Runtime itself, and what is lost between allocations. */
const reserve = 2 ** 28;

/** The memory of WebAssembly: at most 4 GiB, and no more than the machine says that it has. Models that are alive are counted; the rest is for what they compute. */
class Room {
  readonly #whole: number;
  #taken = 0;

  constructor() {
    const told = (globalThis.navigator as { readonly deviceMemory?: number } | undefined)?.deviceMemory ?? 4; // GiB, rounded
    this.#whole = Math.min(wholeMemory, told * 2 ** 30);
  }

  get left(): number {
    return Math.max(0, this.#whole - reserve - this.#taken);
  }

  /** The model's bytes and, while it is read, a second time. */
  take(bytes: number): void {
    if (2 * bytes > this.left)
      throw new EngineError(
        `a model of ${bytes.toLocaleString("en")} bytes is held twice while it is read, and of the memory of WebAssembly ${this.left.toLocaleString("en")} bytes are left; use a smaller model`,
        { code: "memory" },
      );
    this.#taken += bytes;
  }

  give(bytes: number): void {
    this.#taken -= bytes;
  }
}

/** Whether a GPU is still there. */
class Fate {
  #error: EngineError | undefined;
  #lost: Promise<never> | undefined;

  follow(lost: Promise<{ readonly reason?: string; readonly message: string }>, tell?: (error: EngineError) => void): void {
    this.#lost = lost.then(({ reason, message: said }) => {
      this.#error = new EngineError(
        `the GPU was lost (${said || (reason ?? "no reason was given")}); what was computed on it is gone: go on from the last save, on wasm or after a reload`,
        { code: "engine.device" },
      );
      tell?.(this.#error);
      throw this.#error;
    });
    this.#lost.catch(() => {});
  }

  check(): void {
    if (this.#error) throw this.#error;
  }

  /** The result, or that the GPU was lost before there was one. */
  withheld<Result>(work: Promise<Result>): Promise<Result> {
    return this.#lost ? Promise.race([work, this.#lost]) : work;
  }
}

interface MountedFile {
  readonly path: string;
  readonly data: Uint8Array;
}

/** The files that a model names, under the names that it has for them. */
async function externalData(
  model: Uint8Array,
  { folder }: SessionOptions,
  readFile: WebEngineOptions["readFile"],
): Promise<readonly MountedFile[]> {
  if (folder === undefined || !readFile) return [];
  const { graph } = fromBinary(ModelProtoSchema, model);
  const tensors = graph?.initializer ?? [];
  const names = new Set(
    tensors.flatMap(({ externalData: entries }) => entries.filter(({ key }) => key === "location").map(({ value }) => value)),
  );
  return Promise.all([...names].map(async (path) => ({ path, data: await readFile(folder === "" ? path : `${folder}/${path}`) })));
}

/**
 * WebAssembly has no way to count numbers that are too small for full precision as zero, so `denormals` changes nothing here; and threads are those that ONNX
 * Runtime was loaded with.
 */
function ortOptions({ profile }: SessionOptions, externalData: readonly MountedFile[]) {
  return {
    // Our own lowering does the fusing; the optimiser would undo some of it.
    graphOptimizationLevel: "disabled" as const,
    // Memory that is planned ahead in one piece is off here, as ONNX Runtime has it in a page: with it a large model takes half as much memory again (W2: 899 MiB for 613).
    logSeverityLevel: 4 as const, // failures come back as errors; ONNX Runtime need not print them too
    ...(profile !== undefined && { enableProfiling: true }), // it goes to the console
    ...(externalData.length > 0 && { externalData }),
    extra: { session: { disable_quant_qdq: "1" } as Record<string, string> }, // as in node/engine.ts
  };
}

/** What WebAssembly throws when it has no memory left, or has come to grief for another reason; a number is an exception of C++. */
const exhausted = /bad_alloc|out of memory|OOM|Array buffer allocation|memory\.grow|failed to allocate|cannot enlarge memory/i;
const broken = /^Aborted|out of bounds|unreachable|null function|table index/;

function failed(error: unknown, what: string): EngineError {
  if (error instanceof EngineError) return error;
  const said = message(error);
  if (exhausted.test(said) || typeof error === "number")
    return new EngineError(
      `ONNX Runtime ${what}: its WebAssembly has no memory left (${said}); give it a smaller model, shorter texts, or fewer at once`,
      { code: "memory", cause: error },
    );
  if (broken.test(said))
    return new EngineError(`ONNX Runtime ${what}: its WebAssembly broke off (${said}); begin again in a new worker`, { cause: error });
  return new EngineError(`ONNX Runtime ${what}: ${said}`, { cause: error });
}

interface SessionSetting {
  /** Whether whole numbers of 64 bits are fed as such of 32. */
  readonly narrows?: boolean;
  readonly fate?: Fate;
  readonly released?: () => void;
}

class WebSession implements Session {
  readonly #loaded: Loaded;
  readonly #setting: SessionSetting;
  #session: OrtSession | undefined;
  /** Tensors around arrays that come again, such as weights. */
  readonly #wrapped = new WeakMap<HostArray, OrtTensor>();

  constructor(loaded: Loaded, session: OrtSession, setting: SessionSetting) {
    this.#loaded = loaded;
    this.#session = session;
    this.#setting = setting;
  }

  async run(feeds: Feeds, outputs: readonly string[], into: Arrays = {}): Promise<Record<string, HostArray>> {
    await pause(); // a run holds the thread: whoever has written to this worker is heard before it
    return this.#loaded.calls.run(async () => {
      const session = this.#session;
      if (!session) throw new EngineError("this session was released and cannot run again; create another");
      const { fate } = this.#setting;
      fate?.check();
      try {
        const ortFeeds: Record<string, OrtTensor> = {};
        for (const name in feeds) {
          const x = feeds[name];
          ortFeeds[name] = isHeld(x) ? (x as HeldTensor).tensor : this.#wrap(x);
        }
        const running = session.run(ortFeeds, outputs);
        const results = await (fate ? fate.withheld(running) : running);
        return Object.fromEntries(outputs.map((name) => [name, received(results[name], into[name])]));
      } catch (error) {
        fate?.check();
        throw failed(error, "could not run the model");
      }
    });
  }

  endProfiling(): void {
    this.#session?.endProfiling();
  }

  async release(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    if (!session) return;
    this.#setting.released?.();
    await this.#loaded.calls.run(() => session.release());
  }

  #wrap(x: HostArray): OrtTensor {
    const found = this.#wrapped.get(x);
    if (found) return found;
    const { ort } = this.#loaded;
    const tensor =
      this.#setting.narrows && x.dtype === "int64"
        ? tensorOf(ort, "int32", Int32Array.from(x.data as BigInt64Array, Number), x.shape)
        : tensorOf(ort, x.dtype, x.data, x.shape);
    this.#wrapped.set(x, tensor);
    return tensor;
  }
}

/** An output, in the array that was given for it; one that stays on the GPU is a `DeviceArray`, and whoever asked for it knows. */
function received(x: OrtTensor, place: HostArray | undefined): HostArray {
  if (x.location !== "cpu") return new HeldTensor(x) as DeviceArray as unknown as HostArray;
  if (!place) return { dtype: x.type as DType, shape: x.dims, data: x.data as TypedArray };
  (place.data as Float32Array).set(x.data as Float32Array);
  return place;
}

/** An output that stayed on the GPU. */
class HeldTensor implements DeviceArray {
  readonly place = "device";
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly tensor: OrtTensor;

  constructor(tensor: OrtTensor) {
    this.tensor = tensor;
    this.dtype = tensor.type as DType;
    this.shape = tensor.dims;
  }

  release(): void {
    this.tensor.dispose();
  }
}
