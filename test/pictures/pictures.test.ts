import { describe, expect, it } from "vitest";
import { attentionGrid } from "../../src/pictures/attention-grid.ts";
import { alignment, attentionMap } from "../../src/pictures/attention-map.ts";
import { attributionPicture } from "../../src/pictures/attribution.ts";
import { comparison } from "../../src/pictures/comparison.ts";
import { confusionMatrix } from "../../src/pictures/confusion-matrix.ts";
import { headStatistics } from "../../src/pictures/head-statistics.ts";
import { layerNormGeometry } from "../../src/pictures/layer-norm-geometry.ts";
import { lensTable } from "../../src/pictures/lens-table.ts";
import { lossCurves } from "../../src/pictures/loss-curves.ts";
import { nextTokens } from "../../src/pictures/next-tokens.ts";
import { positionTable } from "../../src/pictures/position-table.ts";
import { roofline } from "../../src/pictures/roofline.ts";
import { tagStrip } from "../../src/pictures/tag-strip.ts";
import { expectPicture } from "./checked-in.ts";
import { geometryPanels, look, losses, nasty, pattern, rooflinePoints, sentence, sinusoidal, statistics, tokens } from "./samples.ts";
import { everyElement, parseXml } from "./xml.ts";

const map = (count: number) => {
  const names = count === 5 ? sentence : tokens(count);
  return attentionMap({
    tokens: names,
    targetTokens: names,
    pattern: pattern(count, count, 1),
    title: `Layer 0, head 1 (${count} tokens)`,
  });
};
const source = ["p", "h", "o", "n", "e"];
const target = ["<s>", "f", "oʊ", "n"];

/** Every kind of picture, by the name of its file. */
const pictures: Readonly<Record<string, () => string>> = {
  "attention-map-5.svg": () => map(5),
  "attention-map-24.svg": () => map(24),
  "attention-map-200.svg": () => map(200),
  "attention-map-nasty.svg": () =>
    attentionMap({ tokens: nasty, targetTokens: nasty, pattern: pattern(nasty.length, nasty.length, 2), title: nasty.join(" ") }),
  "alignment.svg": () =>
    alignment({ tokens: source, targetTokens: target, pattern: pattern(4, 5, 3, "none"), title: "phone, as it is said" }),
  "attention-grid-5.svg": () => attentionGrid(look({ count: 5, layers: 2, heads: 4 })),
  "attention-grid-200.svg": () => attentionGrid(look({ count: 200, layers: 1, heads: 3, kind: "encoder" })),
  "position-table.svg": () => positionTable({ table: sinusoidal(64, 48), title: "Sinusoidal positions" }),
  "loss-curves.svg": () =>
    lossCurves({
      series: [
        { name: "training", points: losses(400, 0.15) },
        { name: "validation", points: losses(8, 0.02).map(({ step, loss }) => ({ step: 50 * step, loss: loss + 0.1 })) },
      ],
    }),
  "comparison.svg": () =>
    comparison({
      title: "Word error rate by letters of the word",
      columns: ["1–4", "5–6", "7–8", "9–10", "11+"],
      series: [
        { name: "rnn", values: [0.31, 0.35, 0.42, 0.52, 0.71] },
        { name: "<rnn> with attention", values: [0.3, 0.33, 0.36, undefined, 0.44] },
      ],
    }),
  "comparison-powers.svg": () =>
    comparison({
      title: "Norm of the gradient by distance",
      columns: ["1", "2", "4", "8", "16", "32"],
      series: [
        { name: "rnn", values: [0.5, 0.2, 0.04, 1.5e-3, 3e-6, 1e-11] },
        { name: "attention", values: [0.1, 0.1, 0.09, 0.08, 0.08, 0.07] },
      ],
    }),
  "comparison-hidden.svg": () =>
    comparison({
      title: "Two models that do the same",
      columns: ["1", "2", "3"],
      series: ["one", "the other", "better than both"].map((name, i) => ({ name, values: i < 2 ? [0.4, 0.3, 0.25] : [0.2, 0.24, 0.24] })),
    }),
  "attribution.svg": () =>
    attributionPicture({
      answer: { of: "label", label: "good", probability: 0.83 },
      parts: [
        { of: "text", tokens: sentence, gradient: [0.1, -0.4, 1.2, 0, 0.02], leaveOneOut: [0.01, -0.05, 0.3, 0.001, 0] },
        { of: "target", tokens: nasty, gradient: nasty.map((_, i) => i / 10 - 0.3), leaveOneOut: nasty.map((_, i) => 0.1 - i / 20) },
      ],
    }),
  "lens-table.svg": () =>
    lensTable({
      layers: [0, 1, 2].map((layer) => ({
        layer,
        positions: sentence.map((token, i) => ({
          token,
          top: [
            { token: nasty[(layer + i) % nasty.length], probability: (layer + 1) / (4 + i) },
            { token: "b", probability: 0.1 },
          ],
        })),
      })),
    }),
  "tag-strip.svg": () =>
    tagStrip({ tokens: tokens(17), tags: tokens(17).map((_, i) => `tag${i % 3}`), probabilities: tokens(17).map((_, i) => 1 - i / 20) }),
  "confusion.svg": () =>
    confusionMatrix({
      labels: ["delivery", "payment", "<b>account</b>", "other"],
      confusion: [
        [40, 2, 0, 0],
        [1, 1234, 3, 0],
        [5, 0, 5, 0],
        [0, 0, 0, 0],
      ],
    }),
  "confusion-90.svg": () =>
    confusionMatrix({
      labels: Array.from({ length: 90 }, (_, i) => `label ${i}`),
      confusion: Array.from({ length: 90 }, (_, i) =>
        Array.from({ length: 90 }, (_, j) => (i === j ? 9 : (i * 7 + j * 3) % 41 === 0 ? 1 : 0)),
      ),
      title: "Confusion of 90 labels",
    }),
  "layer-norm-geometry.svg": () => layerNormGeometry(geometryPanels()),
  "head-statistics.svg": () => headStatistics(statistics(4, 4)),
  "head-statistics-12.svg": () => headStatistics(statistics(12, 12)),
  "next-tokens.svg": () =>
    nextTokens({
      prompt: "Call me",
      candidates: [" Ishmael", " a", " the", "\n", " <b>", "…"].map((token, i) => ({ token, probability: 0.5 / 2 ** i })),
    }),
  "roofline.svg": () => roofline({ peakFlops: 1.2e11, peakBytes: 2e10, points: rooflinePoints(), title: "A training step on 2 threads" }),
};

describe.each(Object.entries(pictures))("%s", (name, draw) => {
  it("looks as it did when somebody last looked at it", () => expectPicture(name, draw()));

  it("is well-formed, says what it shows, and holds no number that is none", () => {
    const svg = draw();
    const root = parseXml(svg);
    expect(root.name).toBe("svg");
    expect(root.attributes.get("role")).toBe("img");
    expect(root.attributes.get("aria-label")).toBe(root.children[0].text);
    for (const text of ["NaN", "Infinity", "undefined", "[object"]) expect(svg).not.toContain(text);
  });

  it("keeps everything on the paper", () => {
    const root = parseXml(draw());
    const [width, height] = ["width", "height"].map((key) => Number(root.attributes.get(key)));
    expect(width).toBeLessThan(1500);
    expect(height).toBeLessThan(1500);
    for (const { name: kind, attributes } of everyElement(root)) {
      if (!["rect", "text", "circle"].includes(kind) || attributes.has("transform")) continue;
      const [x, y] = [attributes.get("x") ?? attributes.get("cx"), attributes.get("y") ?? attributes.get("cy")].map(Number);
      expect(x || 0).toBeGreaterThanOrEqual(0);
      expect(x || 0).toBeLessThanOrEqual(width);
      expect(y || 0).toBeLessThanOrEqual(height);
    }
  });
});
