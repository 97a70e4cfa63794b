import { expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";

it("gives the published words of Threefry-2x32 with 20 rounds", () => {
  expect(chance(0).bits(0).toString(16)).toBe("6b200159");
  const all = chance(2 ** 53 - 1); // key words 0xffffffff and 0x001fffff
  expect(all.bits(0)).toBe(all.bits(0));
});

it("is a pure function of seed, purpose and place", () => {
  const a = chance(7).fork("weights").fork("block.0/q");
  const b = chance(7).fork("weights").fork("block.0/q");
  expect([a.bits(3), a.normal(5), a.uniform(9)]).toEqual([b.bits(3), b.normal(5), b.uniform(9)]);
  const others = [
    chance(8).fork("weights").fork("block.0/q"),
    chance(7).fork("weights").fork("block.0/k"),
    chance(7).fork("weightsblock.0/q"),
  ];
  for (const other of others) expect(other.bits(3)).not.toBe(a.bits(3));
});

it("gives the same bytes whatever the length and the place in a buffer", () => {
  const long = chance(5).bytes(new Uint8Array(64));
  for (const length of [0, 1, 7, 8, 9, 63]) {
    expect(chance(5).bytes(new Uint8Array(length))).toEqual(long.slice(0, length));
    expect(chance(5).bytes(new Uint8Array(new ArrayBuffer(length + 3), 3, length))).toEqual(long.slice(0, length));
  }
  expect([...long.slice(0, 4)]).toEqual([...new Uint8Array(Uint32Array.of(chance(5).bits(0)).buffer)]);
});

it("draws normal numbers with mean 0 and variance 1, and uniform bytes", () => {
  const source = chance(1).fork("statistics");
  const values = Array.from({ length: 20_000 }, (_, i) => source.normal(i));
  const mean = values.reduce((a, b) => a + b) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
  expect(Math.abs(mean)).toBeLessThan(0.03);
  expect(Math.abs(variance - 1)).toBeLessThan(0.05);
  const bytes = source.bytes(new Uint8Array(25_600));
  const counts = new Array(256).fill(0);
  for (const byte of bytes) counts[byte]++;
  const chiSquared = counts.reduce((sum, n) => sum + (n - 100) ** 2 / 100, 0);
  expect(chiSquared).toBeLessThan(340); // 255 degrees of freedom: above this once in several thousand seeds
  expect(new Set(bytes.subarray(0, 8)).size).toBeGreaterThan(4);
});

it("gives the bytes of the words that it gives one by one, though they are made elsewhere", () => {
  const source = chance(8).fork("words");
  const words = new Uint32Array(source.bytes(new Uint8Array(8 * 1001)).buffer);
  for (let block = 0; block < 1001; block++) expect(words[2 * block]).toBe(source.bits(block));
});

it("makes other bytes quickly: uniform, the same from every place on, and others for every purpose", () => {
  const source = chance(5, "quick").fork("here");
  const long = source.bytes(new Uint8Array(2 ** 20 + 5000)); // more than is made at once
  for (const from of [0, 1, 2047, 2048, 5000, 2 ** 20 - 3])
    expect(source.bytes(new Uint8Array(4100), from)).toEqual(long.slice(from, from + 4100));
  const counts = new Array<number>(256).fill(0);
  for (const byte of long) counts[byte]++;
  const expected = long.length / 256;
  const chiSquared = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  expect(chiSquared).toBeLessThan(350); // 255 degrees of freedom: beyond it once in 20,000
  const equal = (other: Uint8Array) => long.filter((byte, i) => byte === other[i]).length / long.length;
  expect(equal(source.fork(1).bytes(new Uint8Array(long.length)))).toBeCloseTo(1 / 256, 3);
  expect(equal(source.bytes(new Uint8Array(long.length), 2048))).toBeCloseTo(1 / 256, 3);
  expect(equal(chance(5).fork("here").bytes(new Uint8Array(long.length)))).toBeCloseTo(1 / 256, 3);
  expect(source.bits(3)).toBe(chance(5).fork("here").bits(3));
});

it("gives the same bytes as flags: 1 where one is at least so much, from every place on", () => {
  for (const kind of ["threefry", "quick"] as const) {
    const source = chance(6, kind).fork("flags");
    const bytes = source.bytes(new Uint8Array(2 ** 20 + 77));
    for (const least of [1, 26, 127, 128, 255]) {
      const expected = bytes.map((byte) => Number(byte >= least));
      expect(Buffer.compare(source.flags(new Uint8Array(bytes.length), least), expected)).toBe(0);
      expect(source.flags(new Uint8Array(300), least, 2040)).toEqual(expected.slice(2040, 2340));
    }
  }
});
