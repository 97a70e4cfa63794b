import type { WeightFile } from "../disk/weight-file.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { CompileOptions } from "../runtime/compile.ts";
import { quantiseGraph } from "../weights/quantise.ts";

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
