import type { DType } from "../base/arrays.ts";
import { Dim } from "../graph/dim.ts";
import type { Emitter, Loop, Value } from "../graph/emitter.ts";

// Loops, for targets that have none.

/** All steps of a loop one after the other. */
export function unrolled(to: Emitter, { time, backward, carry, scanned, outputs, step }: Loop): Value[] {
  const count = time.knownFor(`a loop on ${to.target.name}, which has none,`);
  const one = Dim.of(1);
  const cut = scanned.map(({ value, type }) => {
    const asNumbers = type.dtype === "bool" && !to.target.can("truths-moved"); // as where other ops move truths
    const cast = (x: Value, dtype: DType) => (asNumbers ? to.node("Cast", [x], { to: to.typeNumber(dtype) }) : x);
    const all = cast(value, "float32");
    return Array.from({ length: count }, (_, t) => {
      const slice = to.node("Slice", [all, to.integers([t]), to.integers([t + 1]), to.integers([0])]);
      return cast(to.reshape(slice, [one, ...type.shape], type.shape), "bool");
    });
  });
  const given: Value[][] = outputs.map(() => new Array(count));
  let state = carry.map(({ start }): Value => start);
  for (let i = 0; i < count; i++) {
    const t = backward ? count - 1 - i : i;
    const made = step(
      state,
      cut.map((parts) => parts[t]),
    );
    state = [...made.carry];
    for (const [k, value] of made.outputs.entries()) given[k][t] = to.reshape(value, outputs[k].shape, [one, ...outputs[k].shape]);
  }
  return [...state, ...given.map((parts) => to.node("Concat", parts, { axis: 0 }))];
}
