import { describe, expect, it } from "vitest";
import { flagWords } from "../../src/cli/flag-words.ts";
import { modelConfig } from "../../src/models/any.ts";
import { trainingDefaults } from "../../src/runs/defaults.ts";
import { idleSettings } from "../../src/runs/idle.ts";
import type { Task } from "../../src/text/columns.ts";

const decoder = { model: "decoder", vocab: 9 } as const;
const encoder = { model: "encoder", vocab: 9, task: "mlm" } as const;
const translator = { model: "encoder-decoder", vocab: 9, positions: "learned" } as const;

type Given = Parameters<typeof idleSettings>[0];

function said(given: Given, model: Parameters<typeof modelConfig>[0], task: Task = "lm"): string[] {
  const { accumulates: _, ...training } = trainingDefaults(task, given.training ?? {}, { width: 128, threads: 1 });
  return idleSettings(given, { task, model: modelConfig(model), training }).map((one) => one.in(flagWords));
}

describe("settings that do nothing beside the others", () => {
  it("are told with what they are for and what is there", () => {
    const training = { schedule: "cosine", decay: 0.5, optimizer: "adamw", momentum: 0.8 } as const;
    expect(said({ training }, decoder)).toEqual([
      "--decay has no effect here: it is for --schedule wsd, and this is --schedule cosine",
      "--momentum has no effect here: it is for --optimizer muon, and this is --optimizer adamw",
    ]);
    expect(said({ model: { crossPositions: false } }, translator, "translate")).toEqual([
      "--no-cross-positions has no effect here: it is for --positions rotary, and this is --positions learned",
    ]);
    expect(said({ model: { pool: "last" } }, encoder, "mlm")).toEqual([
      "--pool has no effect here: it is for --task classify, and this is --task mlm",
    ]);
  });

  it("are those that numbers make so", () => {
    expect(said({ training: { lr: 0 } }, decoder)).toEqual(["--lr 0 changes nothing: every step leaves the weights as they are"]);
    expect(said({ training: { lr: 0.001, minLr: 1 } }, decoder)).toEqual([
      "the learning rate rises from --lr 1e-3 to --min-lr 1, where it is usually told to fall",
    ]);
    expect(said({ model: { valueResidual: true } }, { ...decoder, layers: 1, valueResidual: true })).toEqual([
      "--value-residual has no effect here: it is for layers after the first, and there is one",
    ]);
    expect(said({ model: { valueResidual: true } }, { ...decoder, layers: 2, valueResidual: true })).toEqual([]);
  });

  it("are not what has an effect, the usual value, or what nobody gave", () => {
    expect(said({ training: { schedule: "wsd", decay: 0.5, optimizer: "muon", momentum: 0.8 } }, decoder)).toEqual([]);
    expect(said({ training: { schedule: "cosine", decay: 0.2, optimizer: "adamw", momentum: 0.95 } }, decoder)).toEqual([]);
    expect(said({ training: { schedule: "constant" }, model: { positions: "learned" } }, decoder)).toEqual([]);
  });
});
