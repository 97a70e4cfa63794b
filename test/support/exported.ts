import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { chance } from "../../src/base/chance.ts";
import type { ParameterBuffer } from "../../src/graph/parameters.ts";
import { type ModelConfig, type ModelInput, modelConfig, modelLoss } from "../../src/models/any.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import type { TrainedModel } from "../../src/trained/trained.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { idsOnly, inMemory } from "./trained-model.ts";

// Exported files as somebody else runs them: ONNX Runtime with its own optimiser and nothing of ours.

export type Fed = Readonly<Record<string, Tensor>>;

export async function sessionOf(folder: string, name = "model"): Promise<InferenceSession> {
  return InferenceSession.create(join(folder, "onnx", `${name}.onnx`), { intraOpNumThreads: 1, logSeverityLevel: 3 });
}

export const longs = (rows: readonly (readonly number[])[]): Tensor =>
  new Tensor("int64", BigInt64Array.from(rows.flat(), BigInt), [rows.length, rows[0]?.length ?? 0]);

/** A cache with nothing in it, by the names and shapes that the file says; what is open is 0, beside the rows. */
export function emptyCache(session: InferenceSession, rows: number): Record<string, Tensor> {
  const caches = session.inputMetadata.filter(({ name }) => name.startsWith("past_key_values."));
  return Object.fromEntries(
    caches.map((input) => {
      if (!input.isTensor) throw new Error(`${input.name} is no tensor`);
      const shape = input.shape.map((dim) => (dim === "batch_size" ? rows : typeof dim === "number" ? dim : 0));
      return [input.name, new Tensor("float32", new Float32Array(0), shape)];
    }),
  );
}

/** What came out of a cache, to be put in again. */
export const cacheAfter = (results: InferenceSession.ReturnType): Record<string, Tensor> =>
  Object.fromEntries(
    Object.entries(results)
      .filter(([name]) => name.startsWith("present."))
      .map(([name, tensor]) => [name.replace("present", "past_key_values"), tensor as Tensor]),
  );

/** Weights large enough that everything matters, and small enough that numbers stay finite. */
export function lively(model: ModelConfig, amount = 0.2): ParameterBuffer {
  const weights = initialise(parametersOf(modelLoss(model)), chance(5));
  for (const { name, offset, length } of weights.layout.entries) {
    const source = chance(6).fork(name);
    for (let i = 0; i < length; i++) weights.data[offset + i] += amount * source.normal(i);
  }
  return weights;
}

/** A model with such weights and a tokenizer that has ids alone. */
export function livelyModel(given: ModelInput, amount?: number): TrainedModel {
  const model = modelConfig(given);
  return inMemory(model, lively(model, amount), idsOnly({ start: 1, end: 2 }), "labels" in model ? ["a", "b", "c"] : undefined);
}

export const largestGap = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  if (a.length !== b.length) throw new Error(`${a.length} numbers against ${b.length}`);
  let gap = 0;
  for (let i = 0; i < a.length; i++) gap = Math.max(gap, Number.isNaN(a[i] - b[i]) ? Number.POSITIVE_INFINITY : Math.abs(a[i] - b[i]));
  return gap;
};
