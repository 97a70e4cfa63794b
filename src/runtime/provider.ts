import { EngineError } from "../base/errors.ts";
import type { Wording } from "../base/sentence.ts";
import { buildGraph, tensorFunction } from "../graph/graph.ts";
import { type Feature, standardFeatures } from "../graph/target.ts";
import { float32 } from "../graph/type.ts";
import { emitOnnx } from "../onnx/emit.ts";
import type { Engine } from "./session.ts";

// What ONNX Runtime has beside the processor, in Node and in a page alike.

/** What runs remember as what they were trained on: the processor, or one of the providers. */
export const deviceNames = ["cpu", "cuda", "webgpu", "dml", "coreml"] as const;
export type DeviceName = (typeof deviceNames)[number];
/** What may be asked for: one of them, or whichever multiplies matrices fastest here. */
export const deviceChoices = [...deviceNames, "auto"] as const;
export type DeviceChoice = (typeof deviceChoices)[number];

/** What is known of an execution provider. */
export interface Provider {
  readonly name: string;
  /** Features that it has beside the standard's, and those of the standard that it has not. */
  readonly has?: readonly Feature[];
  readonly lacks: readonly Feature[];
  /** Whether the binding can leave outputs in its memory. */
  readonly holds: boolean;
  /** Its own options. */
  readonly options?: Readonly<Record<string, string>>;
}

/** What ONNX Runtime 1.30 has kernels for on WebGPU, tried op by op. */
export const webgpu: Provider = {
  name: "webgpu",
  lacks: ["float64", "int64", "log-softmax", "byte-comparisons", "logical-or", "many-parts", "truths-moved", "scans"],
  holds: true,
  // Else the graph is turned to channels-last on the way in, optimiser off or not, with transposes that WebGPU has no kernel for.
  options: { preferredLayout: "NCHW" },
};

/**
 * How models are written for a provider. Kernels of devices are looked up by the version in which an operator last changed, and many are not registered
 * for opset 22 and later, so models for them are written in 21.
 */
export const targetOf = ({ name, has = [], lacks, holds }: Provider): Pick<Engine, "name" | "opset" | "holds" | "can"> => ({
  name,
  opset: 21,
  holds,
  can: (feature) => has.includes(feature) || (standardFeatures.has(feature) && !lacks.includes(feature)),
});

/** The smallest model that there is: a number that is handed on. */
export const emptyModel = (): Uint8Array =>
  emitOnnx(buildGraph(tensorFunction({ x: float32([1]) }, (_, { x }) => ({ y: x }))), { opset: 21 });

/** What a provider says when it does not take a model; `advice` ends the sentence when it cannot be used at all. */
export function refusedBy(device: string, error: unknown, advice: (said: string) => Wording): EngineError {
  const said = message(error);
  if (said.includes("assigned to the default CPU EP"))
    return new EngineError(`${device} lacks an operator of the model, which is refused rather than computed elsewhere`, {
      code: "engine.elsewhere",
      cause: error,
    });
  if (/adapter|backend|is unsupported|provider|device|library|driver/i.test(said))
    return new EngineError(advice(withoutPlace(said)), { code: "engine.device", cause: error });
  return new EngineError(`ONNX Runtime refused the model for ${device}: ${said}`, { cause: error });
}

/** What ONNX Runtime says, without the line of its own source. */
export const withoutPlace = (said: string): string => said.replace(/^.*\bwas false\.\s*/, "").replace(/^\/\S+:\d+ [^\n]*?\) /, "");

/** The first line of what was thrown. */
export const message = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split("\n")[0];
