import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { random } from "../../src/graph/samples.ts";
import { float32, uint8 } from "../../src/graph/type.ts";
import { compile } from "../../src/node/device.ts";
import { type Bits, blockSize, quantisedLinear } from "../../src/ops/quantised.ts";
import { dequantised, quantise } from "../../src/weights/quantise.ts";

describe.each([4, 8] as const)("weights of %i bits", (bits) => {
  it("are within half a step of the numbers they stand for; of the other sign's largest, within one", () => {
    const shapes = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 70 }), fc.nat(1000));
    fc.assert(
      fc.property(shapes, ([out, from, seed]) => {
        const weights = random([out, from], seed).data as Float32Array;
        const rounded = quantise(weights, [out, from], bits);
        const back = dequantised(rounded);
        const blocks = Math.ceil(from / blockSize);
        expect([back.length, rounded.scales.length]).toEqual([out * from, out * blocks]);
        for (const [i, weight] of weights.entries()) {
          const step = Math.abs(rounded.scales[Math.floor(i / from) * blocks + Math.floor((i % from) / blockSize)]);
          const last = step * (2 ** (bits - 1) - 1);
          expect(Math.abs(weight - back[i])).toBeLessThanOrEqual((Math.abs(weight) > last ? 1 : 0.5) * step * 1.0001);
        }
      }),
    );
  });

  it("are exact where a number is the largest, or 0", () => {
    const weights = Float32Array.from({ length: 40 }, (_, i) => (i === 5 ? -3 : i === 35 ? 0.25 : 0));
    const back = (given: Float32Array, shape: [number, number]) => dequantised(quantise(given, shape, bits)).map((weight) => weight + 0); // −0 is 0
    expect(back(weights, [1, 40])).toEqual(weights);
    expect(back(new Float32Array(66), [2, 33])).toEqual(new Float32Array(66));
  });

  it("are not numbers where the weights are not: nothing is hidden", () => {
    for (const wrong of [Number.NaN, Infinity, -Infinity])
      for (const place of [0, 17, 31]) {
        const weights = Float32Array.from({ length: 64 }, (_, i) => (i === place ? wrong : 1));
        const back = dequantised(quantise(weights, [1, 64], bits));
        expect(back.subarray(0, 32).some((weight) => !Number.isFinite(weight))).toBe(true);
        expect([...back.subarray(32)]).toEqual(new Array(32).fill(1));
      }
  });

  it.each([32, 33, 40, 64, 100])("multiply as the matrix that they stand for, %i inputs", async (from) => {
    const [rows, out] = [3, 5];
    const weights = random([out, from], 1).data as Float32Array;
    const x = random([rows, from], 2);
    const rounded = quantise(weights, [out, from], bits);
    const found = await product(x, rounded, bits, from);
    const matrix = dequantised(rounded);
    const numbers = x.data as Float32Array;
    for (let row = 0; row < rows; row++)
      for (let o = 0; o < out; o++) {
        let [wanted, slack] = [0, 0];
        for (let i = 0; i < from; i++) wanted += numbers[row * from + i] * matrix[o * from + i];
        // Activations are rounded to 8 bits as well, each by at most half a step of its block's largest.
        for (let block = 0; block < from; block += blockSize) {
          const places = Array.from({ length: Math.min(blockSize, from - block) }, (_, i) => block + i);
          const step = Math.max(...places.map((i) => Math.abs(numbers[row * from + i]))) / 127;
          slack += places.reduce((sum, i) => sum + (step / 2) * Math.abs(matrix[o * from + i]), 0);
        }
        expect(Math.abs(found[row * out + o] - wanted)).toBeLessThan(slack * 1.01 + 1e-5);
      }
  });
});

async function product(
  x: ReturnType<typeof random>,
  { packed, scales }: ReturnType<typeof quantise>,
  bits: Bits,
  from: number,
): Promise<Float32Array> {
  const [out, blocks] = [5, Math.ceil(from / blockSize)];
  const shape = [out, blocks, (blockSize * bits) / 8];
  const inputs = { x: float32(["rows", from]), packed: uint8(shape), scales: float32([out * blocks]) };
  const f = compile(
    tensorFunction(inputs, (_, given) => ({ y: quantisedLinear(given.x, given.packed, given.scales, { bits, from }) })),
    { threads: 1 },
  );
  const { y } = await f.run({ x, packed: array("uint8", packed, shape), scales: array("float32", scales) });
  await f.release();
  return y.data as Float32Array;
}
