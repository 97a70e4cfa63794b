import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import type { Batches } from "../../src/batches/batch.ts";
import { openHubFolder } from "../../src/disk/hub-folder.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import {
  joinedInFamily,
  namedTargets,
  oursOfPeft,
  parsePeftConfig,
  peftChanges,
  peftConfig,
  peftModules,
  peftTensors,
} from "../../src/hub/peft.ts";
import { modelLoss } from "../../src/models/any.ts";
import { adapted, adaptedMatrices, adapterLayout, loraTargets } from "../../src/models/lora.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { changesOf } from "../../src/runs/adapter.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
import { AdamW } from "../../src/training/adam.ts";
import { fit as trainSteps } from "../../src/training/fit.ts";
import { changedWeights } from "../../src/weights/adapted.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { loadParameters } from "../../src/weights/load.ts";
import { readSafetensors } from "../../src/weights/safetensors.ts";
import type { Weights } from "../../src/weights/weights.ts";

// Numbers of Python's transformers and peft, made by test/hub/lora/reference.py.

interface Reference {
  readonly ids: number[][][];
  readonly rate: number;
  readonly decay: number;
  readonly full: number[];
  readonly lora: number[];
  readonly prompt: number[];
  readonly logits: Readonly<Record<"base" | "trained" | "patterns", number[][]>>;
}

const at = (...names: string[]) => join(import.meta.dirname, "lora", ...names);
const reference: Reference = JSON.parse(readFileSync(at("reference.json"), "utf8"));
const { family, model, ...folder } = openHubFolder(at("llama"));
const base = folder.weights(mkdtempSync(join(tmpdir(), "qkv-lora-")));
const device = nodeDevice({ threads: 1 });
const lora = { rank: 4, alpha: 8, dropout: 0, targets: ["q", "k", "v", "out", "gate", "expand", "contract"] };
const matrices = adaptedMatrices(modelLoss(model), lora);
const modules = peftModules(model, family);
const tensorsOf = (name: string) =>
  readSafetensors(readFileSync(at(name, "adapter_model.safetensors")), at(name, "adapter_model.safetensors")).tensors;
const configOf = (name: string) => JSON.parse(readFileSync(at(name, "adapter_config.json"), "utf8"));

const batches: Batches = {
  perEpoch: reference.ids.length,
  batch(index) {
    const rows = reference.ids[index];
    const shape = [rows.length, rows[0].length - 1];
    const part = (from: number) => array("int32", Int32Array.from(rows.flatMap((row) => row.slice(from, from + shape[1]))), shape);
    const count = shape[0] * shape[1];
    return { feeds: { ids: part(0), targets: part(1) }, targets: count, tokens: count, places: count };
  },
};

async function lossesOf(optimizer: AdamW, options: { loss: ReturnType<typeof modelLoss>; baked?: object }): Promise<number[]> {
  const losses: number[] = [];
  const { rate } = reference;
  const steps = trainSteps(options.loss, optimizer, batches, {
    steps: reference.ids.length,
    learningRate: () => rate,
    chance: chance(1),
    device,
    baked: options.baked,
    clock: () => 0,
  });
  for await (const report of steps) if (report.kind === "step") losses.push(report.loss);
  return losses;
}

const farthest = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

async function logits(weights: Weights): Promise<Float32Array> {
  const { prompt } = reference;
  const fed = array("int32", Int32Array.from(prompt), [1, prompt.length]);
  const compiled = compile(modelLoss(model, { training: false }), { device, outputs: ["scores"] });
  try {
    const { scores } = await compiled.run({ ids: fed, targets: fed }, { weights: weights.buffer });
    return scores.data as Float32Array;
  } finally {
    await compiled.release();
  }
}

test("five steps of full fine-tuning have PyTorch's losses", async () => {
  const optimizer = new AdamW(parametersOf(modelLoss(model)), { weightDecay: reference.decay });
  optimizer.weights.data.set(base.buffer.data);
  expect(farthest(await lossesOf(optimizer, { loss: modelLoss(model, { ignore: null }) }), reference.full)).toBeLessThan(2e-5);
});

test("five steps of LoRA have the losses, and end in the adapter, of PyTorch and PEFT", async () => {
  const loss = adapted(modelLoss(model, { ignore: null }), lora);
  const optimizer = new AdamW(adapterLayout(loss));
  loadParameters(optimizer.weights, oursOfPeft(matrices, modules, tensorsOf("start")), "start");
  const frozen = new Set(parametersOf(modelLoss(model)).entries.map(({ name }) => name));
  const baked = { weights: (name: string) => (frozen.has(name) ? base.source(name) : undefined), folder: base.folder };
  expect(farthest(await lossesOf(optimizer, { loss, baked }), reference.lora)).toBeLessThan(2e-5);
  const theirs = tensorsOf("trained");
  const ours = peftTensors(matrices, modules, optimizer.weights);
  expect(ours.map(([name]) => name).sort()).toEqual([...theirs.keys()].sort());
  for (const [name, { data, shape }] of ours) {
    expect(shape).toEqual(theirs.get(name)?.shape);
    expect(farthest(data as Float32Array, theirs.get(name)?.data as Float32Array)).toBeLessThan(1e-4);
  }
});

test("adapters that PEFT wrote say what they say in Python: also with ranks and alphas of their own, and with rsLoRA", async () => {
  expect(farthest(await logits(base), reference.logits.base.flat())).toBeLessThan(2e-5);
  for (const name of ["trained", "patterns"] as const) {
    const config = parsePeftConfig(configOf(name), name);
    const changes = peftChanges(config, tensorsOf(name), { modules, family, where: name });
    const said = await logits(changedWeights(base, parametersOf(modelLoss(model)), changes));
    expect(farthest(said, reference.logits[name].flat())).toBeLessThan(5e-5);
    expect(farthest(said, reference.logits.base.flat())).toBeGreaterThan(0.05);
  }
});

test("an adapter's config is the one that PEFT writes, and its tensors come back as they went", () => {
  const theirs = configOf("trained");
  const ours = peftConfig(lora, { matrices, modules, base: "llama", task: "lm" });
  for (const [key, value] of Object.entries(ours)) {
    const found = theirs[key];
    expect({ [key]: Array.isArray(found) ? [...found].sort() : found }).toEqual({ [key]: value });
  }
  const buffer = new ParameterBuffer(adapterLayout(adapted(modelLoss(model), lora)));
  loadParameters(buffer, oursOfPeft(matrices, modules, tensorsOf("trained")), "trained");
  const back = new Map(peftTensors(matrices, modules, buffer));
  for (const [name, { data }] of tensorsOf("trained")) expect(back.get(name)?.data).toEqual(data);
});

test("what an adapter has that is not read is told by name", () => {
  const good = configOf("trained");
  const said = (change: object) => () => parsePeftConfig({ ...good, ...change }, "adapter_config.json");
  expect(said({ use_dora: true, bias: "all", modules_to_save: ["lm_head"] })).toThrow(
    'adapter_config.json: this adapter has what is not read here: use_dora; bias "all" (only none); modules_to_save "lm_head". Merge it in Python',
  );
  expect(said({ peft_type: "IA3" })).toThrow('peft_type "IA3" (only LORA)');
  expect(said({ target_parameters: ["x"] })).toThrow("target_parameters");
  expect(said({ init_lora_weights: "pissa" })).toThrow("which changes the base too");
  expect(said({ r: 0 })).toThrow("r: ");
  const tensors = new Map([...tensorsOf("trained")].map(([name, x]) => [name.replace("layers.1.", "layers.7."), x]));
  const config = parsePeftConfig(good, "");
  expect(() => peftChanges(config, tensors, { modules, family, where: "here" })).toThrow(
    /^here: the adapter does not fit this model; tensors that are no adapter of this model: "base_model\.model\.model\.layers\.7/,
  );
  const narrow = new Map(
    [...tensorsOf("trained")].map(([name, x]) => [name, name.includes("q_proj.lora_A") ? { ...x, shape: [2, 48] } : x]),
  );
  expect(() => peftChanges(config, narrow, { modules, family, where: "here" })).toThrow(
    "of another shape: model.layers.0.self_attn.q_proj has A [2,48] and B [32,4] beside [32, 24]",
  );
});

const families = "gpt2 llama llama3 mistral qwen2 qwen3 gemma gemma2 gemma3 neox pythia phi phi3 opt bert-classify t5 bart".split(" ");

test.each(families)("%s: adapters have the family's names, and go there and back bit by bit", (name) => {
  const found = openHubFolder(join(import.meta.dirname, "models", name));
  const own = peftModules(found.model, found.family);
  const names = new Set(own.map((module) => module.name));
  const joined = joinedInFamily(found.model, found.family);
  const all = loraTargets(modelLoss(found.model), ["all"], { whole: joined });
  const named = namedTargets(adaptedMatrices(modelLoss(found.model), { targets: all }), own);
  const wide = { rank: 2, alpha: 3, dropout: 0, targets: all.filter((target) => named.has(target)) };
  expect(all.filter((target) => !named.has(target))).toEqual(name === "phi3" ? ["gate", "expand"] : []);
  expect(joined).toBe(["gpt2", "neox", "pythia", "phi3"].includes(name));
  const list = adaptedMatrices(modelLoss(found.model), wide);
  const buffer = initialise(adapterLayout(adapted(modelLoss(found.model), wide)), chance(4));
  for (const { name: parameter } of buffer.layout.entries) {
    const source = chance(5).fork(parameter);
    const data = buffer.view(parameter).data as Float32Array;
    for (let i = 0; i < data.length; i++) data[i] = source.normal(i);
  }
  const theirs = new Map(peftTensors(list, own, buffer));
  for (const tensor of theirs.keys()) expect(names).toContain(tensor.replace(/^base_model\.model\.(.*)\.lora_[AB]\.weight$/, "$1"));
  const back = new ParameterBuffer(buffer.layout);
  loadParameters(back, oursOfPeft(list, own, theirs), name);
  expect(back.data).toEqual(buffer.data);
  // read as a stranger's, it changes what our own adapter changes
  const config = parsePeftConfig(peftConfig(wide, { matrices: list, modules: own, base: name, task: "lm" }), name);
  const [read, meant] = [peftChanges(config, theirs, { modules: own, family: found.family, where: name }), changesOf(list, wide, buffer)];
  expect([...read.keys()].sort()).toEqual([...meant.keys()].sort());
  for (const { name: parameter, out, from } of list) {
    const [one, other] = [new Float32Array(out * from), new Float32Array(out * from)];
    read.get(parameter)?.(one);
    meant.get(parameter)?.(other);
    expect(one).toEqual(other);
  }
});
