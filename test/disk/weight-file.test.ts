import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FormatError, RunError } from "../../src/base/errors.ts";
import { speakerOf } from "../../src/generation/speaker.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { type ModelConfig, modelConfig } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { trainingDefaults } from "../../src/runs/defaults.ts";
import { type OpenRun, openRun, runWeights, sha256, writeRun } from "../../src/runs/folder.ts";
import { type Precision, precisions } from "../../src/runtime/device.ts";
import { saveTokenizer, trainTokenizer } from "../../src/tokens/index.ts";
import { baked } from "../../src/trained/baked.ts";
import { parametersAsTensors } from "../../src/weights/load.ts";
import { safetensorsParts } from "../../src/weights/safetensors.ts";
import { type Weights, weightsInMemory } from "../../src/weights/weights.ts";
import { clearWeights } from "../generation/whole-model.ts";
import { fileOf, joined } from "../support/safetensors-files.ts";

const place = mkdtempSync(join(tmpdir(), "qkv-weights-"));
afterAll(() => rmSync(place, { recursive: true }));

const tokenizer = await trainTokenizer("char", ["a bit of text"]);
const decoder = modelConfig({ model: "decoder", layers: 2, heads: 2, width: 40, context: 16, vocab: tokenizer.size });
const translator = modelConfig({ model: "encoder-decoder", layers: 1, heads: 2, width: 40, context: 16, vocab: tokenizer.size });
const rnn = modelConfig({ model: "rnn", width: 40, context: 16, vocab: tokenizer.size });

/** A run folder with this file of weights, or without one. */
function run(name: string, model: ModelConfig, file?: Uint8Array): OpenRun {
  const folder = join(place, name);
  mkdirSync(folder);
  const task = model.model === "decoder" ? "lm" : "translate";
  const data = { source: { kind: "files" as const, files: ["/a.txt"], validFraction: 0.1 }, sha256: "11", train: 9, valid: 1 };
  const training = trainingDefaults(task, {}, { width: 40, threads: 1 });
  writeRun(
    folder,
    { format: 1, task, model, tokenizer: { kind: "char", sha256: sha256(saveTokenizer(tokenizer)) }, data, training },
    tokenizer,
  );
  if (file) writeFileSync(join(folder, "model.safetensors"), file);
  return openRun(folder);
}

const saved = (weights: ParameterBuffer): Uint8Array => Buffer.concat(safetensorsParts(parametersAsTensors(weights)));

/** All that a model says of a few rows that join and go on. */
async function said(model: ModelConfig, weights: Weights, precision: Precision = "f32"): Promise<number[]> {
  const speaker = speakerOf(model, baked(weights, nodeDevice({ threads: 1, precision })));
  const speech = speaker.begin();
  const source = model.model === "decoder" ? {} : { source: Int32Array.of(4, 5, 3) };
  const first = await speech.join([
    { ids: [1, 4], ...source },
    { ids: [3], ...source },
  ]);
  const numbers = first.flatMap(({ scores, total }) => [...scores, total]);
  const second = await speech.next([5, 6]);
  numbers.push(...second.flatMap(({ scores, total }) => [...scores, total]));
  await speaker.release();
  return numbers;
}

describe("weights that the engine reads from the run's own file", () => {
  it.each([decoder, translator, rnn])("say the same as weights in memory: $model", async (model) => {
    const weights = clearWeights(model);
    const file = runWeights(run(`same-${model.model}`, model, saved(weights)));
    for (const { name } of weights.layout.entries) {
      expect(file.numbers(name)).toEqual(weights.view(name).data);
      expect(file.source(name).kind).toBe("external");
    }
    for (const precision of precisions)
      expect(await said(model, file, precision)).toEqual(await said(model, weightsInMemory(weights), precision));
  });

  it("may begin at any byte", async () => {
    const weights = clearWeights(decoder);
    const [, header, ...data] = safetensorsParts(parametersAsTensors(weights));
    for (const spaces of [1, 2, 3]) {
      const longer = `${new TextDecoder().decode(header)}${" ".repeat(spaces)}`;
      const file = runWeights(run(`odd-${spaces}`, decoder, joined([fileOf(longer), ...data])));
      expect(await said(decoder, file)).toEqual(await said(decoder, weightsInMemory(weights)));
    }
  });
});

/** The 16 bits of a number that they can hold exactly. */
function halfBits(value: number): number {
  if (value === 0) return 0;
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | ((Math.abs(value) / 2 ** exponent - 1) * 1024);
}

it("numbers of 16 bits are turned into ours", async () => {
  const clear = clearWeights(decoder);
  const weights = new ParameterBuffer(clear.layout, clear.data.map((weight) => Math.round(weight * 64) / 64 + 0) as Float32Array);
  let begin = 0;
  const entries = weights.layout.entries.map(({ name, shape, length }) => {
    const entry = [name, { dtype: "F16", shape, data_offsets: [begin, begin + 2 * length] }];
    begin += 2 * length;
    return entry;
  });
  const halves = new Uint8Array(Uint16Array.from(weights.data, halfBits).buffer);
  const file = runWeights(run("halves", decoder, joined([fileOf(JSON.stringify(Object.fromEntries(entries))), halves])));
  expect(await said(decoder, file)).toEqual(await said(decoder, weightsInMemory(weights)));
  expect(file.numbers("decoder/tokens")).toEqual(weights.view("decoder/tokens").data);
});

it("a file that another has taken the place of is refused, whoever asks: training replaces it", () => {
  const old = run("replaced", decoder, saved(clearWeights(decoder)));
  const file = join(old.folder, "model.safetensors");
  const weights = runWeights(old);
  const held = runWeights(old);
  const { buffer } = held; // what was read stays
  const next = clearWeights(decoder);
  next.data.fill(1);
  writeFileSync(`${file}.next`, saved(next));
  renameSync(`${file}.next`, file);
  const changed = expect.objectContaining({
    code: "run.changed",
    message: expect.stringContaining(`${file} has changed since it was opened`),
  });
  for (const ask of [() => weights.numbers("decoder/tokens"), () => weights.source("decoder/tokens"), () => weights.buffer])
    expect(ask).toThrow(changed);
  expect(held.buffer).toBe(buffer);
  rmSync(file);
  expect(() => weights.numbers("decoder/tokens")).toThrow(changed);
});

describe("files that are not the run's weights", () => {
  const good = saved(clearWeights(decoder));

  it("are missing", () => {
    const without = run("missing", decoder);
    expect(() => runWeights(without)).toThrow(RunError);
    expect(() => runWeights(without)).toThrow(`${without.folder} has no model.safetensors`);
  });

  it.each([
    ["empty", new Uint8Array(0)],
    ["cut within the header's length", good.slice(0, 5)],
    ["cut within the header", good.slice(0, 100)],
    ["cut within the numbers", good.slice(0, -1)],
    ["longer than they say", joined([good, new Uint8Array(1)])],
    ["another format", new TextEncoder().encode("version https://git-lfs.github.com/spec/v1\noid sha256:1234\n")],
    ["another model's", saved(clearWeights(rnn))],
    ["of other sizes", saved(clearWeights(modelConfig({ ...decoder, width: 42 })))],
    ["of more layers", saved(clearWeights(modelConfig({ ...decoder, layers: 3 })))],
    ["of fewer layers", saved(clearWeights(modelConfig({ ...decoder, layers: 1 })))],
  ])("are refused: %s", (name, file) => {
    const wrong = run(name.replaceAll(" ", "-"), decoder, file);
    expect(() => runWeights(wrong)).toThrow(FormatError);
    expect(() => runWeights(wrong)).toThrow(join(wrong.folder, "model.safetensors"));
  });
});
