import { elementCount, emptyArray, type FloatType, type HostArray } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { Graph } from "./graph.ts";
import type { Initialiser } from "./leaves.ts";
import type { Part } from "./place.ts";

/** One trained tensor in the flat buffer. */
export interface ParameterEntry {
  readonly name: string;
  readonly shape: readonly number[];
  readonly initialiser: Initialiser;
  /** The rows of each, where a matrix is several, one above the other: queries, keys and values, or an RNN's gates. */
  readonly stacked?: readonly number[];
  /** What it is a weight of. */
  readonly part: Part;
  /** Position of its first number in the flat buffer. */
  readonly offset: number;
  readonly length: number;
}

/** Where each parameter of a function lives in one flat buffer, in the order of declaration. */
export interface ParameterLayout {
  readonly dtype: FloatType;
  readonly entries: readonly ParameterEntry[];
  /** How many numbers there are in all. */
  readonly total: number;
}

export function parameterLayout(graph: Graph): ParameterLayout {
  let total = 0;
  let dtype: FloatType = "float32";
  const entries = [...graph.parameters].map(([name, tensor]) => {
    const shape = tensor.shape.map((dim) => dim.known);
    const { part, attributes } = tensor.node;
    const { initialiser, stacked } = attributes;
    const entry = { name, shape, initialiser, ...(stacked && { stacked }), part, offset: total, length: elementCount(shape) };
    total += entry.length;
    dtype = tensor.dtype as FloatType;
    return entry;
  });
  return { dtype, entries, total };
}

/** Numbers for every parameter (weights, gradients, moments) in one flat buffer, with a view for each by name. */
export class ParameterBuffer {
  readonly layout: ParameterLayout;
  readonly data: Float32Array | Float64Array;
  readonly views: ReadonlyMap<string, HostArray>;

  constructor(layout: ParameterLayout, data = emptyArray(layout.dtype, layout.total) as Float32Array | Float64Array) {
    if (data.length !== layout.total)
      throw new GraphError(`the parameters take ${layout.total} numbers, and the buffer has ${data.length}`);
    this.layout = layout;
    this.data = data;
    this.views = new Map(
      layout.entries.map(({ name, shape, offset, length }) => [
        name,
        { dtype: layout.dtype, shape, data: data.subarray(offset, offset + length) },
      ]),
    );
  }

  view(name: string): HostArray {
    const found = this.views.get(name);
    if (!found) throw new GraphError(`no parameter is called "${name}"${suggest(name, this.views.keys())}`);
    return found;
  }
}
