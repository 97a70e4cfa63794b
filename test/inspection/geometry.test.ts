import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { attentionOf } from "../../src/inspection/attention.ts";
import { plainLayerNorm, toyGeometry } from "../../src/inspection/geometry.ts";
import { keyGeometry, keySpace } from "../../src/inspection/key-space.ts";
import { look } from "../../src/inspection/look.ts";
import { dot, selectableKeys } from "../../src/inspection/selectable.ts";
import { inputs, runOf } from "./models.ts";

const randomKeys = (seed: number, count: number, width: number) =>
  Array.from({ length: count }, (_, i) => Array.from({ length: width }, (_, j) => chance(seed).normal(i * width + j)));

describe("a key can be selected", () => {
  it("if it is a corner of the others' hull: a square's corners, not its middle nor the middle of a side", () => {
    const square = [
      [0, 0],
      [2, 0],
      [0, 2],
      [2, 2],
      [1, 1],
      [1, 0],
    ];
    expect(selectableKeys(square)).toEqual([true, true, true, true, false, false]);
  });

  it("wherever the keys lie: the square far from the origin", () => {
    const square = [
      [0, 0],
      [2, 0],
      [0, 2],
      [2, 2],
      [1, 1],
    ].map(([x, y]) => [x + 100, y + 50]);
    expect(selectableKeys(square)).toEqual([true, true, true, true, false]);
  });

  it("exactly if one of very many queries in the plane selects it", () => {
    for (const seed of [1, 2, 3]) {
      const keys = randomKeys(seed, 30, 2);
      const winners = new Set<number>();
      for (let angle = 0; angle < 2 * Math.PI; angle += 1e-4) {
        const scores = keys.map((key) => dot(key, [Math.cos(angle), Math.sin(angle)]));
        winners.add(scores.indexOf(Math.max(...scores)));
      }
      expect(selectableKeys(keys)).toEqual(keys.map((_, i) => winners.has(i)));
    }
  });

  it("if it is a mean of others it cannot, in any width", () => {
    for (const width of [3, 10, 40]) {
      const corners = randomKeys(width, 12, width);
      const mean = corners[0].map((_, i) => (corners[0][i] + corners[1][i] + corners[2][i]) / 3);
      const outside = corners[0].map((x) => 3 * x);
      expect(selectableKeys([...corners.slice(1), corners[0], mean, outside]).slice(-2)).toEqual([false, true]);
    }
  });

  it("alone, and like an equal one", () => {
    expect(selectableKeys([[1, 2]])).toEqual([true]);
    expect(
      selectableKeys([
        [1, 2],
        [1, 2],
        [0, 0],
      ]),
    ).toEqual([true, true, true]);
  });
});

describe("LayerNorm", () => {
  it("puts every key on a sphere of radius √width at right angles to the vector of ones, where all can be selected", () => {
    const keys = randomKeys(4, 40, 5);
    const normed = keys.map(plainLayerNorm);
    for (const key of normed) {
      expect(Math.sqrt(dot(key, key))).toBeCloseTo(Math.sqrt(5), 3);
      expect(key.reduce((a, b) => a + b)).toBeCloseTo(0, 6);
    }
    expect(selectableKeys(keys)).toContain(false);
    expect(selectableKeys(normed)).not.toContain(false);
  });

  it("can be seen whole in width 3: a circle in the place of a cloud", () => {
    const [without, withNorm] = toyGeometry(chance(1));
    expect(without.facts.selectable).toBeLessThan(12);
    expect(withNorm.facts.selectable).toBe(24);
    for (const { x, y } of withNorm.keys) expect(Math.hypot(x, y)).toBeCloseTo(Math.sqrt(3), 2);
    expect(withNorm.facts.alongOnes).toBeLessThan(1e-6);
  });
});

describe("keys and queries of a model", () => {
  it.each([
    ["decoder", 0, {}],
    ["decoder", 1, {}],
    ["decoder", 1, { multiHead: "wide" }],
    ["decoder", 1, { keySize: 2, valueSize: 6 }],
    ["decoder", 0, { positions: "sinusoidal" }],
    ["tagger", 0, {}],
    ["class token", 0, {}],
    ["encoder–decoder", 0, {}],
    ["encoder–decoder", 1, { sourceVocab: 60 }],
  ] as const)("(%s, layer %i, %j) are in one space: their products order the keys as attention does", async (name, layer, change) => {
    const run = await runOf({ ...inputs[name], ...change } as typeof inputs.decoder);
    const size = "multiHead" in change ? 8 : "keySize" in change ? 2 : 4;
    const target = name === "encoder–decoder" ? "it" : undefined;
    const kind = name === "encoder–decoder" ? "encoder" : undefined;
    const { keys, queries, labels } = await keySpace(run, "the cat", { layer, head: 1, target });
    const { layers, tokens } = await attentionOf(run, "the cat", { layer, head: 1, kind, target });
    expect(labels).toEqual(tokens);
    const { pattern } = layers[0].heads[0];
    const normed = keys.map(plainLayerNorm);
    // ln(p_a / p_b) is the difference of two scores, in which all that is the same for every key is gone
    for (const [i, row] of pattern.entries()) {
      const seen = row.flatMap((p, key) => (p > 0 ? [key] : []));
      for (const key of seen) {
        const found = (dot(queries[i], normed[key]) - dot(queries[i], normed[seen[0]])) / Math.sqrt(size);
        expect(found).toBeCloseTo(Math.log(row[key]) - Math.log(row[seen[0]]), 2);
      }
    }
  });

  it("are drawn beside the toy, without and with LayerNorm", async () => {
    const panels = await keyGeometry(await runOf(inputs.decoder), "the cat", chance(1));
    expect(panels.map(({ title }) => title)).toEqual([
      "width 3, without LayerNorm",
      "width 3, with LayerNorm",
      "layer 0, head 0, without LayerNorm",
      "layer 0, head 0, with LayerNorm",
    ]);
    expect(panels[3].keys.map(({ label }) => label).join("")).toBe("the cat");
    expect(panels[3].facts.longest).toBeCloseTo(Math.sqrt(8), 2);
    expect(panels[3].facts.selectable).toBe(7);
  });

  it("the input of a later layer is the output of the one before", async () => {
    const run = await runOf(inputs.decoder);
    const { keys } = await keySpace(run, "the", { layer: 1 });
    const { activations } = await look(run, "the", ["decoder/block.0/output"]);
    expect(keys.flat()).toEqual(Array.from(activations.get("decoder/block.0/output")?.data ?? []));
  });

  it("are those of self-attention in a Transformer", async () => {
    await expect(keyGeometry(await runOf(inputs["rnn with attention"]), "a", chance(1))).rejects.toThrow(
      "no keys that a LayerNorm could move",
    );
    await expect(keyGeometry(await runOf(inputs["encoder–decoder"]), "a", chance(1), { kind: "cross" })).rejects.toThrow("self or encoder");
  });
});
