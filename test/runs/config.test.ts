import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { ConfigError, QkvError } from "../../src/base/errors.ts";
import { modelLoss } from "../../src/models/any.ts";
import { decoderConfig } from "../../src/models/config.ts";
import { type ModelConfig, modelConfig } from "../../src/models/index.ts";
import { parseRunConfig, type RunConfig, runConfigText } from "../../src/runs/config.ts";
import { trainingDefaults } from "../../src/runs/defaults.ts";
import { refuseTooBig } from "../../src/runs/memory.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { mutate } from "../support/mutate.ts";

const mutants = Number(process.env.QKV_FUZZ ?? 300);

const config: RunConfig = {
  format: 1,
  task: "lm",
  model: decoderConfig({ vocab: 65 }),
  tokenizer: { kind: "char", sha256: "00" },
  data: { source: { kind: "files", files: ["/a.txt"], validFraction: 0.1 }, sha256: "11", train: 9, valid: 1 },
  training: trainingDefaults("lm", {}, { width: 128, threads: 2 }),
};
const text = runConfigText(config);

describe("config.json", () => {
  it("is read as it was written", () => {
    expect(parseRunConfig(text, "config.json")).toEqual(config);
    expect(parseRunConfig(`\uFEFF${text.replaceAll("\n", "\r\n")}`, "config.json")).toEqual(config);
  });

  it.each([
    ['"layers"', '"layres"', 'config.json: at config.model.layres: unknown key; did you mean "layers"?'],
    ['"warmup"', '"warmpu"', 'config.json: at config.training.warmpu: unknown key; did you mean "warmup"?'],
    ['"validFraction": 0.1', '"validFraction": 1', "config.json: at config.data.source.validFraction: "],
    ['"decoder"', '"decodre"', 'config.json: at config.model.model: there is no model called "decodre"; did you mean "decoder"?'],
    ['"lm"', '"lmm"', "config.json: at config.task: "],
    ["{", "", "config.json: not JSON ("],
    ['"format": 1', '"format": 2', "config.json: at config.format: "],
    ['"width": 128', '"width": 1000000000000', "config.json: at config.model.width: "],
  ])("says where it is wrong: %s → %s", (right, wrong, sentence) => {
    expect(() => parseRunConfig(text.replace(right, wrong), "config.json")).toThrow(sentence);
  });

  it(`survives ${mutants} mutations: a config or a typed error, and never a model that would take all memory`, () => {
    for (let i = 0; i < mutants; i++) {
      try {
        const { model, training } = parseRunConfig(mutate(text, chance(9).fork(i)), "config.json");
        refuseTooBig(parametersOf(modelLoss(model)).total, model, training, 8e9);
      } catch (error) {
        if (!(error instanceof QkvError)) throw error;
      }
    }
  }, 600_000);
});

describe("a model that is too big", () => {
  const refused = (model: ModelConfig, given = {}, free = 8 * 2 ** 30) =>
    refuseTooBig(parametersOf(modelLoss(model)).total, model, { ...config.training, ...given }, free);

  it("is refused with the arithmetic", () => {
    const wide = modelConfig({ model: "decoder", layers: 48, width: 1600, heads: 25, context: 1024, vocab: 50257 });
    expect(() => refused(wide)).toThrow(
      "this model is too big to train here: 1,557,611,200 parameters × 4 bytes × 4 (weights, gradients, optimizer state) = 23.21 GiB, and 8 GiB are free; choose fewer layers, or a smaller width or vocab",
    );
    expect(() => refused(decoderConfig({ vocab: 65 }), { batch: 100_000 })).toThrow(
      /about [\d.]+ GiB for the activations of a batch of 100000, but 8 GiB are free/,
    );
    expect(() => refused(decoderConfig({ vocab: 65 }))).not.toThrow();
  });

  it("is an error of its own kind for flags", () => {
    expect(() => modelConfig({ model: "decoder", vocab: 65, layers: 1e6 })).toThrow(ConfigError);
  });
});
