import { existsSync, readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { openGgufFile } from "../../src/disk/gguf-file.ts";
import { modelLoss } from "../../src/models/any.ts";
import { runWeights } from "../../src/runs/folder.ts";
import { openModel } from "../../src/runs/open-model.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { inMemory, parseGguf } from "../../src/weights/gguf.ts";
import { contents, expectRefusal, tiny, Workplace } from "../support/command.ts";
import { rhyme } from "./samples.ts";

// Models that were trained here as files of llama.cpp, and those files in every command that takes a run.

const place = new Workplace();
const sizes = "--layers 2 --heads 4 --width 32 --context 16 --batch 4 --steps 30 --threads 1 --quiet".split(" ");
const llama = "--positions rotary --norm rms --activation swiglu".split(" ");
const gpt2 = "--positions learned --norm layer --activation gelu".split(" ");

beforeAll(async () => {
  place.write("rhyme.txt", rhyme);
  await place.done("train", "rhyme.txt", ...sizes, ...llama, "--kv-heads", "2", "--tokenizer", "bpe", "--out", "llama");
  await place.done("train", "rhyme.txt", ...sizes, ...gpt2, "--tokenizer", "byte", "--out", "gpt2");
});

const greedy = async (model: string) => (await place.done("generate", model, "The", "--tokens", "20", "--temperature", "0")).stdout;

describe.each([
  ["llama", "llama"],
  ["gpt2", "gpt2"],
])("a decoder shaped like %s", (run, architecture) => {
  it("is written with its tokenizer, and comes back bit for bit", async () => {
    const { stdout, stderr } = await place.done("export", run, "--to", "gguf", "--weights", "f32", "--out", `${run}-f32`);
    expect(stdout).toContain(`${run}-f32/model.gguf`);
    expect(stderr.includes("GELU by the formula with tanh")).toBe(run === "gpt2");
    const [file, own] = [openGgufFile(place.path(`${run}-f32`, "model.gguf")), openModel(place.path(run))];
    // what a run may leave out, a file says
    const said = run === "gpt2" ? { epsilon: 1e-5, hidden: 128 } : { epsilon: 1e-6 };
    expect(file.model).toEqual({ ...own.config.model, ...said, dropout: 0 });
    const [theirs, ours] = [file.weights("never used"), runWeights(own)];
    for (const { name } of parametersOf(modelLoss(file.model)).entries) expect(theirs.numbers(name), name).toEqual(ours.numbers(name));
    for (const text of ["The cat sat", "Straße 😀\n\n it's"]) expect(file.tokenizer.encode(text)).toEqual(own.tokenizer.encode(text));
    expect(file.record.config.model_type).toBe(architecture);
  });

  it("writes the same text from the file", async () => {
    expect(await greedy(`${run}-f32/model.gguf`)).toBe(await greedy(run));
  });
});

it("keeps matrices in 16 or 8 bits, and norms and biases as they are", async () => {
  for (const [weights, type] of [
    ["f16", "F16"],
    ["q8", "Q8_0"],
  ] as const) {
    await place.done("export", "llama", "--to", "gguf", "--weights", weights, "--out", weights);
    const file = parseGguf(
      inMemory(new Uint8Array(await import("node:fs/promises").then(({ readFile }) => readFile(place.path(weights, "model.gguf"))))),
      weights,
    );
    const types = (matrices: boolean) =>
      new Set([...file.tensors.values()].filter(({ shape }) => shape.length > 1 === matrices).map((one) => one.type));
    expect([...types(false)]).toEqual(["F32"]);
    expect(types(true).has(type)).toBe(true);
  }
});

it("takes a file wherever it takes a run", async () => {
  const file = "llama-f32/model.gguf";
  expect((await place.done("info", file)).stdout).toContain("came as     Llama, LlamaForCausalLM, F32");
  expect((await place.done("cost", file)).stdout).toMatch(/parameters/);
  expect((await place.done("eval", file, "rhyme.txt", "--json")).stdout).toMatch(/"loss":/);
  await place.done("look", file, "The cat sat", "--out", "look.svg");
  expect(existsSync(place.path("look.svg"))).toBe(true);
  await place.done("import", file, "--out", "imported");
  expect(await greedy("imported")).toBe(await greedy("llama"));
  expect(contents(place.path("llama-f32"))).toHaveProperty("model.gguf"); // nothing was written beside it
  expect(readdirSync(place.path("llama-f32")).sort()).toEqual(["README.md", "model.gguf"]);
});

describe("refuses", () => {
  it("a tokenizer that GGUF has no place for", async () => {
    await place.done("train", "rhyme.txt", ...tiny, "--quiet", ...llama, "--tokenizer", "char", "--out", "char");
    expectRefusal(
      await place.qkv("export", "char", "--to", "gguf", "--out", "no"),
      2,
      /a tokenizer of the kind char has no place in GGUF \(only bpe, byte/,
    );
    expect(existsSync(place.path("no"))).toBe(false);
  });

  it("a decoder that llama.cpp has none of, with every reason", async () => {
    await place.done("train", "rhyme.txt", ...tiny, "--quiet", "--positions", "alibi", "--tokenizer", "bpe", "--out", "alibi");
    expectRefusal(
      await place.qkv("export", "alibi", "--to", "gguf", "--out", "no"),
      2,
      /not like Llama: positions is alibi \(only rotary\).*; not like GPT-2: positions is alibi \(only learned\)/,
    );
  });

  it("a file that is damaged or not there", async () => {
    place.write("broken.gguf", "GGUF and nothing else");
    expectRefusal(await place.qkv("generate", "broken.gguf", "x"), 1, /broken.gguf: the versions of GGUF that are read are 2 and 3/);
    expectRefusal(await place.qkv("info", "nowhere.gguf"), 1, /nowhere.gguf: there is no such file/);
  });
});
