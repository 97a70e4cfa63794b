import type { CompileOptions } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { quantiseGraph } from "../weights/quantise.ts";
import type { Weights } from "../weights/weights.ts";

const bitsOf = { q8: 8, q4: 4 } as const;

/** Compiles with weights baked in, in the precision of the device: faster for use, and fixed. */
export function baked(weights: Weights, device: Device): Pick<CompileOptions, "device" | "weights" | "folder" | "rewrite"> {
  const { precision = "f32" } = device;
  const sources = { device, weights: (name: string) => weights.source(name), folder: weights.folder };
  if (precision === "f32") return sources;
  return { ...sources, rewrite: (graph) => quantiseGraph(graph, bitsOf[precision], (name) => weights.numbers(name)) };
}
