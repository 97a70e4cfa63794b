import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ConfigError, FormatError, RunError } from "../../src/base/errors.ts";
import { type MadeData, type Row, runStudy, type Study, type StudyOptions, type StudyOutcome } from "../../src/studies/index.ts";
import { totalsOf } from "../../src/studies/log.ts";
import { rhyme } from "../journeys/samples.ts";

// A study of two small language models, and one that cannot learn.

const folder = mkdtempSync(join(tmpdir(), "qkv-studies-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const data: MadeData = { name: "rhyme", ending: "txt", make: async () => ({ train: rhyme.repeat(3), valid: rhyme }) };
const small = { layers: 1, heads: 1, width: 16, context: 16 };
const row = (name: string, rest: Partial<Row> = {}): Row => ({
  name,
  what: `the model ${name}`,
  data,
  tokenizer: "char",
  model: small,
  training: { batch: 4, steps: 30 },
  measure: async (run) => ({
    figures: { width: "width" in run.model ? run.model.width : 0 },
    breakdowns: { Halves: { a: 0.5, b: 0 / 0 }, "By thirds, of 3": { one: 0.5, two: 0.25, three: 1 } },
  }),
  ...rest,
});

const first = row("first");
const wild = row("wild", { training: { batch: 4, lr: 1e6, optimizer: "sgd", clip: 0, warmup: 0 } });
const comparison: Study = { name: "comparison", teaches: "Nothing.", rows: [first, row("second")] };

interface Followed extends StudyOutcome {
  readonly kinds: readonly string[];
}

async function follow(study: Study, out: string, options: Partial<StudyOptions> = {}): Promise<Followed> {
  const clock = () => performance.now() / 1000;
  const events = runStudy(study, { out: join(folder, out), threads: 1, cache: join(folder, "cache"), clock, ...options });
  const kinds: string[] = [];
  for (;;) {
    const { done, value } = await events.next();
    if (done) return { ...value, kinds };
    kinds.push(value.kind === "event" ? value.event.kind : `${value.row.name} ${value.kind}`);
  }
}

const said = ({ kinds }: Followed): string[] => kinds.filter((kind) => kind.includes(" "));

describe("a study", () => {
  it("trains every row, measures it, and writes a table; what is measured is not trained again", async () => {
    const done = await follow(comparison, "whole", { steps: 3 });
    expect(said(done)).toEqual([
      "first training",
      "first measuring",
      "first measured",
      "second training",
      "second measuring",
      "second measured",
    ]);
    expect(done.results.rows.first).toMatchObject({ figures: { width: 16 }, breakdowns: { Halves: { a: 0.5 } }, steps: 3 });
    const { seconds, tokens } = await totalsOf(join(folder, "whole", "first"));
    expect(tokens).toBe(3 * 4 * 16);
    expect(done.results.rows.first).toMatchObject({ seconds, tokensPerSecond: tokens / seconds });
    const table = readFileSync(join(folder, "whole", "table.md"), "utf8");
    const picture = readFileSync(join(folder, "whole", "by-thirds-of-3.svg"), "utf8");
    for (const part of ["first, three: 1", "second, two: 0.25"]) expect(picture).toContain(part);
    expect(existsSync(join(folder, "whole", "halves.svg"))).toBe(false); // one number is no line
    expect(table).toMatch(/^\| first +\| +16 \|/m);
    expect(table).toContain("Nothing. Trained for 3 steps each.");
    expect(table).toContain("Halves:");
    expect(JSON.parse(readFileSync(join(folder, "whole", "results.json"), "utf8"))).toEqual(done.results);
    expect(said(await follow(comparison, "whole", { steps: 3 }))).toEqual(["first known", "second known"]);
  });

  it("goes on where it was interrupted, with the steps that the row was given", async () => {
    const stop = new AbortController();
    let asked = 0;
    const clock = () => {
      if (++asked === 7) stop.abort(); // twice a step
      return performance.now() / 1000;
    };
    const stopped = await follow(comparison, "killed", { only: "first", steps: 8, clock, signal: stop.signal });
    expect([stopped.interrupted, stopped.results.rows]).toEqual([true, {}]);
    expect((await totalsOf(join(folder, "killed", "first"))).steps).toBeLessThan(8);
    const done = await follow(comparison, "killed", { only: "first", steps: 8 });
    expect(done.results.rows.first.steps).toBe(8);
    expect(done.kinds.filter((kind) => kind === "step").length).toBeLessThan(8);
  });

  it("gives a row the steps that fit into its time, and leaves nothing of the trial behind", async () => {
    const { results, kinds } = await follow(comparison, "timed", { only: "first", minutes: 0.02 });
    expect(kinds[0]).toBe("first timing");
    expect(results.minutes).toBe(0.02);
    expect(results.rows.first.seconds).toBeGreaterThan(0.2);
    expect(results.rows.first.seconds).toBeLessThan(6);
    expect(existsSync(join(folder, "timed", "first.trial"))).toBe(false);
  });

  it("records a model whose loss is no number any more, and goes on with the next", async () => {
    const done = await follow({ ...comparison, rows: [wild, first] }, "wild", { steps: 20 });
    expect(done.results.rows.wild.failed).toMatch(/^at step \d+: /);
    expect(done.results.rows.wild).toMatchObject({ figures: {}, validLoss: null });
    expect(done.results.rows.wild.parameters).toBeGreaterThan(100);
    expect(done.results.rows.first.figures).toEqual({ width: 16 });
    expect(readFileSync(join(folder, "wild", "table.md"), "utf8")).toContain("wild has no figures: at step");
  });

  it("refuses what does not fit, with a cure", async () => {
    await expect(follow(comparison, "whole", { only: "frist" })).rejects.toThrow(
      new ConfigError('the study comparison has no row called "frist"; did you mean "first"?', {
        code: "config.unknown-name",
        path: "only",
      }),
    );
    await expect(follow(comparison, "whole", { steps: 3, minutes: 1 })).rejects.toThrow(ConfigError);
    await expect(follow(comparison, "whole", { minutes: 1 })).rejects.toThrow(
      new RunError(`${join(folder, "whole")} holds rows that were trained for 3 steps each, not for 1 minute each; choose another out`, {
        code: "run.exists",
      }),
    );
    await expect(follow({ ...comparison, name: "other" }, "whole", { steps: 3 })).rejects.toThrow(/holds the study comparison, not other/);
    writeFileSync(join(folder, "whole", "results.json"), '{"study": "comparison", "rows": {"first": 3}}');
    await expect(follow(comparison, "whole", { steps: 3 })).rejects.toThrow(FormatError);
    writeFileSync(join(folder, "whole", "results.json"), "{");
    await expect(follow(comparison, "whole", { steps: 3 })).rejects.toThrow(/not JSON; remove it/);
  });
});
