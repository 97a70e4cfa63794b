import type { TypedArray } from "../base/arrays.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { WeightSource } from "../onnx/emit.ts";

/** The numbers of a model, wherever they lie. */
export interface Weights {
  /** Those of one parameter. */
  numbers(name: string): Float32Array;
  /** Where an engine finds those of one parameter by itself, when they are baked in. */
  source(name: string): WeightSource;
  /** The folder of sources that lie in files. */
  readonly folder?: string;
  /** All of them in one flat buffer, made when it is first asked for: what feeds weights, feeds this. */
  readonly buffer: ParameterBuffer;
  /** Puts other numbers where an engine finds them, under a name; of weights that lie in a file of their own there is no such place. */
  keep?(name: string, make: () => TypedArray): WeightSource;
  /** Of a model from outside: tensors of its files that it does not read, by their names there. */
  readonly unread?: ReadonlyMap<string, Unread>;
  /** Removes what was put on the disk for an engine; it is made again when it is asked for. */
  release?(): void;
}

export interface Unread {
  readonly shape: readonly number[];
  numbers(): Float32Array;
}

/** Weights in memory. */
export function weightsInMemory(buffer: ParameterBuffer): Weights {
  const numbers = (name: string) => buffer.view(name).data as Float32Array;
  return { numbers, source: (name) => ({ kind: "inline", data: numbers(name) }), buffer };
}
