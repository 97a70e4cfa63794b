import { halfBits, halfValues } from "./half.ts";

// Numbers of 16 bits, out of 32: IEEE halves and bfloat16.

export const sixteenTypes = ["F16", "BF16"] as const;
export type Sixteen = (typeof sixteenTypes)[number];

const float = new Float32Array(1);
const floatBits = new Uint32Array(float.buffer);

/** The bits of the nearest bfloat16, of two equally near the even one. */
function brainBits(value: number): number {
  float[0] = value;
  const bits = floatBits[0];
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40; // NaN stays one
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/** The nearest numbers of 16 bits. */
export function inSixteen(numbers: Float32Array, type: Sixteen): Uint16Array {
  const bitsOf = type === "F16" ? halfBits : brainBits;
  const all = new Uint16Array(numbers.length);
  for (let i = 0; i < numbers.length; i++) all[i] = bitsOf(numbers[i]);
  return all;
}

/** Whether 16 bits hold these numbers exactly. */
export function fitsSixteen(numbers: Float32Array, type: Sixteen): boolean {
  if (type === "BF16") return new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length).every((bits) => (bits & 0xffff) === 0);
  const values = halfValues();
  return numbers.every((value) => Object.is(values[halfBits(value)], value));
}
