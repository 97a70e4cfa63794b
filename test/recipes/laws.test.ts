import { describe, expect, it } from "vitest";
import { recipes } from "../../src/recipes/index.ts";
import { inParts } from "../../src/recipes/parts.ts";
import { inputOf } from "../../src/text/examples.ts";

// What holds for the data of every recipe that makes its examples itself.

const made = ["letter-counting", "copy", "reverse", "sort", "addition", "positions", "layernorm"];

async function examplesOf(name: string) {
  const data = await recipes.find((one) => one.name === name)?.data(false);
  if (data?.kind !== "examples") throw new Error(`${name} has examples`);
  return data;
}

describe.each(made)("the data of %s", (name) => {
  const data = examplesOf(name);

  it("is the same each time it is made", async () => {
    expect(await examplesOf(name)).toEqual(await data);
  });

  it("has no input in two parts, and tests long ones only with what is longer than all that is trained on", async () => {
    const { train, valid, test, longer = {} } = await data;
    const parts = [train, valid, test, ...Object.values(longer)].map((part) => new Set(part.map(inputOf)));
    const all = new Set(parts.flatMap((part) => [...part]));
    expect(all.size).toBe(parts.reduce((total, { size }) => total + size, 0));
    const longest = train.reduce((most, example) => Math.max(most, inputOf(example).length), 0);
    for (const part of Object.values(longer)) expect(part.filter((example) => inputOf(example).length <= longest)).toEqual([]);
  });

  it("has thousands of examples to train on and hundreds to test with", async () => {
    const { train, valid, test, longer = {} } = await data;
    expect(train.length).toBeGreaterThanOrEqual(10_000);
    for (const part of [valid, test]) expect(part.length).toBeGreaterThanOrEqual(500);
    for (const part of Object.values(longer)) expect(part.length).toBeGreaterThanOrEqual(100);
  });
});

describe("parts by hash", () => {
  const pairs = Array.from({ length: 2000 }, (_, i) => ({ source: `${i % 1500}`, target: `${i}` }));

  it("have the shares that were asked for, and keep equal inputs together", () => {
    const { train, valid, test } = inParts(pairs, { valid: 0.1, test: 0.3 });
    const sources = [train, valid, test].map((part) => new Set(part.map(({ source }) => source)));
    expect(sources.reduce((total, { size }) => total + size, 0)).toBe(1500);
    expect(train.length + valid.length + test.length).toBe(2000);
    for (const [i, share] of [0.6, 0.1, 0.3].entries()) expect(Math.abs(sources[i].size / 1500 - share)).toBeLessThan(0.04);
  });

  it("do not depend on the order, and have each example once", () => {
    const parts = inParts(pairs, { valid: 0.1, test: 0.3 });
    const others = inParts([...pairs.toReversed(), ...pairs], { valid: 0.1, test: 0.3 });
    for (const part of ["train", "valid", "test"] as const) {
      expect(others[part]).toHaveLength(parts[part].length);
      expect(new Set(others[part])).toEqual(new Set(parts[part]));
    }
  });
});
