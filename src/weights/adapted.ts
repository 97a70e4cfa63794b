import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import type { Weights } from "./weights.ts";

/** Changes the numbers of one parameter in place. */
export type Change = (numbers: Float32Array) => void;

/** Weights of which some are changed on the way, as by an adapter; the others stay where they lie, and the engine reads them from there. */
export function changedWeights(base: Weights, layout: ParameterLayout, changes: ReadonlyMap<string, Change>): Weights {
  const numbers = (name: string): Float32Array => {
    const change = changes.get(name);
    if (!change) return base.numbers(name);
    const own = base.numbers(name).slice();
    change(own);
    return own;
  };
  let buffer: ParameterBuffer | undefined;
  return {
    folder: base.folder,
    numbers,
    source: (name) => (changes.has(name) ? { kind: "inline", data: numbers(name) } : base.source(name)),
    get buffer() {
      if (!buffer) {
        buffer = new ParameterBuffer(layout);
        for (const { name, offset } of layout.entries) buffer.data.set(numbers(name), offset);
      }
      return buffer;
    },
  };
}
