import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { attentionGrid } from "../../src/pictures/attention-grid.ts";
import { attentionMap } from "../../src/pictures/attention-map.ts";
import { headStatistics } from "../../src/pictures/head-statistics.ts";
import { layerNormGeometry } from "../../src/pictures/layer-norm-geometry.ts";
import { lossCurves } from "../../src/pictures/loss-curves.ts";
import { nextTokens } from "../../src/pictures/next-tokens.ts";
import { positionTable } from "../../src/pictures/position-table.ts";
import { roofline } from "../../src/pictures/roofline.ts";
import { anyText, look, nasty, pattern, sinusoidal, tokens } from "./samples.ts";
import { elementsOf, everyElement, parseXml } from "./xml.ts";

const map = (rows: number, columns: number, weights = pattern(rows, columns, 1, "none")) =>
  attentionMap({ tokens: tokens(columns), targetTokens: tokens(rows), pattern: weights });

/** How many cells the paths of a heat map cover: each run is `h<length>v1`. */
const covered = (svg: string): number => [...svg.matchAll(/h(\d+)v1h-/g)].reduce((sum, [, length]) => sum + Number(length), 0);

/** Cells that say their number. */
const squares = (svg: string) => elementsOf(svg, "rect").filter(({ children }) => children.length > 0);

describe("an attention map", () => {
  it("has every cell, row by row, and says its number when pointed at", () => {
    const svg = map(3, 5);
    const cells = squares(svg);
    expect(cells).toHaveLength(15);
    expect(new Set(cells.map(({ attributes }) => attributes.get("y"))).size).toBe(3);
    expect(cells[1].children[0].text).toMatch(/^Call → ␣me: 0\.\d+$/);
  });

  it("has every cell with 200 tokens too, four pixels at least, in a file of less than a megabyte", () => {
    const svg = map(200, 200);
    expect(covered(svg)).toBe(200 * 200);
    expect(svg).toMatch(/scale\(4 4\)/);
    expect(svg.length).toBeLessThan(1e6);
  });

  it("leaves masked cells blank", () => {
    expect(covered(map(60, 60, pattern(60, 60, 1)))).toBe((60 * 61) / 2);
  });

  it("is bounded for any number of tokens, and then says what a square stands for", () => {
    const svg = map(1000, 700);
    const { attributes } = parseXml(svg);
    expect(Number(attributes.get("width"))).toBeLessThan(1200);
    expect(Number(attributes.get("height"))).toBeLessThan(1200);
    expect(svg).toContain("a square is the strongest weight of 5 × 5");
    expect(covered(svg)).toBe(200 * 140);
  });

  it("writes no label over the next", () => {
    for (const count of [5, 24, 90, 200]) {
      const names = Array.from({ length: count }, (_, i) => `token${i}`);
      const svg = attentionMap({ tokens: names, targetTokens: names, pattern: pattern(count, count, 1) });
      const labels = elementsOf(svg, "text").filter(
        ({ text, attributes }) => text.startsWith("token") && attributes.get("text-anchor") === "end",
      );
      const lines = labels.map(({ attributes }) => Number(attributes.get("y")));
      expect(labels.length).toBeGreaterThanOrEqual(Math.min(count, 60));
      for (const [i, y] of lines.entries())
        if (i > 0) expect(y - lines[i - 1]).toBeGreaterThanOrEqual(Number(labels[i].attributes.get("font-size")));
    }
  });

  it("colours weights around zero when some are below it", () => {
    expect(map(1, 2, [[-1, 1]])).toContain('fill="#034d87"');
    expect(map(1, 2, [[-1, 1]])).toContain('fill="#793a01"');
    expect(map(1, 2, [[0.5, 1]])).toContain('fill="#fde725"');
  });

  it("stays well-formed whatever the tokens are", () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 1, maxLength: 5 }), (names) => {
        const svg = attentionMap({ tokens: names, targetTokens: names, pattern: pattern(names.length, names.length, 1), title: names[0] });
        expect(everyElement(parseXml(svg)).every(({ name }) => ["svg", "title", "style", "rect", "g", "text"].includes(name))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the other pictures", () => {
  it("draw all heads of all layers, and stay bounded with many", () => {
    const svg = attentionGrid(look({ count: 24, layers: 2, heads: 3, kind: "encoder" }));
    expect(covered(svg)).toBe(6 * 24 * 24);
    const large = parseXml(attentionGrid(look({ count: 60, layers: 12, heads: 12 })));
    expect(Number(large.attributes.get("width"))).toBeLessThan(1400);
  });

  it("draw every number of a position table", () => {
    expect(covered(positionTable({ table: sinusoidal(50, 20) }))).toBe(1000);
  });

  it("mark a loss that is no number, and draw no more points than pixels", () => {
    const points = Array.from({ length: 100_000 }, (_, step) => ({ step, loss: step === 500 ? Number.NaN : 1 / (step + 1) }));
    const svg = lossCurves({ series: [{ name: "training", points }] });
    expect(svg.length).toBeLessThan(60_000);
    expect(svg).toContain("training, step 500: the loss is not a finite number");
    expect(svg).not.toContain("NaN");
    expect(() => parseXml(lossCurves({ series: [{ name: "one", points: [{ step: 1, loss: 2 }] }] }))).not.toThrow();
  });

  it("write roofline labels beside each other and on no point", () => {
    const points = Array.from({ length: 30 }, (_, i) => ({ name: `operation ${i}`, flops: 1e9 * 1.05 ** i, bytes: 1e8, seconds: 0.1 }));
    const svg = roofline({ peakFlops: 1e11, peakBytes: 1e10, points: [...points, { name: "copy", flops: 0, bytes: 1e8 }] });
    const labels = elementsOf(svg, "text").filter(({ text }) => text.startsWith("operation"));
    expect(labels.length).toBeGreaterThan(20);
    expect(elementsOf(svg, "circle")).toHaveLength(30);
    expect(svg).toContain("1 without arithmetic not shown");
    const boxes = labels.map(({ attributes, text }) => ({
      x: Number(attributes.get("x")),
      y: Number(attributes.get("y")),
      width: 6 * text.length,
    }));
    for (const [i, a] of boxes.entries())
      for (const b of boxes.slice(i + 1)) expect(Math.abs(a.y - b.y) >= 12 || a.x + a.width <= b.x || b.x + b.width <= a.x).toBe(true);
  });

  it("escape every text that a user may have given", () => {
    const [name] = nasty;
    const pictures = [
      attentionGrid({ ...look({ count: 5, layers: 1, heads: 1 }), tokens: nasty.slice(0, 5) }, name),
      positionTable({ table: [[1]], title: name }),
      lossCurves({ series: [{ name, points: [{ step: 1, loss: 1 }] }], title: name }),
      layerNormGeometry([{ title: name, keys: [{ x: 1, y: 1, label: name, selectable: true }], queries: [] }], name),
      headStatistics({ layers: [{ layer: 0, heads: [{ head: 0, entropy: 1 }] }], title: name }),
      nextTokens({ prompt: name, candidates: nasty.map((token) => ({ token, probability: 0.1 })), title: name }),
      roofline({ peakFlops: 1, peakBytes: 1, points: [{ name, flops: 1, bytes: 1 }], title: name }),
    ];
    for (const svg of pictures) {
      expect(elementsOf(svg, "script")).toEqual([]);
      expect(svg).toContain("&lt;script&gt;");
    }
  });
});

describe("what cannot be drawn is refused in one sentence", () => {
  const one = { tokens: ["a", "b"], targetTokens: ["c"] };
  it.each<[string, () => string, string]>([
    [
      "no tokens",
      () => attentionMap({ tokens: [], targetTokens: [], pattern: [] }),
      "Attention: 0 rows and 0 columns; there is nothing to draw",
    ],
    ["a row too few", () => attentionMap({ ...one, pattern: [] }), "Attention: 0 rows of numbers, but 1 labels for them"],
    ["a ragged row", () => attentionMap({ ...one, pattern: [[1]] }), "Attention: row 0 has 1 numbers, wanted 2"],
    [
      "NaN",
      () => attentionMap({ ...one, pattern: [[1, Number.NaN]] }),
      "Attention, row 0: number 1 is NaN, which has no place in a picture",
    ],
    ["no layers", () => attentionGrid({ ...one, kind: "self", layers: [] }, "Grid"), "Grid: no layers; there is nothing to draw"],
    ["no positions", () => positionTable({ table: [] }), "Positions: 0 rows and 0 columns; there is nothing to draw"],
    ["no points", () => lossCurves({ series: [{ name: "a", points: [] }] }), "Loss, a: no points; there is nothing to draw"],
    ["no candidates", () => nextTokens({ prompt: "", candidates: [] }), "The next token: no candidates; there is nothing to draw"],
    [
      "a probability of 2",
      () => nextTokens({ prompt: "", candidates: [{ token: "a", probability: 2 }] }),
      "The next token: a probability of 2, wanted a number from 0 to 1",
    ],
    ["no panels", () => layerNormGeometry([]), "Which keys can be selected: no panels; there is nothing to draw"],
    [
      "no heads",
      () => headStatistics({ layers: [{ layer: 3, heads: [] }] }),
      "What the heads do, layer 3: no heads; there is nothing to draw",
    ],
    [
      "a machine without speed",
      () => roofline({ peakFlops: 0, peakBytes: 1, points: [{ name: "a", flops: 1, bytes: 1 }] }),
      "Roofline: peaks of 0 FLOP/s and 1 bytes/s, wanted numbers above 0",
    ],
  ])("%s", (_, draw, sentence) => {
    expect(draw).toThrow(new DataError(sentence));
  });
});
