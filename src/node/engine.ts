import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import type { DType, HostArray, TypedArray } from "../base/arrays.ts";
import { EngineError } from "../base/errors.ts";
import { call, sentence } from "../base/sentence.ts";
import { sequenceName } from "../onnx/emit.ts";
import { emptyModel, message, type Provider, refusedBy, targetOf } from "../runtime/provider.ts";
import { type Arrays, type DeviceArray, type Engine, type Feeds, isHeld, type Session, type SessionOptions } from "../runtime/session.ts";

type Ort = typeof import("onnxruntime-node");
let loading: Promise<Ort> | undefined;

/** ONNX Runtime inside Node, on the CPU. */
export const nodeEngine: Engine = {
  name: "onnxruntime-node",
  can: () => true, // ONNX Runtime on a CPU has every feature that there is
  createSession: async (model, options = {}) => {
    const ort = await load();
    try {
      return new NodeSession(ort, await ort.InferenceSession.create(model, ortOptions(options)));
    } catch (error) {
      throw new EngineError(`ONNX Runtime refused the model: ${message(error)}`, { cause: error });
    }
  },
};

/** Which ONNX Runtime computes. */
export async function engineVersion(): Promise<string> {
  const { env } = await load();
  return env.versions.node ?? env.versions.common;
}

/**
 * ONNX Runtime inside Node, on a device beside the processor. Whatever no kernel is found for would be given to the CPU; sessions are made so that they are
 * refused then (`session.disable_cpu_ep_fallback`).
 */
export function providerEngine(provider: Provider): Engine {
  const { name, lacks, options: own = {} } = provider;
  const executionProviders = [{ name, ...own }];
  /** What a device knows (its adapter, compiled shaders) goes with its last session; this one stays. */
  let anchor: Promise<unknown> | undefined;
  const anchored = (ort: Ort) => {
    anchor ??= ort.InferenceSession.create(emptyModel(), { ...ortOptions({}), executionProviders });
    return anchor;
  };
  return {
    ...targetOf(provider),
    host: nodeEngine,
    createSession: async (model, options = {}) => {
      const ort = await load();
      const { extra, ...rest } = ortOptions(options);
      const { keep = [], openSizes } = options;
      const strict = { ...(extra?.session as object), ...(!openSizes && { disable_cpu_ep_fallback: "1" }) };
      const kept = Object.fromEntries(keep.map((output) => [output, "gpu-buffer" as const]));
      try {
        await anchored(ort);
        const session = await ort.InferenceSession.create(model, {
          ...rest,
          executionProviders,
          extra: { session: strict },
          ...(keep.length > 0 && { preferredOutputLocation: kept }),
        });
        return new NodeSession(ort, session, { narrows: lacks.includes("int64") });
      } catch (error) {
        throw refusedBy(name, error, (said) => sentence`${name} cannot be used here: ${said}; what can be is told by ${call("devices")}`);
      }
    },
  };
}

async function load(): Promise<Ort> {
  loading ??= import("onnxruntime-node").then(
    (module) => (module as { default?: Ort }).default ?? module,
    (error) => {
      const cure = "npm install onnxruntime-node --ignore-scripts";
      throw new EngineError(`onnxruntime-node could not be loaded (${message(error)}); install it with: ${cure}`, {
        code: "engine.missing",
        cause: error,
      });
    },
  );
  return loading;
}

function ortOptions({ threads, folder, profile, denormals = "zero" }: SessionOptions): InferenceSession.SessionOptions {
  return {
    // Our own lowering does the fusing; the optimiser would undo some of it.
    graphOptimizationLevel: "disabled",
    interOpNumThreads: 1,
    enableMemPattern: false, // a plan of the memory would lie beside that of the first run: half as much again for W2, and no faster
    logSeverityLevel: 4, // failures come back as errors; ONNX Runtime need not print them too
    ...(threads === undefined ? {} : { intraOpNumThreads: threads }),
    ...(profile === undefined ? {} : { enableProfiling: true, profileFilePrefix: profile }),
    extra: {
      session: {
        set_denormal_as_zero: denormals === "zero" ? "1" : "0",
        disable_quant_qdq: "1", // else every reader of what is dequantised gets a copy of the node that does it
        force_spinning_stop: "1", // threads that wait for the next run would take the cores from other sessions
        ...(folder === undefined ? {} : { model_external_initializers_file_folder_path: folder }),
      },
    },
  };
}

class NodeSession implements Session {
  readonly #ort: Ort;
  #session: InferenceSession | undefined;
  /** Tensors around arrays that come again (weights, gradients): wrapping is the slow part of a small run. */
  readonly #wrapped = new WeakMap<HostArray, OrtTensor>();

  /** Whether whole numbers of 64 bits are fed as such of 32. */
  readonly #narrows: boolean;

  constructor(ort: Ort, session: InferenceSession, { narrows = false }: { readonly narrows?: boolean } = {}) {
    this.#ort = ort;
    this.#session = session;
    this.#narrows = narrows;
  }

  async run(feeds: Feeds, outputs: readonly string[], into: Arrays = {}): Promise<Record<string, HostArray>> {
    const session = this.#session;
    if (!session) throw new EngineError("this session was released and cannot run again; create another");
    try {
      const ortFeeds: Record<string, OrtTensor> = {};
      for (const name in feeds) {
        const x = feeds[name];
        ortFeeds[name] = isHeld(x) ? (x as HeldTensor).tensor : this.#wrap(x);
      }
      const fetches: Record<string, OrtTensor | null> = {};
      for (const name of outputs) fetches[name] = into[name] ? this.#wrap(into[name]) : null;
      const inPlace = session.outputNames[0] === sequenceName && outputs.every((name) => into[name]);
      if (inPlace && (await runInPlace(session, ortFeeds, fetches, into[outputs[0]]))) return into as Record<string, HostArray>;
      const results = await session.run(ortFeeds, fetches);
      return Object.fromEntries(outputs.map((name) => [name, into[name] ?? unwrap(results[name] as OrtTensor)]));
    } catch (error) {
      throw new EngineError(`ONNX Runtime could not run the model: ${message(error)}`, { cause: error });
    }
  }

  endProfiling(): void {
    this.#session?.endProfiling();
  }

  async release(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.release();
  }

  #wrap(x: HostArray): OrtTensor {
    const found = this.#wrapped.get(x);
    if (found) return found;
    const tensor =
      this.#narrows && x.dtype === "int64"
        ? new this.#ort.Tensor("int32", Int32Array.from(x.data as BigInt64Array, Number), x.shape)
        : new this.#ort.Tensor(x.dtype as "float32", x.data as Float32Array, x.shape);
    this.#wrapped.set(x, tensor);
    return tensor;
  }
}

/** An output that stayed on the device. The binding cannot read one (to ask it for the numbers ends the process): only sessions can. */
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

/**
 * Runs with every output in a buffer of ours. The binding (1.30) fills these buffers and then copies each of them once more
 * into a new one, which nobody needs, and which costs 5 % of a small training step with the garbage it makes. It stops at an
 * output that is not a tensor, so the model has such a one in front. Gives back false if the buffers were not filled after all.
 */
async function runInPlace(
  session: InferenceSession,
  feeds: InferenceSession.FeedsType,
  fetches: Record<string, OrtTensor | null>,
  first: HostArray,
): Promise<boolean> {
  first.data.fill(Number.NaN as never);
  const untouched = first.data[0];
  try {
    await session.run(feeds, { [sequenceName]: null, ...fetches });
  } catch (error) {
    if (!message(error).startsWith("Non tensor type")) return false; // whatever it is, an ordinary run will say so
  }
  return !Object.is(first.data[0], untouched);
}

/** A kept output is a `DeviceArray`; whoever asked for it knows. */
const unwrap = (x: OrtTensor): HostArray =>
  x.location === "cpu"
    ? { dtype: x.type as DType, shape: x.dims, data: x.data as TypedArray }
    : (new HeldTensor(x) as DeviceArray as unknown as HostArray);
