import { expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { float32 } from "../../src/graph/type.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { matmul, rowsProduct } from "../../src/ops/products.ts";
import { compile } from "../../src/runtime/compile.ts";

// The gradient of a weight is a product of rows. Which side of it is turned is a matter of speed: the bits stay what they are, at sizes that are split over threads.

const device = nodeDevice({ threads: 8 });

it.each([
  [1024, 768, 256],
  [1024, 512, 256],
  [2048, 384, 384],
  [1024, 300, 256],
  [1023, 768, 256],
  [1024, 768, 128],
])("%d rows of %d and %d numbers", async (rows, left, right) => {
  const inputs = { x: float32([rows, left]), y: float32([rows, right]) };
  const fn = tensorFunction(inputs, (_, { x, y }) => ({ product: rowsProduct(x, y), plain: matmul(x, y, { transposeA: true }) }));
  const random = (width: number, seed: number) =>
    array(
      "float32",
      Float32Array.from({ length: rows * width }, (_, i) => chance(seed).normal(i)),
      [rows, width],
    );
  const compiled = compile(fn, { device });
  const { product, plain } = await compiled.run({ x: random(left, 1), y: random(right, 2) });
  await compiled.release();
  expect(product.shape).toEqual([left, right]);
  expect(Buffer.from(product.data.buffer).equals(Buffer.from(plain.data.buffer))).toBe(true);
});
