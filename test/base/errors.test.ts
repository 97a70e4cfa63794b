import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { ConfigError, DataError, FormatError, NonFiniteError, QkvError, RunError } from "../../src/base/errors.ts";
import { sentence, setting } from "../../src/base/sentence.ts";
import { sampling } from "../../src/generation/sampling.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";
import { preset } from "../../src/models/presets.ts";
import { trainingConfig } from "../../src/runs/config.ts";
import { modelFor } from "../../src/runs/defaults.ts";
import { openRun } from "../../src/runs/folder.ts";
import { parseExamples } from "../../src/text/parse-examples.ts";

describe("an error", () => {
  it("says where it is before what it is", () => {
    expect(new DataError("found 1 field", { file: "a.tsv", line: 3 }).message).toBe("a.tsv, line 3: found 1 field");
    expect(new FormatError("unknown key", { file: "config.json", at: "config.model.x" }).message).toBe(
      "config.json: at config.model.x: unknown key",
    );
    expect(new NonFiniteError("the loss is NaN", { step: 3 }).message).toBe("at step 3: the loss is NaN");
    expect(new ConfigError("too long", { path: "tokens" }).message).toBe("too long");
  });

  it("has the code of its class, where nothing more is known", () => {
    expect([new RunError("x").code, new DataError("x").code, new ConfigError("x", { code: "config.range" }).code]).toEqual([
      "run",
      "data",
      "config.range",
    ]);
  });

  it("shows its code and its path, and nothing else, where it is not caught", () => {
    expect(inspect(new ConfigError("x", { at: "sampling.topP" }))).toMatch(/\{\n {2}code: 'config',\n {2}path: 'sampling\.topP'\n\}$/);
    expect(inspect(new RunError("x", { cause: undefined }))).not.toContain("path");
  });

  it("can be told again with more words, and keeps its place", () => {
    const first = new ConfigError(sentence`a smaller ${setting("batch")}`, {
      code: "config.range",
      at: "config.batch",
      path: "training.batch",
    });
    const again = new RunError(sentence`${first.complaint}; or go on`, { ...first.facts, cause: first });
    expect(again).toMatchObject({ message: "at config.batch: a smaller batch; or go on", code: "config.range", path: "training.batch" });
    expect(again.cause).toBe(first);
  });
});

const caught = (action: () => unknown): unknown => {
  try {
    action();
  } catch (error) {
    if (error instanceof QkvError) return { code: error.code, path: error.path, ...(error.facts.models && { models: error.facts.models }) };
  }
  return "nothing";
};

const model = (more: object) => () => modelConfig({ model: "decoder", vocab: 9, ...more } as unknown as ModelInput);

describe("what a program is told", () => {
  it.each<[string, () => unknown, object]>([
    ["a misspelt setting", model({ widht: 3 }), { code: "config.unknown-key", path: "model.widht" }],
    [
      "a setting of another model",
      model({ cell: "gru" }),
      { code: "config.other-model", path: "model.cell", models: { given: "decoder", able: ["rnn"] } },
    ],
    ["a number out of range", model({ layers: 0 }), { code: "config.range", path: "model.layers" }],
    ["an unknown choice", model({ norm: "batch" }), { code: "config.choice", path: "model.norm" }],
    ["a wrong type", model({ tie: 1 }), { code: "config.type", path: "model.tie" }],
    ["settings that do not fit", model({ width: 9, heads: 2 }), { code: "config.conflict", path: "model.heads" }],
    ["an unknown model", model({ model: "decodr" }), { code: "config.unknown-name", path: "model.model" }],
    ["an unknown preset", () => preset("gpt9"), { code: "config.unknown-name", path: undefined }],
    ["a model for another task", () => modelFor("lm", "encoder"), { code: "config.task", path: "model.model" }],
    ["no training at all", () => trainingConfig({}), { code: "config.type", path: "training.steps" }],
    ["sampling out of range", () => sampling({ topP: 2 }), { code: "config.range", path: "sampling.topP" }],
    ["a run that is not there", () => openRun("nowhere"), { code: "run.missing", path: undefined }],
    ["a missing column", () => parseExamples("a\tlabel\n1\t2\n", "tsv", "a.tsv"), { code: "data.columns", path: "columns.text" }],
    ["a bad line", () => parseExamples("text\tlabel\n1\n", "tsv", "a.tsv"), { code: "data.line", path: undefined }],
  ])("of %s", (_, action, facts) => {
    expect(caught(action)).toEqual(facts);
  });
});
