import type { TypedArray } from "../base/arrays.ts";
import { buildGraph } from "../graph/graph.ts";
import { modelLoss } from "../models/any.ts";
import type { CompileOptions } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { fewestInputs, matricesOf, quantiseGraph, quantiseLater } from "../weights/quantise.ts";
import type { Weights } from "../weights/weights.ts";
import type { Warn } from "./reading.ts";
import type { TrainedModel, TrainedParts } from "./trained.ts";

const bitsOf = { q8: 8, q4: 4 } as const;

/** Compiles with weights baked in, in the precision of the device: faster for use, and fixed. */
export function baked(weights: Weights, device: Device): Pick<CompileOptions, "device" | "weights" | "folder" | "rewrite"> {
  const { precision = "f32" } = device;
  const sources = { device, weights: (name: string) => weights.source(name), folder: weights.folder };
  if (precision === "f32") return sources;
  const numbers = (name: string) => weights.numbers(name);
  const { keep } = weights;
  if (!keep) return { ...sources, rewrite: (graph) => quantiseGraph(graph, bitsOf[precision], numbers) };
  const rounded = new Map<string, () => TypedArray>();
  const sourceOf = (name: string) => {
    const make = rounded.get(name);
    return make ? keep(name, make) : weights.source(name);
  };
  return {
    ...sources,
    weights: sourceOf,
    rewrite: (graph) => quantiseLater(graph, bitsOf[precision], numbers, (name, make) => rounded.set(name, make)),
  };
}

const told = new WeakSet<TrainedModel>();

/** Says of a model what rounding leaves alone, once: it is true of every text. */
export function warnUnrounded(trained: TrainedModel, warn: Warn): void {
  if (told.has(trained)) return;
  told.add(trained);
  for (const sentence of unrounded(trained)) warn(sentence);
}

/** What is to be said of a model that rounding changes only in part, or not at all: a sentence, or none. */
export function unrounded({ model, device: { precision = "f32" } }: Pick<TrainedParts, "model" | "device">): string[] {
  if (precision === "f32") return [];
  const fn = modelLoss(model, { training: false });
  const symbols = Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols));
  const { all, narrow } = matricesOf(buildGraph(fn, { bind: Object.fromEntries(symbols.map((symbol) => [symbol, 1])) }));
  const reason = `have fewer than ${fewestInputs} inputs and stay as they are`;
  if (narrow.length === 0) return [];
  if (narrow.length < all.length) return [`${precision}: ${narrow.length} of ${all.length} weight matrices ${reason}`];
  return [`${precision} changes nothing: all ${all.length} weight matrices ${reason}`];
}
