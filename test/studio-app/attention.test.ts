import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AttentionKind } from "../../src/inspection/look.ts";
import { headStatisticsOf } from "../../src/inspection/statistics.ts";
import { packedWeights } from "../../src/pictures/page-data.ts";
import type { PackedAttention } from "../../src/views/packed.ts";
import { attentionKinds, choiceOf, kindsOf, mixturesOf } from "../../studio/look/attention/choice.ts";
import { sizesOf } from "../../studio/look/attention/map-sizes.ts";
import { meanOf, patternOf, rowsOf } from "../../studio/look/attention/patterns.ts";
import { inWords, measure, orders, ordersOf, sorted } from "../../studio/look/attention/summaries.ts";

// The pure parts of Look › Attention, on made-up heads.

const tokens = ["a", "b", "a", "c"];

/** A causal pattern whose rows sum to one. */
const pattern = (seed: number): number[][] =>
  tokens.map((_, i) => {
    const row = tokens.map((_, j) => (j > i ? 0 : Math.exp(3 * Math.sin(seed + 5 * i * (j + 1)))));
    const sum = row.reduce((a, b) => a + b);
    return row.map((weight) => weight / sum);
  });

function lookOf(layers: number, heads: number, kind: AttentionKind = "self"): PackedAttention {
  const common = { tokens, targetTokens: tokens, kind, kinds: [kind], sizes: { layers, heads }, side: 1 };
  const all = Array.from({ length: layers }, (_, layer) => ({
    layer,
    heads: Array.from({ length: heads }, (_, head) => ({ head, pattern: pattern(layer * heads + head) })),
  }));
  const { layers: known } = headStatisticsOf({ ...common, layers: all });
  return {
    ...common,
    layers: all.map(({ layer, heads: own }, i) => ({
      layer,
      heads: own.map(({ head, pattern: rows }, j) => {
        const { head: _, ...summary } = known[i].heads[j];
        return { head, ...packedWeights(rows, 65535), summary };
      }),
    })),
  };
}

describe("what an address says", () => {
  it("is always something that the model has, whatever it says", () => {
    const params = fc.dictionary(
      fc.constantFrom("kind", "layer", "head", "shape"),
      fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom("mean", "all", "rollout", "map", "neurons")),
    );
    fc.assert(
      fc.property(
        params,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom(...attentionKinds),
        (given, layers, heads, kind) => {
          const look = { kind, sizes: { layers, heads } };
          const choice = choiceOf(given, look);
          expect(choice.kind).toBe(kind);
          expect(choice.layer).toBeLessThan(layers);
          if (typeof choice.head === "number") expect(choice.head).toBeLessThan(heads);
          else {
            expect(mixturesOf(look)).toContain(choice.head);
            expect(choice.shape).not.toBe("neurons"); // what is mixed of heads has no queries and keys
          }
        },
      ),
    );
  });

  it("comes back as it was chosen, at any step and for any text", () => {
    const look = { kind: "self" as const, sizes: { layers: 3, heads: 2 } };
    for (const head of ["0", "1", "mean", "all", "rollout"])
      for (const layer of ["0", "2"])
        expect(choiceOf({ layer, head }, look)).toMatchObject({
          layer: Number(layer),
          head: Number.isNaN(Number(head)) ? head : Number(head),
        });
  });

  it("offers an encoder's attention once, and all three of an encoder with a decoder", () => {
    expect(kindsOf({ kinds: ["encoder", "self"] })).toEqual(["encoder"]);
    expect(kindsOf({ kinds: ["cross", "self", "encoder"] })).toEqual(["cross", "self", "encoder"]);
  });
});

describe("heads", () => {
  it("come in any order all of them, the one that does it most first", () => {
    const look = lookOf(3, 4);
    for (const { name } of orders) {
      if (name === "place") continue;
      const found = sorted(look, name);
      expect(new Set(found.map(({ layer, head }) => `${layer} ${head.head}`)).size).toBe(12);
      const values = found.map(({ head }) => measure(head.summary, name) ?? Number.NEGATIVE_INFINITY);
      expect(values).toEqual(values.toSorted((a, b) => b - a));
    }
  });

  it("are not ordered by what no head of their kind has", () => {
    expect(ordersOf(lookOf(1, 2)).map(({ name }) => name)).toContain("previous");
    expect(ordersOf(lookOf(1, 2, "cross")).map(({ name }) => name)).not.toContain("previous");
  });

  it("are said to do what takes more than half of their weight", () => {
    expect(inWords({ first: 0.1, previous: 0.9, diagonal: 0.05, entropy: 0.3, effective: 1.3 })).toBe("looks mostly at the token before");
    expect(inWords({ first: 0.1, previous: 0.2, diagonal: 0.2, entropy: 2, effective: 7.4 })).toBe("looks at about 7 tokens");
    expect(inWords({ first: 0.2 })).toBe(""); // weights that are no distribution
  });
});

describe("weights", () => {
  it("are what was packed, and their mean is the mean of theirs", () => {
    const look = lookOf(1, 3);
    const [{ heads }] = look.layers;
    heads.forEach((head, i) => {
      rowsOf(patternOf(look, head)).forEach((row, query) => {
        row.forEach((weight, key) => {
          expect(weight).toBeCloseTo(pattern(i)[query][key], 4);
        });
      });
    });
    const mean = meanOf(look, heads);
    for (let at = 0; at < mean.weights.length; at++)
      expect(mean.weights[at]).toBeCloseTo(heads.reduce((sum, head) => sum + patternOf(look, head).weights[at], 0) / heads.length, 6);
  });
});

it("a map never leaves its room while its cells are more than a pixel, and has labels only where they can be read", () => {
  const count = fc.integer({ min: 1, max: 600 });
  fc.assert(
    fc.property(count, count, fc.integer({ min: 200, max: 2000 }), fc.nat(40), (queries, keys, room, letters) => {
      const { cell, left, width, height, top } = sizesOf(queries, keys, room, letters);
      expect(cell).toBeGreaterThanOrEqual(1);
      if (cell > 1) expect(width).toBeLessThanOrEqual(room);
      if (left > 0) expect(cell).toBeGreaterThanOrEqual(9);
      expect([width, height]).toEqual([left + keys * cell, top + queries * cell]);
    }),
  );
});
