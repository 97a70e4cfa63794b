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

/** Numbers of a rank, of many sizes. */
const valuesOf = (rank: number, count: number, seed: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.sin(seed + i * 12.9898 + rank * 78.233) * 10 ** ((i + rank) % 7));

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
      fc.asyncProperty(numbers, async ([size, [count, seed]]) => {
        const all = Array.from({ length: size }, (_, rank) => valuesOf(rank, count, seed));
        const expected = new Float32Array(count);
        for (const values of all) for (let i = 0; i < count; i++) expected[i] += values[i];
        const found = await together(size, async (group) => {
          const own = all[group.rank].slice();
          await group.sum(own);
          return own;
        });
        for (const one of found) expect(Buffer.from(one.buffer).equals(Buffer.from(expected.buffer))).toBe(true);
      }),
      { numRuns: 40 },
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
