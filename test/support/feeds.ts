import { array, type HostArray } from "../../src/base/arrays.ts";
import { type Architecture, modelLoss } from "../../src/models/any.ts";
import type { Sizes } from "../../src/runtime/feeds.ts";

/** Something to train on for a small model: ids below 20, classes below 3, and texts of the lengths that are said. */
export function trainingFeeds(model: Architecture, sizes: Sizes, lengthOf: (row: number) => number): Record<string, HostArray> {
  return Object.fromEntries(
    Object.entries(modelLoss(model).inputs).map(([name, { shape }]) => {
      const dims = shape.map((dim) => dim.bind(sizes).known);
      const most = name === "targets" && model.model === "encoder" ? 3 : 20;
      const value = (i: number) => (name === "lengths" ? lengthOf(i) : (i * 7 + name.length) % most);
      const data = Int32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => value(i));
      return [name, array("int32", data, dims)];
    }),
  );
}
