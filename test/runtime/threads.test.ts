import { describe, expect, it } from "vitest";
import { array, type TypedArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { grad } from "../../src/gradients/grad.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { random } from "../../src/graph/samples.ts";
import { float32, int32 } from "../../src/graph/type.ts";
import { compile } from "../../src/node/device.ts";
import { embedding, linear, mul, sum } from "../../src/ops/index.ts";

// Sizes that ONNX Runtime splits over threads, with ids that repeat, against slow sums in plain TypeScript.

const count = 4096;
const width = 96;

function relativeError(found: ArrayLike<number>, wanted: ArrayLike<number>): number {
  let [error, scale] = [0, 0];
  for (let i = 0; i < wanted.length; i++) {
    error = Math.max(error, Math.abs(found[i] - wanted[i]));
    scale = Math.max(scale, Math.abs(wanted[i]));
  }
  return error / scale;
}

const sameBits = (a: { data: TypedArray }, b: { data: TypedArray }): boolean =>
  Buffer.from(a.data.buffer, a.data.byteOffset, a.data.byteLength).equals(Buffer.from(b.data.buffer, b.data.byteOffset, b.data.byteLength));

describe.each([
  ["a small vocabulary, by a one-hot product", 65],
  ["a vocabulary at the limit", 256],
  ["a large vocabulary, by adding row by row", 5000],
])("the gradient of a look-up with repeated ids: %s", (_, vocab) => {
  it("equals the slow sum, with one thread and with two, and is the same in every run", async () => {
    const source = chance(5);
    // half of all ids are one and the same: the worst case for a scatter that runs in parallel
    const ids = Int32Array.from({ length: count }, (_, i) => (i % 2 ? 3 : source.integer(i, vocab)));
    const g = random([count, width], 9);
    const slow = new Float64Array(vocab * width);
    for (let i = 0; i < count; i++) for (let j = 0; j < width; j++) slow[ids[i] * width + j] += g.data[i * width + j] as number;
    const fn = tensorFunction({ table: float32([vocab, width]), ids: int32([count]), g: float32([count, width]) }, (_, inputs) => ({
      gradient: grad(sum(mul(embedding(inputs.table, inputs.ids), inputs.g)), [inputs.table])[0],
    }));
    const feeds = { table: random([vocab, width], 1), ids: array("int32", ids), g };
    const run = compile(fn, { threads: 2 });
    const first = (await run.run(feeds)).gradient.data as Float32Array;
    expect(relativeError(first, slow)).toBeLessThan(1e-5);
    for (let i = 0; i < 10; i++) expect(sameBits((await run.run(feeds)).gradient, { data: first })).toBe(true);
    expect(relativeError((await compile(fn, { threads: 1 }).run(feeds)).gradient.data as Float32Array, slow)).toBeLessThan(1e-5);
  });
});

it("the gradients of a large linear layer equal the slow sums and repeat exactly", async () => {
  const [rows, from, to] = [1024, 80, 72];
  const fn = tensorFunction(
    { x: float32([rows, from]), w: float32([from, to]), b: float32([to]), g: float32([rows, to]) },
    (_, { x, w, b, g }) => {
      const [dx, dw, db] = grad(sum(mul(linear(x, w, b), g)), [x, w, b]);
      return { dx, dw, db };
    },
  );
  const feeds = { x: random([rows, from], 1), w: random([from, to], 2), b: random([to], 3), g: random([rows, to], 4) };
  const { x, w, g } = { x: feeds.x.data as Float32Array, w: feeds.w.data as Float32Array, g: feeds.g.data as Float32Array };
  const slow = { dx: new Float64Array(rows * from), dw: new Float64Array(from * to), db: new Float64Array(to) };
  for (let r = 0; r < rows; r++) {
    for (let j = 0; j < to; j++) {
      slow.db[j] += g[r * to + j];
      for (let i = 0; i < from; i++) {
        slow.dx[r * from + i] += g[r * to + j] * w[i * to + j];
        slow.dw[i * to + j] += g[r * to + j] * x[r * from + i];
      }
    }
  }
  const run = compile(fn, { threads: 2 });
  const first = await run.run(feeds);
  for (const name of ["dx", "dw", "db"] as const) expect(relativeError(first[name].data as Float32Array, slow[name])).toBeLessThan(1e-5);
  for (let i = 0; i < 5; i++) {
    const again = await run.run(feeds);
    for (const name of ["dx", "dw", "db"] as const) expect(sameBits(again[name], first[name])).toBe(true);
  }
});
