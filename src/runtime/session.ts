import type { HostArray } from "../base/arrays.ts";
import type { Target } from "../graph/target.ts";

export interface SessionOptions {
  /** As in `Device`. */
  readonly providers?: readonly string[];
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
}

export type Arrays = Readonly<Record<string, HostArray>>;

/** One ONNX model, ready to run. */
export interface Session {
  /** Computes. An array in `into` is filled in place and must have exactly the output's shape; the other outputs are new. */
  run(feeds: Arrays, outputs: readonly string[], into?: Arrays): Promise<Record<string, HostArray>>;
  endProfiling(): void;
  /** Gives back its memory. It cannot run after that. */
  release(): Promise<void>;
}

/** What computes: ONNX Runtime in Node, or in a web page. Models are written for what it can do. */
export interface Engine extends Target {
  createSession(model: Uint8Array, options?: SessionOptions): Promise<Session>;
}
