import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { encodePairs } from "../../src/batches/encode.ts";
import { type PairIds, pairLayout } from "../../src/batches/examples.ts";
import { translateIds } from "../../src/generation/translator.ts";
import { gradientGap } from "../../src/gradients/finite-difference.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { families } from "../../src/hub/families.ts";
import { theirsOf } from "../../src/hub/tensors.ts";
import { open, type Trained } from "../../src/library/trained.ts";
import { type Architecture, modelLoss } from "../../src/models/any.ts";
import { encoderDecoderWhole } from "../../src/models/encoder-decoder.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { unwritten } from "../../src/trained/reading.ts";
import { readSafetensors } from "../../src/weights/safetensors.ts";

// Encoders and translators of Hugging Face: what Python computes with the same tiny models. reference-encoders.py made them.

const folderOf = (name: string): string => join(import.meta.dirname, "models", name);
const near = 1e-5;

interface LabelReference {
  readonly task: "classify" | "tag" | "mlm" | "embed";
  readonly texts: string[];
  readonly ids: number[][];
  readonly lengths: number[];
  readonly targets: (number | number[])[];
  readonly scores: number[][];
  readonly mean: number[][];
  readonly loss: number;
  /** For each layer and text, [head, query, key]. */
  readonly attentions: number[][][];
}

interface PairReference {
  readonly pairs: [source: string, target: string][];
  readonly sources: number[][];
  readonly targets: number[][];
  readonly start: number;
  readonly end: number;
  readonly scores: number[][];
  readonly loss: number;
  readonly encoder: number[][][];
  readonly decoder: number[][][];
  readonly cross: number[][][];
  readonly greedy: number[][];
}

const referenceOf = <Reference>(name: string): Reference => JSON.parse(readFileSync(join(folderOf(name), "reference.json"), "utf8"));

const gap = (found: Iterable<number>, wanted: readonly number[]): number => {
  const own = [...found];
  expect(own.length).toBe(wanted.length);
  return own.reduce((most, value, i) => Math.max(most, Math.abs(value - wanted[i])), 0);
};

const familyOf = ({ hub }: Trained) => {
  const family = families.find(({ name }) => name === hub?.family);
  if (!family) throw new Error(`no family is called ${hub?.family}`);
  return family;
};

/** Loss, scores and gradients, in the names of Python. */
async function computed(run: Trained, feeds: Readonly<Record<string, ReturnType<typeof array>>>) {
  const fn = modelLoss(run.model, { training: false });
  const gradients = new ParameterBuffer(parametersOf(fn));
  const session = compile(fn, { gradientOf: "loss", threads: 1 });
  const { loss, scores } = await session.run(feeds, { weights: run.weights.buffer, gradients });
  await session.release();
  const rules = familyOf(run).tensors(run.model as Architecture);
  const theirs = theirsOf(rules, (name) => gradients.view(name).data as Float32Array);
  return { loss: loss.data[0] as number, scores: scores.data as Float32Array, theirs };
}

/** Every gradient of Python's, and all of them as one: where a bias of keys has none but rounding, only the whole says something. */
function compareGradients(name: string, theirs: Awaited<ReturnType<typeof computed>>["theirs"]): void {
  const { tensors } = readSafetensors(readFileSync(join(folderOf(name), "gradients.safetensors")), "gradients");
  const found = theirs.flatMap(({ name: own, numbers }) => {
    const wanted = tensors.get(own);
    return wanted ? [{ own, numbers: numbers(), wanted: wanted.data as Float32Array }] : [];
  });
  if (name === "marian")
    withoutRow(
      found.find(({ own }) => own === "model.shared.weight"),
      2,
      16,
    );
  expect(found.map(({ own }) => own).sort()).toEqual([...tensors.keys()].sort());
  for (const { own, numbers, wanted } of found)
    if (!/\b(key|k_lin|k_proj)\.bias$/.test(own)) expect(gradientGap(numbers, wanted), `gradient of ${own}`).toBeLessThan(5e-5);
  const whole = (which: "numbers" | "wanted") => found.flatMap((one) => [...one[which]]);
  expect(gradientGap(whole("numbers"), whole("wanted"))).toBeLessThan(near);
}

/** PyTorch gives the row of padding no gradient where it is looked up; Marian's decoder begins with it. */
function withoutRow(one: { readonly numbers: Float32Array; readonly wanted: Float32Array } | undefined, row: number, width: number): void {
  for (const numbers of [one?.numbers, one?.wanted]) numbers?.fill(0, row * width, (row + 1) * width);
}

const padded = (rows: readonly (readonly number[])[], filler = 0): ReturnType<typeof array> => {
  const length = Math.max(...rows.map((row) => row.length));
  return array("int32", Int32Array.from(rows.flatMap((row) => [...row, ...Array(length - row.length).fill(filler)])), [
    rows.length,
    length,
  ]);
};

describe.each(["bert-classify", "bert-tag", "bert-mlm", "roberta-classify", "roberta-mlm", "distilbert-classify", "distilbert-mlm"])(
  "%s",
  (name) => {
    const reference = referenceOf<LabelReference>(name);
    const run = open(folderOf(name), { threads: 1 });

    it("reads texts as Python does", () => {
      const { before, after } = run.tokenizer.frame ?? { before: [], after: [] };
      const ids = reference.texts.map((text) => [...before, ...run.tokenizer.encode(text), ...after]);
      expect(ids).toEqual(reference.ids);
    });

    it("has Python's scores and gradients", async () => {
      const { ids, lengths, targets } = reference;
      const whole = reference.task === "classify";
      const { loss, scores, theirs } = await computed(run, {
        ids: padded(ids),
        lengths: array("int32", lengths),
        targets: whole ? array("int32", targets as number[]) : padded(targets as number[][], -1),
      });
      expect(Math.abs(loss - reference.loss)).toBeLessThan(near);
      const each = scores.length / ids.length;
      for (const [row, wanted] of reference.scores.entries())
        expect(gap(scores.subarray(row * each, row * each + wanted.length), wanted)).toBeLessThan(near);
      compareGradients(name, theirs);
    });

    it("attends as Python does", () => comparePatterns(run, reference.texts, reference.attentions));
  },
);

async function comparePatterns(run: Trained, texts: readonly string[], wanted: readonly (readonly number[][])[]): Promise<void> {
  if (run.task === "tag") return; // its texts are read word by word
  for (const [i, text] of texts.entries()) {
    const { layers } = await run.attention(text);
    for (const [layer, { heads }] of layers.entries())
      expect(
        gap(
          heads.flatMap(({ pattern }) => pattern.flat()),
          wanted[layer][i],
        ),
      ).toBeLessThan(near);
  }
}

it("tokens that the files forbid are not written", () => {
  const { hub, tokenizer, model } = open(folderOf("marian"), { threads: 1 });
  if (!hub) throw new Error("there is no record");
  const generation = { ...hub.generation, bad_words_ids: [[2], [3, 4]], suppress_tokens: [5] };
  expect([...unwritten({ tokenizer, model, hub })]).toEqual([58, 59, 60]);
  expect([...unwritten({ tokenizer, model, hub: { ...hub, generation } })]).toEqual([58, 59, 60, 2, 5]);
});

describe("heads by name", () => {
  it("have the labels of the config", async () => {
    const run = open(folderOf("bert-classify"), { threads: 1 });
    const { texts, scores } = referenceOf<LabelReference>("bert-classify");
    expect(run.labels).toEqual(["bad", "fine", "good"]);
    const answers = await run.classify(texts);
    expect(answers.map(({ label }) => label)).toEqual(scores.map((row) => run.labels[row.indexOf(Math.max(...row))]));
  });

  it("tag words by their first pieces", async () => {
    const run = open(folderOf("bert-tag"), { threads: 1 });
    const { ids, scores } = referenceOf<LabelReference>("bert-tag");
    const [{ tokens, tags }] = await run.tag(["Two dogs ran"]);
    expect(tokens).toEqual(["Two", "dogs", "ran"]);
    // [CLS] two dog ##s ran [SEP]
    const labelAt = (place: number) =>
      run.labels[[0, 1, 2].reduce((a, b) => (scores[1][place * 3 + b] > scores[1][place * 3 + a] ? b : a))];
    expect(ids[1]).toHaveLength(6);
    expect(tags).toEqual([1, 2, 4].map(labelAt));
  });

  it("fill in hidden words", async () => {
    const run = open(folderOf("bert-mlm"), { threads: 1 });
    const [{ masks }] = await run.fill(["the [MASK] sat"], { top: 3 });
    expect(masks).toHaveLength(1);
    expect(masks[0]).toHaveLength(3);
    expect(masks[0][0].probability).toBeGreaterThanOrEqual(masks[0][1].probability);
    await expect(run.fill(["the cat sat"])).rejects.toThrow('there is no [MASK] in "the cat sat"');
    await expect(run.classify(["the cat sat"])).rejects.toThrow("fills in tokens that are hidden");
  });

  it("give the mean of the states as vectors", async () => {
    const run = open(folderOf("bert-embed"), { threads: 1 });
    const { texts, mean, attentions } = referenceOf<LabelReference>("bert-embed");
    const vectors = await run.embed(texts);
    for (const [i, vector] of vectors.entries()) expect(gap(vector, mean[i])).toBeLessThan(near);
    const [unit] = await run.embed([texts[0]], { normalise: true });
    const length = Math.hypot(...mean[0]);
    expect(
      gap(
        unit,
        mean[0].map((number) => number / length),
      ),
    ).toBeLessThan(near);
    await comparePatterns(run, texts, attentions);
  });

  it("give vectors of any encoder", async () => {
    const [vector] = await open(folderOf("bert-classify"), { threads: 1 }).embed(["the cat"]);
    expect(vector).toHaveLength(16);
    await expect(open(folderOf("t5"), { threads: 1 }).embed(["the cat"])).rejects.toThrow("vectors of texts come from an encoder");
  });
});

describe.each(["t5", "flan-t5", "bart", "marian"])("%s", (name) => {
  const reference = referenceOf<PairReference>(name);
  const run = open(folderOf(name), { threads: 1 });
  const examples = encodePairs(
    reference.pairs.map(([source, target]) => ({ source, target }) as never),
    run.tokenizer,
  );

  it("reads sources as Python does, and begins where its config says", () => {
    expect(examples.map(({ source }) => [...source])).toEqual(reference.sources);
    expect(run.tokenizer.start).toBe(reference.start);
    expect(run.tokenizer.end).toBe(reference.end);
  });

  /** The targets of the reference have no <s> in front, as BART's files want it. */
  const given: PairIds[] = reference.targets.map((targets, i) => ({
    source: examples[i].source,
    target: Int32Array.of(reference.start, ...targets.slice(0, -1)),
    targets: Int32Array.from(targets),
  }));

  it("has Python's scores and gradients", async () => {
    const sizes = [Math.max(...given.map(({ source }) => source.length)), Math.max(...given.map(({ target }) => target.length))];
    const { loss, scores, theirs } = await computed(run, pairLayout.batch(given, given.length, sizes).feeds);
    expect(Math.abs(loss - reference.loss)).toBeLessThan(near);
    const each = scores.length / given.length;
    for (const [row, wanted] of reference.scores.entries())
      expect(gap(scores.subarray(row * each, row * each + wanted.length), wanted) / Math.max(1, ...wanted.map(Math.abs))).toBeLessThan(
        near,
      );
    compareGradients(name, theirs);
  });

  it("attends as Python does", async () => {
    const { encoder: encoderPatterns } = reference;
    for (const [i, [source, target]] of reference.pairs.entries())
      for (const kind of ["encoder", "self", "cross"] as const) {
        if (name === "bart" && kind !== "encoder") continue; // the reference's target has no <s>
        const { layers } = await run.attention(source, { kind, target });
        const wanted = kind === "encoder" ? encoderPatterns : kind === "self" ? reference.decoder : reference.cross;
        expect(layers).toHaveLength(wanted.length);
        for (const [layer, { heads }] of layers.entries())
          expect(
            gap(
              heads.flatMap(({ pattern }) => pattern.flat()),
              wanted[layer][i],
            ),
          ).toBeLessThan(near);
      }
  });

  it("writes what Python writes, with and without what is kept", async () => {
    const forced = name === "bart" ? [0] : [];
    const wanted = reference.greedy.map((ids) => {
      const said = ids.slice(1 + forced.length);
      return ids.length === 11 ? said.slice(0, 9 - forced.length) : said.slice(0, -1); // the last of ten is an end by force
    });
    const sources = examples.map(({ source }) => source);
    const found = await translateIds(run, sources);
    for (const [i, { tokens }] of found.entries()) expect([...tokens].slice(0, wanted[i].length)).toEqual(wanted[i]);
    const whole = compile(encoderDecoderWhole(run.model as never), { threads: 1 });
    const said = [reference.start, ...forced, ...wanted[0].slice(0, 3)];
    const { scores } = await whole.run(
      { source: padded([[...sources[0]]]), lengths: array("int32", [sources[0].length]), ids: padded([said]) },
      { weights: run.weights.buffer },
    );
    await whole.release();
    const row = scores.data as Float32Array;
    expect(row.indexOf(Math.max(...row.subarray(0, run.tokenizer.size)))).toBe(wanted[0][3]);
  });
});
