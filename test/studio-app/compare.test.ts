import { describe, expect, it } from "vitest";
import type { RunFacts } from "../../src/worker/found.ts";
import { cellOf, fits, settingsIn, sorted } from "../../studio/compare/settings-table.ts";

const run = (name: string, settings: RunFacts["settings"], more: Partial<RunFacts> = {}): RunFacts => ({
  run: `/runs/${name}`,
  task: "lm",
  model: "decoder",
  step: 10,
  steps: 10,
  opens: true,
  parameters: 1000,
  loss: 1,
  validLoss: null,
  modified: 0,
  settings,
  curve: [],
  hasCheckpoints: true,
  ...more,
});

const rows = [
  run("small", { lr: 0.001, "model.width": 32, seed: 1 }, { loss: 2 }),
  run("wide", { lr: 0.001, "model.width": 128, seed: 1 }, { loss: null }),
  run("quick", { lr: 0.01, "model.width": 32, seed: 1, patience: 3 }, { loss: 0.5 }),
];

describe("a table of runs", () => {
  it("has the settings that differ as columns and folds the others away, and together these are all", () => {
    const { differing, equal } = settingsIn(rows);
    expect(differing.map(({ name }) => name)).toEqual(["lr", "model.width", "patience"]);
    expect(equal).toEqual([["seed", 1]]);
    const names = new Set(rows.flatMap(({ settings }) => Object.keys(settings)));
    expect(differing.length + equal.length).toBe(names.size);
  });

  it("marks what is not as in most runs", () => {
    const usual = new Map(settingsIn(rows).differing.map((one) => [one.name, one.usual]));
    expect(usual.get("lr")).toBe(0.001);
    expect(usual.get("model.width")).toBe(32);
    expect(usual.get("patience")).toBeUndefined();
  });

  it("has no columns for one run alone", () => {
    expect(settingsIn([rows[0]]).differing).toEqual([]);
  });

  it("is sorted by any column, either way, with what is missing last", () => {
    const names = (by: string) => sorted(rows, by).map((one) => cellOf(one, "name"));
    expect(names("loss")).toEqual(["quick", "small", "wide"]);
    expect(names("-loss")).toEqual(["small", "quick", "wide"]);
    expect(names("-model.width")[0]).toBe("wide");
    expect(names("name")).toEqual(["quick", "small", "wide"]);
  });

  it("is filtered by words that must all be found, settings among them", () => {
    const found = (filter: string) => rows.filter((one) => fits(one, filter)).map((one) => cellOf(one, "name"));
    expect(found("")).toHaveLength(3);
    expect(found("width=32")).toEqual(["small", "quick"]);
    expect(found("width=32 lr=0.01")).toEqual(["quick"]);
    expect(found("DECODER wide")).toEqual(["wide"]);
    expect(found("rnn")).toEqual([]);
  });
});
