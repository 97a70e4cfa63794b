import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { open } from "../../src/entries/qkv.ts";
import { minilmFolder } from "../support/open-models.ts";

// Real weights: all-MiniLM-L6-v2 in 16 bits, against what Python makes of the same file. minilm.py made the values.

const place = mkdtempSync(join(tmpdir(), "qkv-minilm-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

interface Reference {
  readonly sentences: string[];
  readonly vectors: number[][];
}
const { sentences, vectors }: Reference = JSON.parse(readFileSync(join(import.meta.dirname, "minilm.json"), "utf8"));

const cosine = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  const product = (x: ArrayLike<number>, y: ArrayLike<number>) => Array.from(x).reduce((sum, value, i) => sum + value * y[i], 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
};

/** The others, the most alike first. */
const nearest = (all: readonly ArrayLike<number>[], one: number): number[] =>
  [...all.keys()].filter((i) => i !== one).sort((a, b) => cosine(all[one], all[b]) - cosine(all[one], all[a]));

describe("MiniLM", () => {
  it("gives Python's vectors, and the same neighbours in the same order", async () => {
    await using model = open(minilmFolder(join(place, "minilm")), { threads: 1 });
    const found = await model.embed(sentences);
    const gaps = found.map((vector, i) => vectors[i].reduce((most, value, at) => Math.max(most, Math.abs(value - vector[at])), 0));
    expect(Math.max(...gaps)).toBeLessThan(1e-5); // the same 16-bit numbers, in 32 bits on both sides
    for (const i of sentences.keys()) expect(nearest(found, i)).toEqual(nearest(vectors, i));
    expect(sentences[nearest(found, 10)[0]]).toBe("I was charged twice this month.");
  });
});
