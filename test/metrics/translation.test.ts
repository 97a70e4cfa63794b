import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { bleu, tokens13a } from "../../src/metrics/bleu.ts";
import { chrf } from "../../src/metrics/chrf.ts";

interface Case {
  readonly name: string;
  readonly hypotheses: string[];
  readonly references: string[];
  readonly tokens: string[][];
  readonly bleu: number;
  readonly chrf: number;
}

const reference: { translations: Case[] } = JSON.parse(readFileSync(new URL("reference.json", import.meta.url), "utf8"));

describe("the words, BLEU and chrF of sacreBLEU", () => {
  it.each(reference.translations.filter(({ name }) => !name.startsWith("random")))("$name", (given) => {
    expect(given.hypotheses.map(tokens13a)).toEqual(given.tokens);
    expect(Math.abs(bleu(given.hypotheses, given.references) - given.bleu)).toBeLessThan(1e-9);
    expect(Math.abs(chrf(given.hypotheses, given.references) - given.chrf)).toBeLessThan(1e-9);
  });

  it("for random sentences of awkward pieces", () => {
    const random = reference.translations.filter(({ name }) => name.startsWith("random"));
    expect(random.length).toBe(60);
    for (const given of random) {
      expect(given.hypotheses.map(tokens13a), given.name).toEqual(given.tokens);
      expect(Math.abs(bleu(given.hypotheses, given.references) - given.bleu), given.name).toBeLessThan(1e-9);
      expect(Math.abs(chrf(given.hypotheses, given.references) - given.chrf), given.name).toBeLessThan(1e-9);
    }
  });

  it("are never above 100", () => {
    const lines = reference.translations.flatMap(({ references }) => references);
    expect(bleu(lines, lines)).toBe(100);
    expect(chrf(lines, lines)).toBe(100);
  });
});

it("BLEU of one sentence, by hand", () => {
  // 4 of 5 words, 3 of 4 pairs, 2 of 3 triples and 1 of 2 fours: (4/5 · 3/4 · 2/3 · 1/2)^(1/4)
  expect(bleu(["a b c d x"], ["a b c d e"])).toBeCloseTo(100 * 0.2 ** 0.25, 10);
});

it("refuses to score nothing, or answers without references", () => {
  expect(() => bleu([], [])).toThrow(new DataError("no answers to score; give at least one with its reference"));
  expect(() => chrf(["a"], [])).toThrow(new DataError("1 answers cannot be compared with 0 references; give one for each"));
});
