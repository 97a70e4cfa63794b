import { expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import type { ParameterLayout } from "../../src/graph/parameters.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { optimizer, optimizerNames } from "../../src/training/optimizers.ts";

// Weights and state beyond the end of a WebAssembly memory pass through one in pieces, and become the same.

const shapes: readonly (readonly number[])[] = [[130, 90], [7], [61, 101], [9000], [3, 5]];
let total = 0;
const entries = shapes.map((shape, i) => {
  const length = shape.reduce((a, b) => a * b, 1);
  total += length;
  const name = i === 2 ? `p${i}/weight` : `p${i}`; // one is a matrix to Muon
  return { name, shape, initialiser: { kind: "zeros" }, part: "other", offset: total - length, length } as const;
});
const layout: ParameterLayout = { dtype: "float32", entries, total };

it.each(optimizerNames)("%s: pieces move weights to the same bits, accumulated and with a part that is frozen", async (name) => {
  const clipped = { beta1: 0.9, beta2: 0.99, weightDecay: 0.1, accumulates: true };
  const run = async (options: object) => {
    const one = optimizer(name, layout, { ...clipped, ...options });
    one.prepare(nodeDevice({ threads: 1 }));
    const source = chance(3);
    for (let i = 0; i < total; i++) one.weights.data[i] = source.normal(i);
    const norms: number[] = [];
    for (const step of [1, 2, 3]) {
      for (const place of ["first", "middle", "last"] as const) {
        const own = source.fork(step).fork(place);
        for (let i = 0; i < one.gradients.data.length; i++) one.gradients.data[i] = own.normal(i);
        one.accumulate(0.3, place);
      }
      norms.push(await one.step(1e-2));
    }
    await one.release();
    return { norms, weights: one.weights.data, state: [...one.state.values()].map(({ data }) => data) };
  };
  for (const freeze of [undefined, ["p1"]]) {
    const [whole, pieces] = [await run({ freeze }), await run({ freeze, memory: 100_000 })];
    expect(pieces.weights).toEqual(whole.weights);
    expect(pieces.state).toEqual(whole.state);
    for (const [i, norm] of whole.norms.entries()) expect(Math.abs(pieces.norms[i] - norm)).toBeLessThan(1e-9 * norm);
  }
});

it("the buffers of pieces are ordinary ones, of any size", () => {
  const small = optimizer("adamw", layout, { memory: 100_000 });
  const usual = optimizer("adamw", layout, {});
  expect(small.weights.data.buffer.byteLength).toBe(4 * total);
  expect(small.gradients.data.buffer).not.toBe(small.weights.data.buffer);
  expect(usual.gradients.data.buffer).toBe(usual.weights.data.buffer);
});
