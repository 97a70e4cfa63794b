import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import type { DType, HostArray, TypedArray } from "../base/arrays.ts";
import { EngineError } from "../base/errors.ts";
import { sequenceName } from "../onnx/emit.ts";
import type { Arrays, Engine, Session, SessionOptions } from "../runtime/session.ts";

type Ort = typeof import("onnxruntime-node");
let loading: Promise<Ort> | undefined;

/** ONNX Runtime inside Node, on the CPU. */
export const nodeEngine: Engine = {
  name: "onnxruntime-node",
  can: () => true, // ONNX Runtime on a CPU has every feature that there is
  async createSession(model, options = {}) {
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
    logSeverityLevel: 4, // failures come back as errors; ONNX Runtime need not print them too
    ...(threads === undefined ? {} : { intraOpNumThreads: threads }),
    ...(profile === undefined ? {} : { enableProfiling: true, profileFilePrefix: profile }),
    extra: {
      session: {
        set_denormal_as_zero: denormals === "zero" ? "1" : "0",
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

  constructor(ort: Ort, session: InferenceSession) {
    this.#ort = ort;
    this.#session = session;
  }

  async run(feeds: Arrays, outputs: readonly string[], into: Arrays = {}): Promise<Record<string, HostArray>> {
    const session = this.#session;
    if (!session) throw new EngineError("this session was released and cannot run again; create another");
    try {
      const ortFeeds: Record<string, OrtTensor> = {};
      for (const name in feeds) ortFeeds[name] = this.#wrap(feeds[name]);
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
    const tensor = new this.#ort.Tensor(x.dtype as "float32", x.data as Float32Array, x.shape);
    this.#wrapped.set(x, tensor);
    return tensor;
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

const unwrap = (x: OrtTensor): HostArray => ({ dtype: x.type as DType, shape: x.dims, data: x.data as TypedArray });
const message = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split("\n")[0];
