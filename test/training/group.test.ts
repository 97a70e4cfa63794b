import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { alone, partOf } from "../../src/training/group.ts";
import { together } from "../support/together.ts";

const numbers = fc.integer({ min: 1, max: 5 }).chain((size) =>
  fc.tuple(
    fc.constant(size),
    fc.integer({ min: 0, max: 20_000 }).chain((count) => fc.tuple(fc.constant(count), fc.integer())),
  ),
);

/** Numbers of a rank, of many sizes, and nothing with a sign here and there. */
const valuesOf = (rank: number, count: number, seed: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) =>
    i % 11 === 0 ? -0 : Math.sin(seed + i * 12.9898 + rank * 78.233) * 10 ** ((i + rank) % 7),
  );

/** Pieces of many sizes, which lie near or far. */
const ways = fc.record({ most: fc.constantFrom(5, 64, 1000, 5000, 2 ** 22), reach: fc.constantFrom(0, 2 ** 31 - 1) });

/** Bits and nothing else: 0 and −0 are different. */
const bits = (values: Float32Array): Buffer => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

/** The nearest number with the upper 16 bits alone, the even one of two that are as near. */
function rounded(value: number): number {
  const [whole] = new Uint32Array(Float32Array.of(value).buffer);
  const [below, rest] = [whole & 0xffff0000, whole & 0xffff];
  const up = rest > 0x8000 || (rest === 0x8000 && (whole & 0x10000) !== 0);
  return new Float32Array(Uint32Array.of(up ? below + 0x10000 : below).buffer)[0];
}

describe("parts", () => {
  it("are one after the other, and all of it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e6 }), fc.integer({ min: 1, max: 70 }), (count, size) => {
        const parts = Array.from({ length: size }, (_, rank) => partOf(count, rank, size));
        expect([parts[0].from, parts.at(-1)?.to]).toEqual([0, count]);
        for (const [i, { from, to }] of parts.entries()) {
          expect(to).toBeGreaterThanOrEqual(from);
          if (i > 0) expect(from).toBe(parts[i - 1].to);
        }
      }),
    );
  });
});

describe("a sum", () => {
  it("is added in the order of ranks, the same on each, and nobody's numbers are lost", async () => {
    await fc.assert(
      fc.asyncProperty(numbers, ways, async ([size, [whole, seed]], way) => {
        const count = Math.min(whole, 50 * way.most);
        const all = Array.from({ length: size }, (_, rank) => valuesOf(rank, count, seed));
        const expected = new Float32Array(count);
        for (const values of all) for (let i = 0; i < count; i++) expected[i] += values[i];
        const found = await together(
          size,
          async (group) => {
            const [own, parts] = [all[group.rank].slice(), all[group.rank].slice()];
            await group.sum(own);
            await group.reduce(parts);
            const { from, to } = partOf(count, group.rank, size);
            const kept = size === 1 || bits(parts.subarray(0, from)).equals(bits(all[group.rank].subarray(0, from)));
            expect([kept, bits(parts.subarray(from, to)).equals(bits(own.subarray(from, to)))]).toEqual([true, true]);
            await group.share(parts);
            const early = all[group.rank].slice();
            const [summed, together] = [group.begin(early), group.gather(Float64Array.of(group.rank))]; // which waits for its turn
            await summed();
            expect((await together).map(([rank]) => rank)).toEqual([...all.keys()]);
            return size === 1 ? [own] : [own, parts, early];
          },
          way,
        );
        if (size > 1) for (const one of found.flat()) expect(bits(one).equals(bits(expected))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("in 16 bits is the sum of rounded numbers, rounded", async () => {
    await fc.assert(
      fc.asyncProperty(numbers, ways, async ([more, [whole, seed]], way) => {
        const [size, count] = [more + 1, Math.min(whole, 50 * way.most)];
        const all = Array.from({ length: size }, (_, rank) => valuesOf(rank, count, seed));
        const sums = new Float32Array(count);
        for (const values of all) for (let i = 0; i < count; i++) sums[i] += rounded(values[i]);
        const found = await together(
          size,
          async (group) => {
            const own = all[group.rank].slice();
            await group.sum(own);
            return own;
          },
          { ...way, compress: "bf16" },
        );
        for (const one of found) expect(bits(one).equals(bits(sums.map(rounded)))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it("in 16 bits is the same on each, and near", async () => {
    const found = await together(
      3,
      async (group) => {
        const own = valuesOf(group.rank, 9000, 1);
        await group.sum(own);
        return own;
      },
      { compress: "bf16" },
    );
    for (const one of found) expect(one).toEqual(found[0]);
    const all = [0, 1, 2].map((rank) => valuesOf(rank, 9000, 1));
    for (let i = 0; i < 9000; i++) {
      const parts = all.map((values) => values[i]);
      const size = parts.reduce((sum, x) => sum + Math.abs(x), 0);
      if (Math.abs(found[0][i] - parts.reduce((a, b) => a + b, 0)) > size * 2 ** -7) expect.fail(`${found[0][i]} is far from ${parts}`);
    }
  });

  it("in 16 bits keeps what is no number", async () => {
    const found = await together(
      2,
      async (group) => {
        const own = Float32Array.of(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 1);
        if (group.rank === 1) own.fill(0);
        await group.sum(own);
        return [...own];
      },
      { compress: "bf16" },
    );
    expect(found[1]).toEqual([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 1]);
  });
});

it("what is said, told and shared reaches everybody", async () => {
  const found = await together(4, async (group) => {
    const values = Float32Array.of(group.rank, 10 * group.rank);
    await group.broadcast(values);
    return {
      texts: await group.exchange("ä".repeat(group.rank)),
      told: await group.told(`from ${group.rank}`),
      numbers: (await group.gather(Float64Array.of(group.rank, -group.rank))).map(([a, b]) => [a, b]),
      values: [...values],
    };
  });
  for (const one of found)
    expect(one).toEqual({
      texts: ["", "ä", "ää", "äää"],
      told: "from 0",
      numbers: [
        [0, -0],
        [1, -1],
        [2, -2],
        [3, -3],
      ],
      values: [0, 0],
    });
});

it("alone there is nobody to wait for, and everything is as it was", async () => {
  const values = Float32Array.of(1, 2);
  await alone.sum(values);
  expect([
    [...values],
    await alone.exchange("me"),
    await alone.told("me"),
    [...(await alone.gather(Float64Array.of(3)))[0]],
    alone.seconds,
  ]).toEqual([[1, 2], ["me"], "me", [3], 0]);
});
