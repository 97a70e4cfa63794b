import fc from "fast-check";
import { chance } from "../../src/base/chance.ts";
import type { AttentionKind, AttentionLook } from "../../src/inspection/look.ts";
import type { HeadStatistics } from "../../src/pictures/head-statistics.ts";
import { hullOf } from "../../src/pictures/hull.ts";
import type { Geometry } from "../../src/pictures/layer-norm-geometry.ts";
import type { RooflinePoint } from "../../src/pictures/roofline.ts";

// Patterns that look like learned ones, from a seed.

/** What must stay text wherever it is drawn. */
export const nasty = [
  "</script><script>alert(1)</script>",
  '"',
  "&amp;",
  "]]>",
  "\u0000\u0007\u001b[31m",
  "'",
  "<!--",
  "\u202e\u2028\ud800",
];

const anyCode = fc.oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0x10ffff }));

/** Any characters at all, halves of pairs among them. */
export const anyText = fc.array(anyCode, { maxLength: 12 }).map((codes) => String.fromCodePoint(...codes));

export const sentence = ["The", " cat", " sat", " down", ".\n"];

/** A text of so many tokens, among them some that are hard to draw. */
export function tokens(count: number): string[] {
  const words = [
    "Call",
    " me",
    " Ishmael",
    ".",
    "\n",
    "Some",
    " years",
    " ago",
    "—",
    "never",
    "\tmind",
    " how",
    "漢字",
    "😀",
    "שלום",
    "e\u0301",
    "\u0301",
  ];
  return Array.from({ length: count }, (_, i) => words[i % words.length]);
}

/** Softmax over scores that favour the token before and equal tokens. */
export function pattern(rows: number, columns: number, seed: number, mask: "causal" | "none" = "causal"): number[][] {
  const source = chance(seed).fork("pattern");
  return Array.from({ length: rows }, (_, i) => {
    const weights = Array.from({ length: columns }, (_, j) => {
      if (mask === "causal" && j > i) return 0;
      const near = 3 * Math.exp(-((j - (i * columns) / rows + (seed % 3)) ** 2) / 4);
      return Math.exp(near + 0.8 * source.normal(i * columns + j));
    });
    const sum = weights.reduce((a, b) => a + b);
    return weights.map((weight) => weight / sum);
  });
}

export interface LookSize {
  readonly count: number;
  readonly layers: number;
  readonly heads: number;
  readonly kind?: AttentionKind;
}

export function look({ count, layers, heads, kind = "self" }: LookSize): AttentionLook {
  const names = count === sentence.length ? sentence : tokens(count);
  const mask = kind === "self" ? "causal" : "none";
  return {
    tokens: names,
    targetTokens: names,
    kind,
    layers: Array.from({ length: layers }, (_, layer) => ({
      layer,
      heads: Array.from({ length: heads }, (_, head) => ({ head, pattern: pattern(count, count, layer * heads + head, mask) })),
    })),
  };
}

export function sinusoidal(positions: number, width: number): number[][] {
  return Array.from({ length: positions }, (_, position) =>
    Array.from({ length: width }, (_, i) => {
      const angle = position / 10_000 ** ((i - (i % 2)) / width);
      return i % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }),
  );
}

/** A loss that falls with noise, from step 1. */
export function losses(count: number, noise: number): { step: number; loss: number }[] {
  const source = chance(3).fork("losses");
  return Array.from({ length: count }, (_, i) => ({
    step: i + 1,
    loss: 1.4 + 2.2 * Math.exp((-5 * i) / count) + noise * source.normal(i),
  }));
}

/** Keys on a circle, as LayerNorm leaves three dimensions, beside the same number of keys anywhere. */
export function geometryPanels(): Geometry[] {
  const source = chance(5).fork("geometry");
  const letters = [..."abcdefghijkl"];
  const onCircle = letters.map((label, i) => {
    const angle = 6.28 * source.uniform(i);
    return { x: Math.sqrt(3) * Math.cos(angle), y: Math.sqrt(3) * Math.sin(angle), label, selectable: true };
  });
  const scattered = letters.map((label, i) => ({ x: source.normal(100 + i), y: source.normal(200 + i), label }));
  const corners = hullOf(scattered);
  const queries = Array.from({ length: 14 }, (_, i) => ({ x: 9 * source.normal(300 + i), y: 9 * source.normal(400 + i) }));
  return [
    { title: "Without LayerNorm", keys: scattered.map((key) => ({ ...key, selectable: corners.includes(key) })), queries },
    { title: "With LayerNorm", keys: onCircle, queries },
  ];
}

export function statistics(layers: number, heads: number): HeadStatistics {
  const source = chance(6).fork("statistics");
  const score = (layer: number, head: number, place: number) => source.uniform((layer * heads + head) * 5 + place);
  return {
    layers: Array.from({ length: layers }, (_, layer) => ({
      layer,
      heads: Array.from({ length: heads }, (_, head) => ({
        head,
        entropy: 3 * score(layer, head, 0),
        previous: score(layer, head, 1),
        first: score(layer, head, 2) ** 2,
        diagonal: score(layer, head, 3) ** 3,
        same: head === 0 ? undefined : score(layer, head, 4),
      })),
    })),
  };
}

export function rooflinePoints(): RooflinePoint[] {
  const parts = [
    "queries",
    "keys",
    "values",
    "scores",
    "softmax",
    "weighted sum",
    "output",
    "feed-forward 1",
    "gelu",
    "feed-forward 2",
    "norm",
    "vocabulary",
  ];
  return parts.map((name, i) => {
    const flops = name === "softmax" || name === "norm" || name === "gelu" ? 2e6 : 4e8 + 1e7 * i;
    const bytes = flops / (flops < 1e7 ? 0.6 : 18 + i / 2);
    const best = Math.max(flops / 1.2e11, bytes / 2e10);
    return { name, flops, bytes, ...(name === "vocabulary" ? {} : { seconds: best * (1.3 + 0.1 * i) }) };
  });
}
