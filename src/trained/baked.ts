import type { WeightFile } from "../disk/weight-file.ts";
import { buildGraph } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type ModelConfig, modelLoss } from "../models/any.ts";
import type { CompileOptions } from "../runtime/compile.ts";
import { fewestInputs, matricesOf, quantiseGraph } from "../weights/quantise.ts";

/** How weights are kept: as they were trained, or rounded to 8 or 4 bits with a scale for every 32. */
export const precisions = ["f32", "q8", "q4"] as const;
export type Precision = (typeof precisions)[number];

const bitsOf = { q8: 8, q4: 4 } as const;

/** Compiles with weights baked in: faster for use, and fixed. */
export function baked(
  weights: ParameterBuffer | WeightFile,
  precision: Precision = "f32",
): Pick<CompileOptions, "weights" | "folder" | "rewrite"> {
  const numbers = "views" in weights ? (name: string) => weights.view(name).data as Float32Array : weights.numbers;
  const sources = "views" in weights ? { weights } : { weights: weights.source, folder: weights.folder };
  if (precision === "f32") return sources;
  return { ...sources, rewrite: (graph) => quantiseGraph(graph, bitsOf[precision], numbers) };
}

/** What is to be said of a model that rounding changes only in part, or not at all: a sentence, or none. */
export function unrounded(model: ModelConfig, precision: Precision = "f32"): string[] {
  if (precision === "f32") return [];
  if (model.model === "encoder") return [`${precision} is for models that write; this one is used with its weights as they are`];
  const fn = modelLoss(model, { training: false });
  const symbols = Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols));
  const { all, narrow } = matricesOf(buildGraph(fn, { bind: Object.fromEntries(symbols.map((symbol) => [symbol, 1])) }));
  const reason = `have fewer than ${fewestInputs} inputs and stay as they are`;
  if (narrow.length === 0) return [];
  if (narrow.length < all.length) return [`${precision}: ${narrow.length} of ${all.length} weight matrices ${reason}`];
  return [`${precision} changes nothing: all ${all.length} weight matrices ${reason}`];
}
