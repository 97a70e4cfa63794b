import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportModel } from "../../src/library/export.ts";
import type { ExportWeights } from "../../src/library/exporter.ts";
import { open, type Trained } from "../../src/library/trained.ts";
import { pairs, rhyme, sentences, words } from "../journeys/samples.ts";
import { Workplace } from "../support/command.ts";
import { largestGap } from "../support/exported.ts";

// Exported folders in transformers.js, unmodified: texts, labels, vectors and translations are those that qkv gives.

/** As much of transformers.js as is used here. */
interface Transformers {
  readonly env: { localModelPath: string; allowRemoteModels: boolean; cacheDir: string | null };
  pipeline(task: string, folder: string, options?: object): Promise<Pipeline>;
}
type Pipeline = ((texts: string | readonly string[], options?: object) => Promise<unknown>) & { dispose(): Promise<unknown> };

type Generated = { readonly generated_text: string }[];
type Translated = { readonly translation_text: string }[];

const place = new Workplace();
const hub = join(import.meta.dirname, "../hub/models");
const small = "--width 32 --heads 2 --layers 2 --batch 8 --threads 1 --seed 3 --quiet".split(" ");
const opened = new Map<string, Trained>();

const modelOf = (name: string): Trained => {
  const found =
    opened.get(name) ?? open(name.startsWith("hub/") ? join(hub, name.slice(4)) : place.path(name), { threads: 1, warn: false });
  opened.set(name, found);
  return found;
};

/** The folder that an export of a model is in, made when it is first asked for. */
const made = new Map<string, Promise<string>>();
const exportOf = (name: string, weights: ExportWeights = "f32"): Promise<string> => {
  const folder = `${name.replace("/", "-")}-${weights}`;
  const before = made.get(folder);
  const work = before ?? exportModel(modelOf(name), { to: "onnx", out: place.path("exports", folder), weights }).then(() => folder);
  made.set(folder, work);
  return work;
};

beforeAll(async () => {
  place.write("text.txt", rhyme);
  place.write("labels.tsv", `text\tlabel\n${sentences.map(({ text, label }) => `${text}\t${label}`).join("\n")}\n`);
  place.write("tags.tsv", words);
  place.write("pairs.tsv", pairs);
  await place.done(
    "train",
    "text.txt",
    "--out",
    "decoder",
    "--tokenizer",
    "bpe",
    "--vocab",
    "300",
    "--context",
    "64",
    "--steps",
    "60",
    ...small,
  );
  await place.done("train", "labels.tsv", "--out", "classifier", "--tokenizer", "word", "--steps", "30", ...small);
  await place.done("train", "tags.tsv", "--out", "tagger", "--tokenizer", "word", "--steps", "30", ...small);
  await place.done("train", "pairs.tsv", "--out", "translator", "--tokenizer", "char", "--steps", "120", ...small);
});
afterAll(async () => {
  for (const model of opened.values()) await model.release();
});

describe.each([
  ["4", "@huggingface/transformers", "4.3.1"],
  ["3.8", "transformers-3", "3.8.1"],
])("transformers.js %s", (_, name, version) => {
  let library: Transformers;
  beforeAll(async () => {
    library = (await import(name)) as Transformers;
    library.env.localModelPath = `${place.path("exports")}/`;
    library.env.allowRemoteModels = false;
    const file = join(import.meta.dirname, `../../node_modules/${name}/package.json`);
    expect(JSON.parse(readFileSync(file, "utf8")).version).toBe(version);
  });

  async function answered(
    task: string,
    model: string,
    texts: readonly string[],
    options: object = {},
    weights?: ExportWeights,
  ): Promise<unknown> {
    const pipeline = await library.pipeline(task, await exportOf(model, weights));
    try {
      return await pipeline(texts, options);
    } finally {
      await pipeline.dispose();
    }
  }

  it("goes on with texts, alone and padded in a batch", async () => {
    const prompts = ["the cat", "the cat sat on the", "sat on"];
    const options = { max_new_tokens: 12 };
    const wanted = (await modelOf("decoder").samples(prompts, { tokens: 12, temperature: 0 })).map(([{ text }], i) => prompts[i] + text);
    const together = (await answered("text-generation", "decoder", prompts, options)) as { generated_text: string }[][];
    expect(together.map(([{ generated_text }]) => generated_text)).toEqual(wanted);
    const alone = (await answered("text-generation", "decoder", [prompts[1]], options)) as
      | { generated_text: string }[]
      | { generated_text: string }[][];
    expect([alone].flat(2).map((one) => (one as { generated_text: string }).generated_text)).toEqual([wanted[1]]);
  });

  it.each(["f16", "q8", "q4"] as const)("goes on with a text, with weights of %s", async (weights) => {
    const [[{ text }]] = await modelOf("decoder").samples(["the cat"], { tokens: 10, temperature: 0 });
    const found = (await answered("text-generation", "decoder", ["the cat"], { max_new_tokens: 10 }, weights)) as Generated;
    expect([found].flat(2).map((one) => (one as Generated[number]).generated_text)).toEqual([`the cat${text}`]);
  });

  it.each(["classifier", "hub/bert-classify", "hub/roberta-classify", "hub/distilbert-classify"])("labels texts: %s", async (model) => {
    const texts = ["my brother was glad today", "the old king was gloomy in the rain", "miserable"];
    const wanted = await modelOf(model).classify(texts);
    const found = (await answered("text-classification", model, texts, { top_k: null })) as { label: string; score: number }[][];
    for (const [i, { label, probabilities }] of wanted.entries()) {
      expect(found[i][0].label).toBe(label);
      for (const { label: name, score } of found[i]) expect(Math.abs(score - probabilities[name])).toBeLessThan(1e-5);
    }
  });

  it("tags words", async () => {
    const [wanted] = await modelOf("tagger").tag(["the dog 7 barks"]);
    const found = (await answered("token-classification", "tagger", ["the dog 7 barks"], { ignore_labels: [] })) as { entity: string }[][];
    expect([found].flat(2).map((one) => (one as { entity: string }).entity)).toEqual(wanted.tags);
  });

  it("gives vectors", async () => {
    const texts = ["the dog barks", "a cat"];
    const wanted = await modelOf("hub/bert-embed").embed(texts);
    const found = (await answered("feature-extraction", "hub/bert-embed", texts, { pooling: "mean", normalize: false })) as {
      data: Float32Array;
    };
    expect(
      largestGap(
        found.data,
        wanted.flatMap((one) => [...one]),
      ),
    ).toBeLessThan(1e-5);
  });

  it.each(["translator", "hub/t5", "hub/flan-t5"])("translates: %s", async (model) => {
    const texts = ["number 7", "number 12"];
    const wanted = (await modelOf(model).translate(texts)).map(({ target }) => target);
    const found = (await answered("translation", model, texts, { max_new_tokens: modelOf(model).model.context })) as Translated;
    expect(found.map(({ translation_text }) => translation_text)).toEqual(wanted);
  });

  it.each(["hub/marian", "hub/bart"])("translates: %s, whose config wants an end where it is cut off", async (model) => {
    const texts = ["number 7", "number 12"];
    const wanted = (await modelOf(model).translate(texts)).map(({ target }) => target);
    const found = (await answered("translation", model, texts, { max_new_tokens: 12 })) as Translated;
    for (const [i, { translation_text: text }] of found.entries()) {
      expect(text.length).toBeGreaterThan(8);
      expect(wanted[i].startsWith(text)).toBe(true);
    }
  });

  const decoders = [
    "gemma",
    "gemma2",
    "gemma3",
    "gpt2",
    "llama",
    "llama3",
    "mistral",
    "neox",
    "opt",
    "phi",
    "phi3",
    "pythia",
    "qwen2",
    "qwen3",
  ];
  it.each(decoders)("goes on with a text as a model from outside does: %s", async (model) => {
    const [[{ text, tokens }]] = await modelOf(`hub/${model}`).samples(["the cat and"], { tokens: 8, temperature: 0 });
    expect(tokens.length).toBeGreaterThan(0);
    const found = (await answered("text-generation", `hub/${model}`, ["the cat and"], {
      max_new_tokens: 8,
      do_sample: false,
    })) as Generated;
    expect([found].flat(2).map((one) => (one as Generated[number]).generated_text)).toEqual([`the cat and${text}`]);
  });
});
