import { describe, expect, it } from "vitest";
import { z } from "zod";
import { modelFlags, trainingFlags } from "../../src/cli/flags.ts";
import { type ModelName, modelNames, modelsFor } from "../../src/models/any.ts";
import { encoderDecoderConfig, modelSchemas } from "../../src/models/config.ts";
import { type Option, type OptionKind, optionGroups } from "../../src/models/option.ts";
import { modelOptions } from "../../src/models/options.ts";
import { trainingConfig } from "../../src/runs/config.ts";
import { trainingDefaults } from "../../src/runs/defaults.ts";
import { modelWith } from "../../src/runs/prepare.ts";
import { type Task, taskNames } from "../../src/text/columns.ts";
import { options, trainingOptions } from "../../src/training/options.ts";

// The table of options says what the schemas accept, and what is taken where nothing is said.

/** Options of a model that follow from its data, or from its task. */
const settled = ["model", "task", "vocab", "sourceVocab", "labels", "labelling", "normalise"];

type Described = Readonly<Record<string, unknown>> & { readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
const described = (model: ModelName) => z.toJSONSchema(modelSchemas[model], { io: "input" }) as unknown as Described;

const kindIn = ({
  type,
  enum: names,
  minimum,
  exclusiveMinimum,
  maximum,
  exclusiveMaximum,
}: Readonly<Record<string, unknown>>): unknown => {
  if (Array.isArray(names)) return { kind: "choice", choices: names };
  if (type === "boolean") return { kind: "switch" };
  const ends = { from: minimum ?? exclusiveMinimum, to: maximum ?? exclusiveMaximum };
  return { kind: "number", ...ends, whole: type === "integer", above: exclusiveMinimum !== undefined };
};

const kindOf = (option: OptionKind): unknown =>
  option.kind === "choice"
    ? { kind: "choice", choices: option.choices.map(({ name }) => name) }
    : option.kind === "number"
      ? { kind: "number", from: option.from, to: option.to, whole: option.whole, above: option.above ?? false }
      : { kind: option.kind };

const modelsOf = ({ models = modelNames }: Option): readonly ModelName[] => models;

describe.each(modelNames)("the options of a model: %s", (model) => {
  const { properties } = described(model);
  const own = modelOptions.filter((option) => option.name !== "model.model" && modelsOf(option).includes(model));

  it("are those of its schema, each once", () => {
    const names = Object.keys(properties).filter((name) => !settled.includes(name));
    expect(own.map(({ name }) => name.slice("model.".length)).sort()).toEqual(names.sort());
  });

  it.each(own)("$name is of the kind that the schema has", (option) => {
    const name = option.name.slice("model.".length);
    const found = kindIn(properties[name]);
    if (name === "layers" && model !== "encoder")
      expect(found).toMatchObject({ from: 1, to: 1000 }); // an encoder may have none
    else expect(kindOf(option)).toEqual(found);
  });
});

describe("what is taken where nothing is said", () => {
  const all = taskNames.flatMap((task) => modelsFor(task).map((model) => [task, model] as const));
  it.each(all)("%s by %s", (task: Task, model) => {
    const config = modelWith(task, model, {}, { vocab: 10, ...(task === "classify" || task === "tag" ? { labels: 2 } : {}), context: 8 });
    const training = trainingDefaults(task, {}, { width: 128, threads: 1 });
    for (const option of options) {
      if (option.usual === undefined || !modelsOf(option).includes(model)) continue;
      if (option.tasks && !option.tasks.includes(task)) continue;
      const inModel = option.name.startsWith("model.");
      const name = option.name.replace("model.", "");
      const found: unknown = Object.entries(inModel ? config : training).find(([key]) => key === name)?.[1];
      if (!inModel && !(name in training)) continue; // of data and machine
      expect([option.name, found]).toEqual([option.name, option.usual]);
    }
  });
});

it("places are told in cross-attention of a new translator, and its queries and keys normalised, where its positions can, unless somebody says no", () => {
  const across = (given: object, model: "encoder-decoder" | "rnn" = "encoder-decoder") =>
    Reflect.get(modelWith("translate", model, { ...given }, { vocab: 10, context: 8 }), "crossPositions");
  expect([across({}), across({ crossPositions: false }), across({ positions: "learned" }), across({}, "rnn")]).toEqual([
    true,
    false,
    false,
    undefined,
  ]);
  const normed = (given: object) =>
    Reflect.get(modelWith("translate", "encoder-decoder", { ...given }, { vocab: 10, context: 8 }), "qkNorm");
  const unlike = [{ qkNorm: false }, { positions: "learned" }, { score: "dot" }, { attention: "linear" }].map(normed);
  expect([normed({}), ...unlike]).toEqual([true, false, false, false, false]);
  const before = encoderDecoderConfig({ vocab: 10, positions: "rotary" }); // as a config.json of before has it
  expect([before.crossPositions, before.qkNorm]).toEqual([false, false]);
});

describe("the options of training", () => {
  const usual = trainingDefaults("lm", {}, { width: 128, threads: 1 });
  const accepts = (path: readonly string[], value: unknown) => {
    const [name, inner] = path;
    const given = inner === undefined ? value : { rank: 2, alpha: 1, dropout: 0, targets: ["q"], [inner]: value };
    try {
      return trainingConfig({ ...usual, [name]: given }) !== undefined;
    } catch {
      return false;
    }
  };
  const numbers = trainingOptions.filter(({ name, kind }) => kind === "number" && !["vocab", "validFraction"].includes(name));

  it.each(numbers)("$name has the range that is accepted", (option) => {
    if (option.kind !== "number") return;
    const path = option.name.split(".");
    const { from, to, below, whole } = option;
    const beyond = to === Number.MAX_SAFE_INTEGER ? 2 * to : to + 1;
    expect([from, to, from - 1, beyond].map((value) => accepts(path, value))).toEqual([true, !below, false, false]);
    if (!below) expect(accepts(path, from + 0.5)).toBe(!whole);
  });

  it.each(trainingOptions.filter(({ name }) => ["schedule", "optimizer", "calibrate", "device"].includes(name)))(
    "$name has the choices that are accepted",
    (option) => {
      const names = option.kind === "choice" ? option.choices.map(({ name }) => name) : [];
      expect(names.filter((name) => name !== "auto").every((name) => accepts([option.name], name))).toBe(true);
      expect(accepts([option.name], "something")).toBe(false);
    },
  );
});

it("every flag of a model or a training is in the table, and every option has words and a group", () => {
  const dotless = new Map(options.map((option) => [option.name.replace(/^model\./, ""), option]));
  for (const flag of [...modelFlags, ...trainingFlags]) {
    const name = flag.attributeName();
    if (name !== "ffn" && name !== "softcap") expect(dotless.has(name), name).toBe(true);
  }
  for (const { name, group, what, explanation, usual, chosen } of options) {
    expect(optionGroups.map((one) => one.name)).toContain(group);
    expect(what.length, name).toBeGreaterThan(3);
    expect(explanation, name).toMatch(/^[A-Z0-9].*\.$/);
    expect(usual !== undefined || chosen !== undefined, name).toBe(true);
  }
});
