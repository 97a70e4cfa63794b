import type { DType, HostArray } from "../base/arrays.ts";
import type { Target } from "../graph/target.ts";

export interface SessionOptions {
  readonly threads?: number;
  /**
   * Numbers too small for full precision (below 1.2e-38) count as 0, unless they are kept. A masked softmax is full of them, and each
   * costs a hundred cycles. The first session of a process decides, and for JavaScript's own numbers (below 2.2e-308) in that thread too.
   */
  readonly denormals?: "zero" | "keep";
  /** A folder in which the model's external data lies. */
  readonly folder?: string;
  /** Record what each operator takes; `endProfiling` writes it to a file with this prefix. */
  readonly profile?: string;
  /** Whether the model computes sizes out of what it is fed: a device leaves these few whole numbers to its host, and nothing else. */
  readonly openSizes?: boolean;
  /** Outputs that stay on the device, for an engine that can keep them there. */
  readonly keep?: readonly string[];
}

export type Arrays = Readonly<Record<string, HostArray>>;

/** Numbers that stay where they were computed: the sessions of the engine read them there. */
export interface DeviceArray {
  readonly place: "device";
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Gives back their memory. Nobody does it by himself. */
  release(): void;
}

export type Feeds = Readonly<Record<string, HostArray | DeviceArray>>;

export const isHeld = (x: HostArray | DeviceArray): x is DeviceArray => "place" in x;

/** One ONNX model, ready to run. */
export interface Session {
  /**
   * Computes. An array in `into` is filled in place and must have exactly the output's shape; the other outputs are new. Those that the session keeps
   * on its device come as `DeviceArray`, and all outputs must be asked for then.
   */
  run(feeds: Feeds, outputs: readonly string[], into?: Arrays): Promise<Record<string, HostArray>>;
  endProfiling(): void;
  /** Gives back its memory. It cannot run after that. */
  release(): Promise<void>;
}

/** What computes: ONNX Runtime in Node, or in a web page. Models are written for what it can do. */
export interface Engine extends Target {
  /** For a device beside the processor: the engine that computes constants once, ahead. All else is computed on the device, or refused. */
  readonly host?: Engine;
  /** Whether outputs can stay on the device, and be fed from there. */
  readonly holds?: boolean;
  createSession(model: Uint8Array, options?: SessionOptions): Promise<Session>;
}
