import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigError } from "../../src/base/errors.ts";
import { type Results, runStudy, studies, study } from "../../src/studies/index.ts";
import { installPackages } from "./packages.ts";

// Every study's way of measuring, after a step or two of training: the figures are worthless, but all of them are there.

const folder = realpathSync(mkdtempSync(join(tmpdir(), "qkv-studies-")));
const before = process.cwd();

beforeAll(() => {
  installPackages(folder);
  process.chdir(folder); // where data packages are looked for
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true, force: true });
});

async function measured(name: string, only: string): Promise<Results["rows"][string]> {
  const out = join(folder, "studies", name);
  const events = runStudy(study(name), {
    out,
    only,
    steps: 2,
    threads: 1,
    cache: join(folder, "cache"),
    clock: () => performance.now() / 1000,
  });
  for (;;) {
    const { done, value } = await events.next();
    if (!done) continue;
    expect(readFileSync(join(out, "table.md"), "utf8")).toContain(`| ${only}`);
    const result = value.results.rows[only];
    expect(result).toMatchObject({ steps: 2 });
    expect(result.failed).toBeUndefined();
    for (const share of Object.values(result.breakdowns).flatMap((cells) => Object.values(cells))) expect(share).toBeGreaterThanOrEqual(0);
    return result;
  }
}

/** The figures, and the breakdowns with their columns. */
const shape = ({ figures, breakdowns }: Results["rows"][string]) => [
  Object.keys(figures),
  Object.values(breakdowns).map((cells) => Object.keys(cells)),
];

const fifths = ["0–20 %", "20–40 %", "40–60 %", "60–80 %", "80–100 %"];

describe("the studies", () => {
  it("have rows with names of their own, which are names of folders", () => {
    for (const { rows } of studies) {
      expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
      for (const { name } of rows) expect(name).toMatch(/^[a-z0-9-]+$/);
    }
    expect(() => study("toy")).toThrow(
      new ConfigError('there is no study called "toy"; did you mean "toys"?', { code: "config.unknown-name" }),
    );
  });

  it("pronounce: errors by length and by place", async () => {
    const result = await measured("pronounce", "rnn-attention");
    const ofFour = fifths.filter((_, i) => i !== 2); // words of four sounds have none in the middle
    expect(shape(result)).toEqual([
      ["word error rate", "of the first listed"],
      [["1–4"], ofFour],
    ]);
    expect(result.figures["of the first listed"]).toBeGreaterThanOrEqual(result.figures["word error rate"]);
  });

  it("translate: BLEU and chrF, also by length", async () => {
    expect(shape(await measured("translate", "transformer"))).toEqual([
      ["BLEU", "chrF"],
      [["1–10"], ["1–10"]],
    ]);
  });

  it("reviews: the mean of the embeddings has nothing but a table and an output layer", async () => {
    const { parameters, figures } = await measured("reviews", "mean");
    expect(figures.accuracy).toBeGreaterThan(0.2);
    const { model } = JSON.parse(readFileSync(join(folder, "studies/reviews/mean/config.json"), "utf8"));
    expect(parameters).toBe(model.vocab * model.width + 2 * model.width + 2);
  });

  it("letter-counting: labels, and counts that are written", async () => {
    const labelled = await measured("letter-counting", "linear-attention");
    expect(shape(labelled)).toEqual([["accuracy"], []]);
    const written = await measured("letter-counting", "writer");
    expect(shape(written)).toEqual([["accuracy"], []]);
  });

  it("positions: accuracy at three lengths", async () => {
    expect(shape(await measured("positions", "learned"))).toEqual([["accuracy at 1×", "at 2×", "at 4×"], []]);
  });

  it("layernorm: no steps to 99 % where that was not reached", async () => {
    expect(shape(await measured("layernorm", "none-1"))).toEqual([["best accuracy"], []]);
  });

  it("toys: exact answers, also to longer questions", async () => {
    expect(shape(await measured("toys", "addition"))).toEqual([["exact", "on longer ones"], []]);
  });

  it("recurrence: what is remembered, the reach of the gradient, and which letters are lost", async () => {
    const { breakdowns } = await measured("recurrence", "rnn");
    const distances = ["1", "2", "4", "8", "16", "32"];
    expect(Object.values(breakdowns).map((cells) => Object.keys(cells))).toEqual([["1–10", "11–20", "21–30", "31+"], distances, distances]);
    const [, start] = Object.values(breakdowns);
    expect(start["32"]).toBeLessThan(1e-4 * start["1"]); // a plain RNN at its start forgets fast
    expect(shape(await measured("recurrence", "backwards"))).toEqual([["exact"], [fifths]]);
  });
});
