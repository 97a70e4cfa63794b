import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { permutation } from "../../src/batches/permutation.ts";

describe("a permutation", () => {
  it("has every number once, whatever the count and the seed", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(), (count, seed) => {
        const order = permutation(count, chance(seed));
        const numbers = Array.from({ length: count }, (_, place) => order(place));
        expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
      }),
    );
  });

  it("differs from seed to seed, and is the same for the same seed", () => {
    const first = (seed: number) => Array.from({ length: 20 }, (_, place) => permutation(1000, chance(seed))(place));
    expect(first(1)).toEqual(first(1));
    expect(first(1)).not.toEqual(first(2));
  });

  it("puts every number at every place about equally often", () => {
    const counts = Array.from({ length: 5 }, () => new Array(5).fill(0));
    for (let seed = 0; seed < 5000; seed++) {
      const order = permutation(5, chance(seed));
      for (let place = 0; place < 5; place++) counts[place][order(place)]++;
    }
    for (const count of counts.flat()) expect(Math.abs(count - 1000)).toBeLessThan(140); // five standard deviations
  });

  it("needs no memory for a billion", () => {
    const order = permutation(1e9, chance(3));
    expect(order(999_999_999)).toBeLessThan(1e9);
    expect(order(7)).not.toBe(order(8));
  });
});
