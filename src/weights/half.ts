// Numbers of 16 bits: IEEE halves (one bit for the sign, five for the exponent, ten for the fraction).

/** The value of the 16 bits of a half. */
function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

let table: Float32Array | undefined;

/** The values of all halves by their bits: looking one up is ten times as fast as computing it. */
export function halfValues(): Float32Array {
  table ??= Float32Array.from({ length: 65_536 }, (_, bits) => halfValue(bits));
  return table;
}

const float = new Float32Array(1);
const floatBits = new Uint32Array(float.buffer);

/** The bits of the nearest half, of two equally near the even one; infinity beyond 65,520. */
export function halfBits(value: number): number {
  float[0] = value;
  const bits = floatBits[0];
  const sign = (bits >>> 16) & 0x8000;
  const size = bits & 0x7fffffff;
  if (size > 0x7f800000) return sign | 0x7e00; // NaN
  if (size >= 0x477ff000) return sign | 0x7c00; // 65,520 and more
  if (size >= 0x38800000) return sign | ((size - 0x38000000 + 0xfff + ((size >>> 13) & 1)) >>> 13); // 2^-14 and more: the exponent's bias goes from 127 to 15
  const steps = Math.abs(float[0]) * 2 ** 24; // below, halves are whole multiples of 2^-24
  const down = Math.floor(steps);
  const rest = steps - down;
  return sign | (rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down);
}
