import { GraphError } from "../base/errors.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";

/**
 * Puts the numbers of a trained model into another of the same shape. A parameter may have grown along its first axis, as an output layer
 * does for new labels: its first rows are the ones that it had, and the others stay as they are.
 */
export function carryOver(into: ParameterBuffer, from: ParameterBuffer): void {
  for (const { name, shape, offset } of into.layout.entries) {
    const { shape: known, data } = from.view(name);
    const fits = known.length === shape.length && known.every((size, axis) => (axis === 0 ? size <= shape[0] : size === shape[axis]));
    if (!fits) throw new GraphError(`the parameter "${name}" is [${known}] and cannot become [${shape}]: only its first axis may grow`);
    into.data.set(data as Float32Array, offset);
  }
}
