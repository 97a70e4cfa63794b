import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { exportModel, open, train } from "../../src/entries/qkv.ts";
import type { GivenRow } from "../../src/text/given.ts";
import { readSafetensors } from "../../src/weights/safetensors.ts";

// Models of Hugging Face, and runs, that are trained for another task: the head is new, and everything else is carried over.

const models = join(import.meta.dirname, "models");
const place = mkdtempSync(join(tmpdir(), "qkv-heads-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const nouns = ["cat", "dog", "mat", "road", "film"];
const texts: GivenRow[] = ["good", "bad"].flatMap((label) =>
  nouns.flatMap((noun) => [`the ${noun} was ${label}`, `we like the ${noun} very ${label}`].map((text) => ({ text, label }))),
);
const tagged: GivenRow[] = nouns.map((noun) => ({ text: `the ${noun}s ran on`, tags: ["O", "B", "O", "O"] }));
const pairs: GivenRow[] = nouns.map((noun) => ({ source: `the ${noun}`, target: `a ${noun}` }));

/** Trains a little; what was said is kept. */
async function trained(rows: GivenRow[], from: string, name: string, more: object = {}) {
  const said: string[] = [];
  const run = await train(rows, {
    from,
    out: join(place, name),
    steps: 30,
    batch: 4,
    lr: 5e-3,
    threads: 1,
    validFraction: 0,
    model: { dropout: 0 },
    cache: join(place, "cache"),
    warn: (sentence) => said.push(sentence),
    ...more,
  });
  return { run, said };
}

describe("a new head", () => {
  it("on vectors of texts classifies, and keeps all the rest", async () => {
    const { run, said } = await trained(texts, join(models, "bert-embed"), "classes");
    expect(said).toContainEqual(
      expect.stringMatching(/^the head is new: encoder\/labels\/weight, encoder\/labels\/bias \(34 numbers\) start at random; everything/),
    );
    expect(run.model).toMatchObject({ task: "classify", labels: 2, pool: "mean", pooler: "none", segments: 2 });
    const again = open(join(place, "classes"), { threads: 1 });
    expect(again.tokenizer.frame).toEqual({ before: [2], after: [3] });
    expect((await again.classify(["the road was bad", "the road was good"])).map(({ label }) => label)).toEqual(["bad", "good"]);
  });

  it("begins with the very weights of the model", async () => {
    const { run } = await trained(texts, join(models, "bert-embed"), "still", { steps: 1, lr: 0 });
    const known = open(join(models, "bert-embed"), { threads: 1 }).weights;
    for (const { name } of known.buffer.layout.entries) expect(run.weights.numbers(name)).toEqual(known.numbers(name));
  });

  it("is that of Python on a model of hidden words", async () => {
    const { run, said } = await trained(texts, join(models, "roberta-mlm"), "roberta", { steps: 2 });
    expect(run.model).toMatchObject({ task: "classify", pool: "first", pooler: "tanh" });
    expect(said.join()).toContain("encoder/pooler/weight");
  });

  it("takes the layer that lies unread beside the model", async () => {
    const { run, said } = await trained(texts, join(models, "bert-embed"), "beside", {
      steps: 1,
      lr: 0,
      model: { pool: "first", pooler: "tanh" },
    });
    expect(said.join()).not.toContain("encoder/pooler");
    const file = readSafetensors(readFileSync(join(models, "bert-embed", "model.safetensors")), "bert-embed").tensors;
    expect(run.weights.numbers("encoder/pooler/weight")).toEqual(file.get("pooler.dense.weight")?.data);
  });

  it("may gather texts otherwise", async () => {
    const { run } = await trained(texts, join(models, "bert-mlm"), "gathered", { steps: 2, model: { pool: "mean", pooler: "none" } });
    expect(run.model).toMatchObject({ pool: "mean", pooler: "none" });
    await expect(trained(texts, join(models, "bert-mlm"), "wider", { model: { width: 32 } })).rejects.toThrow("its weights do not fit");
  });

  it("tags words of several pieces", async () => {
    const { run } = await trained(tagged, join(models, "bert-classify"), "tags");
    const [{ tokens, tags }] = await run.tag(["the cats ran on"]);
    expect({ tokens, tags }).toEqual({ tokens: ["the", "cats", "ran", "on"], tags: ["O", "B", "O", "O"] });
  });

  it("on a decoder reads what its last token knows", async () => {
    const text = texts.map((row) => ("text" in row ? row.text : "")).join("\n");
    const settings = { out: join(place, "lm"), steps: 5, batch: 2, threads: 1, cache: join(place, "cache"), warn: false } as const;
    await train([{ text }], { ...settings, tokenizer: "word", model: { width: 16, heads: 2, layers: 1, context: 16 } });
    const { run } = await trained(texts, join(place, "lm"), "decided", { steps: 60 });
    expect(run.model).toMatchObject({ model: "encoder", causal: true, pool: "last", positions: "rotary" });
    const answers = await run.classify(["the road was bad", "the road was good"]);
    expect(answers.map(({ label }) => label)).toEqual(["bad", "good"]);
  });

  it("is trained before an adapter, and a sentence says so", async () => {
    const lora = { lora: { rank: 2 }, steps: 2 };
    await expect(trained(texts, join(models, "bert-embed"), "adapted", lora)).rejects.toThrow(
      /bert-embed has no head to classify with, and lora trains an adapter beside weights that are there; train the head first, train\("<data>", \{ from: ".*bert-embed" \}\), and go on from that run with lora$/,
    );
    await trained(texts, join(models, "bert-embed"), "head", { steps: 2 });
    const { run } = await trained(texts, join(place, "head"), "adapted", lora);
    expect(run.run.config.training.lora).toMatchObject({ rank: 2 });
  });

  it("that Python does not have is named with the one that it has", async () => {
    const { run } = await trained(texts, join(models, "bert-embed"), "mean", { steps: 1 });
    await expect(exportModel(run, { to: "hf", out: join(place, "mean-hf") })).rejects.toThrow(
      /pool is mean and pooler none .*\. Trained with pool: "first" and pooler: "tanh" from where its head is new, it would be one\. exportModel\(open\(".*mean"\), \{ to: "onnx" \}\) takes/,
    );
    const first = await trained(texts, join(models, "bert-embed"), "first", { steps: 1, model: { pool: "first", pooler: "tanh" } });
    expect(await exportModel(first.run, { to: "hf", out: join(place, "first-hf") })).toMatchObject({ kind: "bert" });
  });

  it("is refused where there is none", async () => {
    await expect(trained(texts, join(models, "t5"), "no")).rejects.toThrow("was trained for translate, and the data is for classify");
    await expect(trained(pairs, join(models, "bert-mlm"), "no")).rejects.toThrow("was trained for mlm, and the data is for translate");
  });
});

describe("going on", () => {
  it("with a classifier keeps its labels", async () => {
    const { run } = await trained(texts, join(models, "distilbert-classify"), "again", { steps: 2 });
    expect(run.labels).toEqual(["bad", "fine", "good"]);
  });

  it.each(["t5", "bart"])("with %s translates", async (name) => {
    const { run } = await trained(pairs, join(models, name), `${name}-pairs`, { steps: 120, lr: 0.01 });
    expect((await run.translate(["the cat", "the dog"])).map(({ target }) => target)).toEqual(["a cat", "a dog"]);
  });

  it("with Marian leaves its sinusoids alone", async () => {
    const { run } = await trained(pairs, join(models, "marian"), "marian-pairs", { steps: 5 });
    expect(run.run.config.training.freeze).toEqual(["model/encoder/positions", "model/decoder/positions"]);
    const name = "model/encoder/positions/table";
    expect(run.weights.numbers(name)).toEqual(open(join(models, "marian"), { threads: 1 }).weights.numbers(name));
  });
});
