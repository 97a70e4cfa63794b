import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { array } from "../../../src/base/arrays.ts";
import { chance } from "../../../src/base/chance.ts";
import { FormatError, QkvError } from "../../../src/base/errors.ts";
import { openGgufFile } from "../../../src/disk/gguf-file.ts";
import { ggufModel } from "../../../src/hub/gguf-model.ts";
import { matched } from "../../../src/hub/tensors.ts";
import { hubTokenizer } from "../../../src/hub/tokenizer.ts";
import { exportModel } from "../../../src/library/export.ts";
import { open } from "../../../src/library/trained.ts";
import { modelLoss } from "../../../src/models/any.ts";
import { compile } from "../../../src/node/device.ts";
import { parametersOf } from "../../../src/runtime/compile.ts";
import { type Gguf, type GgufTensor, type GgufValue, ggufNumbers, inMemory, parseGguf } from "../../../src/weights/gguf.ts";
import { ggufFile } from "../../support/gguf-files.ts";
import { mutateGguf } from "../../support/mutate-bytes.ts";
import reference from "./reference.json" with { type: "json" };

// Tiny random models of every architecture that is read, made with the Python package `gguf`, beside what transformers computes with them.

const folder = import.meta.dirname;
type Name = keyof typeof reference;
const names = Object.keys(reference) as Name[];
const fileOf = (name: string): string => join(folder, `${name}.gguf`);
const temporary = mkdtempSync(join(tmpdir(), "qkv-gguf-"));
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

it("has a reference for every file", () => {
  expect(
    readdirSync(folder)
      .filter((one) => one.endsWith(".gguf"))
      .sort(),
  ).toEqual(names.map((name) => `${name}.gguf`).sort());
});

it.each(names)("%s says what transformers says with the same numbers", async (name) => {
  const { tokens, logits } = reference[name];
  const { model, weights } = openGgufFile(fileOf(name));
  const fn = compile(modelLoss(model, { training: false }), { threads: 1 });
  const ids = array("int32", [tokens]);
  const { scores } = await fn.run({ ids, targets: ids }, { weights: weights("never used: it is small").buffer });
  const last = scores.data.slice(-model.vocab) as Float32Array;
  const furthest = logits.reduce((most, wanted, i) => Math.max(most, Math.abs(wanted - last[i])), 0);
  expect(furthest).toBeLessThan(2e-5);
  await fn.release();
});

it("reads SentencePiece's ids from scores, and knows which tokens stand around a text", () => {
  for (const name of ["llama2", "gemma2"] as const) {
    const { tokenizer } = openGgufFile(fileOf(name));
    for (const [text, ids] of Object.entries(reference[name].ids)) expect([...tokenizer.encode(text)], text).toEqual(ids);
    expect(tokenizer).toMatchObject({ start: 1, end: 2, unknown: 0, frame: { before: [1], after: [] } });
    expect(tokenizer.decode(tokenizer.encode("the cat — naïve 猫"))).toBe("the cat — naïve 猫");
    expect([...tokenizer.encode("<turn>")].at(-1)).toBe(3);
  }
});

it("reads byte-level merges, roles and the chat template", () => {
  const { tokenizer, record } = openGgufFile(fileOf("gpt2"));
  expect(tokenizer).toMatchObject({ start: 0, end: 0, ends: [0, 1], pad: 1 });
  expect(tokenizer.frame).toBeUndefined();
  expect(tokenizer.decode(tokenizer.encode(" the cat — naïve 猫"))).toBe(" the cat — naïve 猫");
  expect(tokenizer.encode(" the").length).toBe(1);
  expect(record.chatTemplate).toBe("{% for m in messages %}{{ m['content'] }}<|im_end|>{% endfor %}");
  expect(openGgufFile(fileOf("llama3")).tokenizer.frame).toEqual({ before: [0], after: [] }); // llama.cpp begins there unless it is told not to
});

it.each(names)("%s comes back from an export bit for bit, and nearly in 16 and 8 bits", async (name) => {
  await using given = open(fileOf(name), { warn: false });
  const written = async (weights: "f32" | "f16" | "q8") => {
    const out = join(temporary, `${name}-${weights}`);
    await exportModel(given, { to: "gguf", out, weights, warn: false });
    return openGgufFile(join(out, "model.gguf"));
  };
  const again = await written("f32");
  expect(again.model).toEqual(given.model);
  expect(again.record).toEqual({ ...given.hub, dtype: "F32" });
  expect(JSON.parse(again.tokenizerText)).toEqual(given.tokenizer.json);
  const entries = parametersOf(modelLoss(given.model)).entries;
  const [numbers, theirs] = [given.weights, again.weights("never used")];
  for (const entry of entries) expect(theirs.numbers(entry.name), entry.name).toEqual(numbers.numbers(entry.name));
  for (const [kept, bound] of [
    ["f16", 2 ** -11],
    ["q8", 0.57 / 127], // half a step, and a scale of 16 bits
  ] as const) {
    const rounded = (await written(kept)).weights("never used");
    for (const { name: own, shape } of entries) {
      const [wanted, found] = [numbers.numbers(own), rounded.numbers(own)];
      const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      expect(
        wanted.every((value, i) => Math.abs(value - found[i]) <= 1.01 * bound * largest),
        `${kept} ${own} ${shape}`,
      ).toBe(true);
    }
  }
});

/** A file with other metadata, or without some tensors. */
function changed(
  name: Name,
  metadata: Readonly<Record<string, GgufValue | undefined>>,
  tensors: (name: string) => string | undefined = (one) => one,
  factor = 1,
): string {
  const bytes = readFileSync(fileOf(name));
  const given: Gguf = parseGguf(inMemory(bytes), name);
  const all = new Map(given.metadata);
  for (const [key, value] of Object.entries(metadata)) value === undefined ? all.delete(key) : all.set(key, value);
  const kept = [...given.tensors].flatMap(([one, tensor]) => {
    const called = tensors(one);
    return called === undefined
      ? []
      : [
          [
            called,
            {
              type: "F32",
              shape: tensor.shape,
              numbers: ggufNumbers(tensor, bytes.subarray(tensor.begin, tensor.end)).map((value) => factor * value),
            },
          ] as const,
        ];
  });
  const file = join(temporary, "changed.gguf");
  writeFileSync(file, ggufFile(all, new Map(kept)));
  return file;
}

function refusal(file: string): string {
  try {
    openGgufFile(file).weights("never used");
  } catch (error) {
    expect(error).toBeInstanceOf(QkvError);
    return (error as Error).message.replaceAll(file, "file");
  }
  throw new Error("nothing was refused");
}

const text = (value: string): GgufValue => ({ type: "string", value });

it.each([
  ['file: the architecture "mamba" is not known; those that are read are llama, qwen2, ', { "general.architecture": text("mamba") }],
  ["file: there is no general.architecture", { "general.architecture": undefined }],
  ["file: one setting is not understood for llama: logit_scale: 2 is not known", { "llama.logit_scale": { type: "uint32", value: 2 } }],
  [
    "file: one setting is not understood for llama: expert_count is 8, and 0 is wanted",
    { "llama.expert_count": { type: "uint32", value: 8 } },
  ],
  [
    'file: one setting is not understood for llama: rope.scaling.type is "yarn", and none or linear is wanted',
    { "llama.rope.scaling.type": text("yarn") },
  ],
  ["file: one setting is not understood for llama: block_count is missing", { "llama.block_count": undefined }],
  ['file: the tokenizer "bert" is not read; those that are are gpt2', { "tokenizer.ggml.model": text("bert") }],
  ['file: texts are cut in the way "moon" (tokenizer.ggml.pre), which is not known', { "tokenizer.ggml.pre": text("moon") }],
  ["file: tokenizer.ggml.tokens is missing or empty", { "tokenizer.ggml.tokens": undefined }],
  [
    "file: tokenizer.ggml.token_type is not what it should be: a list of 280 numbers",
    { "tokenizer.ggml.token_type": { type: "array", of: "int32", value: [1] } },
  ],
  [
    "file: tokenizer.ggml.eos_token_id is not what it should be: the number of one of 280 tokens",
    { "tokenizer.ggml.eos_token_id": { type: "uint32", value: 280 } },
  ],
  ['file: the merge "ab" has no space between its two tokens', { "tokenizer.ggml.merges": { type: "array", of: "string", value: ["ab"] } }],
  ["file: the tensors are not those of this config (Llama); missing (18)", { "llama.block_count": { type: "uint32", value: 4 } }],
] as const)("says: %s", (message, metadata) => {
  expect(refusal(changed("llama3", metadata))).toContain(message);
});

it("names tensors that are missing or not known, and factors that follow from nothing", () => {
  expect(refusal(changed("llama3", {}, (one) => (one === "output_norm.weight" ? undefined : one)))).toContain(
    'missing (1): "model.norm.weight"',
  );
  expect(refusal(changed("llama3", {}, (one) => (one === "output_norm.weight" ? "v.patch.weight" : one)))).toContain(
    'unexpected (1): "v.patch.weight"',
  );
  expect(refusal(changed("llama3", {}, (one) => (one === "token_embd.weight" ? undefined : one)))).toContain(
    "there is no token_embd.weight",
  );
  const swapped = changed("llama3", { "llama.rope.freq_base": { type: "float32", value: 3 } });
  expect(refusal(swapped)).toContain("rope_freqs.weight has factors that do not come from the scaling of Llama 3");
});

it("refuses a file that was cut short or is none", () => {
  const file = join(temporary, "short.gguf");
  writeFileSync(file, readFileSync(fileOf("qwen2")).subarray(0, 20_000));
  expect(() => openGgufFile(file)).toThrow(FormatError);
  expect(() => open(file)).toThrow(/it was cut short$/);
  expect(() => open(join(temporary, "none.gguf"))).toThrow("there is no such file");
});

it("does not write what 16 bits cannot hold", async () => {
  await using given = open(
    changed("gpt2", {}, (one) => one, 1e6),
    { warn: false },
  );
  const written = (weights: "f32" | "f16") =>
    exportModel(given, { to: "gguf", out: join(temporary, `large-${weights}`), weights, warn: false });
  await expect(written("f16")).rejects.toThrow(
    /^tensor token_embd.weight has \S+, which 16 bits cannot hold; keep it with weights: "f32"$/,
  );
  await written("f32");
  expect(existsSync(join(temporary, "large-f16"))).toBe(false);
});

const mutants = Number(process.env.QKV_FUZZ ?? 200);

/** Most damages leave the model or the tokenizer as it was, and what is made of it is the same again. */
function remembering(): <Made>(key: string, make: () => Made) => Made {
  const known = new Map<string, unknown>();
  return <Made>(key: string, make: () => Made): Made => {
    if (!known.has(key)) known.set(key, make());
    return known.get(key) as Made;
  };
}

it("meets damaged files with a sentence, or reads them as a model that fits", () => {
  const whole = new Uint8Array(readFileSync(fileOf("llama2")));
  const once = remembering();
  let refused = 0;
  for (let i = 0; i < mutants; i++) {
    const damaged = mutateGguf(whole, chance(3).fork(i));
    try {
      const gguf = parseGguf(inMemory(damaged), "file");
      const numbers = (name: string) => {
        const { begin, end, ...tensor } = gguf.tensors.get(name) as GgufTensor;
        return ggufNumbers(tensor, damaged.subarray(begin, end));
      };
      const { model, family, places, record, tokenizerText } = ggufModel(gguf, numbers, "file");
      once(JSON.stringify([tokenizerText, record]), () => hubTokenizer(tokenizerText, "file", record));
      const shapes = new Map([...places].map(([name, { shape }]) => [name, shape]));
      const layout = once(JSON.stringify(model), () => parametersOf(modelLoss(model)));
      matched(family, model, layout, { where: "file", shapes });
    } catch (error) {
      if (!(error instanceof QkvError)) throw new Error(`mutant ${i}: ${error instanceof Error ? error.stack : error}`);
      expect(error.message).toMatch(/^[^\n]{1,4000}$/u);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(0.4 * mutants);
});
