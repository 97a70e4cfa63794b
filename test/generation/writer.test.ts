import { afterAll, describe, expect, it } from "vitest";
import { ConfigError, DataError, NonFiniteError } from "../../src/base/errors.ts";
import { type BeamWriteOptions, type Sample, type WriteOptions, write, writeBest, writeSamples } from "../../src/generation/writer.ts";
import { modelConfig } from "../../src/models/any.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";
import type { TrainedModel } from "../../src/trained/trained.ts";
import { inMemory } from "../support/trained-model.ts";
import { prose } from "../tokens/oracles.ts";
import { clearWeights } from "./whole-model.ts";

const tokenizer = await trainTokenizer("byte", []);
const model = modelConfig({ model: "decoder", layers: 1, heads: 2, width: 16, context: 24, vocab: tokenizer.size });
const writer = writing(inMemory(model, clearWeights(model), tokenizer));
afterAll(() => writer.release());

function writing(trained: TrainedModel) {
  return {
    write: (prompts: string[], options?: WriteOptions) => write(trained, prompts, options),
    samples: (prompts: (string | Int32Array)[], options?: WriteOptions) => writeSamples(trained, prompts, options),
    best: (prompts: string[], options: BeamWriteOptions) => writeBest(trained, prompts, options),
    release: () => trained.release(),
  };
}

const text = async (prompt: string, options: WriteOptions = {}): Promise<string[]> =>
  (await writer.samples([prompt], { tokens: 12, ...options }))[0].map((sample) => sample.text);
const ids = ({ tokens }: Sample): number[] => tokens.map(({ id }) => id);

describe("the same seed", () => {
  it("writes the same, whatever else is written", async () => {
    const prompts = ["Call me", "It's a way I have", "", "🙂"];
    const together = await writer.samples(prompts, { tokens: 40, samples: 2, seed: 5 });
    for (const [i, prompt] of prompts.entries()) {
      const [alone] = await writer.samples([prompt], { tokens: 40, samples: 2, seed: 5 });
      expect(alone.map(ids)).toEqual(together[i].map(ids));
      expect(alone.map((sample) => sample.text)).toEqual(together[i].map((sample) => sample.text));
      const [first] = await writer.samples([prompt], { tokens: 40, seed: 5 });
      expect(first.map(ids)).toEqual(alone.slice(0, 1).map(ids));
      expect(ids(alone[0])).not.toEqual(ids(alone[1]));
    }
  });

  it("is another text than another seed", async () => {
    expect(await text("Call me", { seed: 1 })).toEqual(await text("Call me"));
    expect(await text("Call me", { seed: 2 })).not.toEqual(await text("Call me"));
  });
});

describe("writing", () => {
  it("gives pieces of whole characters as they come, and all of them in the end", async () => {
    const written = writer.write(["a", "b"], { tokens: 60, samples: 2, temperature: 3, bias: new Map([[1, -Infinity]]) });
    const found = new Map<string, string>();
    for (;;) {
      const { done, value } = await written.next();
      if (done) {
        for (const [prompt, samples] of value.entries())
          for (const [sample, one] of samples.entries()) {
            expect(found.get(`${prompt} ${sample}`) ?? "").toBe(one.text);
            const shown = tokenizer.decode([...tokenizer.encode(["a", "b"][prompt]), ...ids(one)]).slice(1);
            expect(one.text).toBe(shown.replace(/\uFFFD+$/, ""));
          }
        break;
      }
      expect(value.text).not.toMatch(/^$|\p{Surrogate}/u);
      found.set(`${value.prompt} ${value.sample}`, (found.get(`${value.prompt} ${value.sample}`) ?? "") + value.text);
    }
    expect(found.size).toBe(4);
  });

  it("counts each token's log-probability, and the end's", async () => {
    const [[sample]] = await writer.samples(["x"], { tokens: 9, temperature: 0, bias: new Map([[1, -Infinity]]) });
    expect(sample.finish).toBe("length");
    expect(sample.tokens.reduce((sum, { logProbability }) => sum + logProbability, 0)).toBeCloseTo(sample.logProbability, 9);
    for (const { id, piece } of sample.tokens) expect(piece).toBe(tokenizer.piece(id));
    const [[ended]] = await writer.samples(["x"], { tokens: 9, bias: new Map([[1, 1000]]) });
    expect(ended).toMatchObject({ finish: "end", text: "", tokens: [] });
    expect(ended.logProbability).toBeLessThan(0);
  });

  it("stops at a string, which is not part of the text", async () => {
    const letters = new Map(Array.from({ length: 258 }, (_, id) => [id, /^[ab]$/.test(tokenizer.piece(id)) ? 1000 : 0] as const));
    const [free] = await text("x", { tokens: 30, bias: letters });
    expect(free).toMatch(/^[ab]{30}$/);
    const stop = free.slice(11, 15);
    const [[sample]] = await writer.samples(["x"], { tokens: 30, bias: letters, stop: [stop, ""] });
    expect(sample).toMatchObject({ finish: "stop", text: free.slice(0, free.indexOf(stop)) });
    expect(sample.tokens).toHaveLength(free.indexOf(stop) + 4);
    const [[last]] = await writer.samples(["x"], { tokens: 15, bias: letters, stop: [free.slice(0, 20), free.slice(3, 15)] });
    expect(last).toMatchObject({ finish: "stop", text: free.slice(0, free.indexOf(free.slice(3, 15))) });
  });
});

describe("refuses", () => {
  it.each([
    [{ bias: new Map([[258, 1]]) }, "at sampling.bias: the token id 258 is not in the vocabulary, which goes from 0 to 257"],
    [{ topP: 1.5 }, "at sampling.topP"],
    [{ temprature: 1 }, 'at sampling.temprature: unknown key; did you mean "temperature"?'],
    [{ tokens: 0 }, "at tokens: a whole number from 1"],
    [{ tokens: Number.NaN }, "at tokens: a whole number from 1"],
    [{ samples: -1 }, "at samples: a whole number from 1"],
  ])("%o", async (options, sentence) => {
    await expect(writer.samples(["a"], options as WriteOptions)).rejects.toThrow(sentence);
    await expect(writer.samples(["a"], options as WriteOptions)).rejects.toThrow(ConfigError);
  });

  it("more samples than beams, and fewer beams than one", async () => {
    await expect(writer.best(["a"], { beams: 2, samples: 3 })).rejects.toThrow("2 beams give at most 2 samples, not 3");
    await expect(writer.best(["a"], { beams: 0 })).rejects.toThrow("at beams: a whole number from 1");
    await expect(writer.best(["a"], { beams: 2, lengthPenalty: Number.NaN })).rejects.toThrow("at lengthPenalty: a number");
  });
});

describe("the best texts", () => {
  it("are with one beam what temperature 0 writes", async () => {
    const [[greedy]] = await writer.samples(["Call"], { tokens: 10, temperature: 0 });
    const [[best]] = await writer.best(["Call"], { tokens: 10, beams: 1 });
    expect(ids(best)).toEqual(ids(greedy));
    expect(best.text).toBe(greedy.text);
    expect(best.logProbability).toBeCloseTo(greedy.logProbability, 3);
  });

  it("are several, the best first, and stop at strings", async () => {
    const [samples] = await writer.best(["Call"], { tokens: 6, beams: 4, samples: 3 });
    expect(samples).toHaveLength(3);
    for (let i = 1; i < 3; i++) expect(samples[i].logProbability).toBeLessThanOrEqual(samples[i - 1].logProbability);
    const stop = Array.from(samples[0].text)[1];
    const [[stopped]] = await writer.best(["Call"], { tokens: 6, beams: 4, stop: [stop] });
    expect(stopped).toMatchObject({ finish: "stop", text: samples[0].text.slice(0, samples[0].text.indexOf(stop)) });
    expect(stopped.tokens.reduce((sum, { logProbability }) => sum + logProbability, 0)).toBeCloseTo(stopped.logProbability, 9);
  });

  it("need room: a prompt gives up its beginning for them, or is refused", async () => {
    const said: string[] = [];
    const prompt = prose.slice(0, 20);
    const [[cut]] = await writer.best([prompt], { tokens: 10, beams: 2, warn: (sentence) => said.push(sentence) });
    expect(said).toEqual([
      "20 tokens of the prompt and 10 new ones are more than the context of 24: the first 5 tokens of the prompt are dropped",
    ]);
    const [[same]] = await writer.best([prompt.slice(5)], { tokens: 10, beams: 2, strict: true });
    expect(ids(cut)).toEqual(ids(same));
    expect(cut.tokens.length + (cut.finish === "end" ? 1 : 0)).toBeLessThanOrEqual(10);
    await expect(writer.best([prompt], { tokens: 10, beams: 2, strict: true })).rejects.toThrow(
      "ask for fewer, or leave out strict to drop",
    );
  });

  it("are shorter than asked for rather than to forget a short prompt", async () => {
    const said: string[] = [];
    const [[sample]] = await writer.best(["Call"], { tokens: 100, beams: 2, warn: (sentence) => said.push(sentence) });
    expect(said).toEqual(["4 tokens of the prompt and 100 new ones are more than the context of 24: at most 21 are written"]);
    const [[same]] = await writer.best(["Call"], { tokens: 21, beams: 2, strict: true });
    expect(ids(sample)).toEqual(ids(same));
    expect(sample.tokens.length).toBeLessThanOrEqual(21);
  });
});

it("damaged weights are said so, sampled or searched", async () => {
  const weights = clearWeights(model);
  weights.data.fill(Number.NaN);
  const broken = writing(inMemory(model, weights, tokenizer));
  await expect(broken.samples(["a"])).rejects.toThrow(NonFiniteError);
  await expect(broken.best(["a"], { beams: 2 })).rejects.toThrow("the weights are damaged, or training went wrong");
  await broken.release();
});

it("a prompt of ids is one of text, and an empty one of either kind begins with a new line", async () => {
  const written = await text("Call me");
  expect((await writer.samples([tokenizer.encode("Call me")], { tokens: 12 }))[0][0].text).toBe(written[0]);
  expect((await writer.samples([new Int32Array(0)], { tokens: 12 }))[0][0].text).toBe((await text("\n"))[0]);
  await expect(writer.samples([Int32Array.of(-1)])).rejects.toThrow("the token id -1 is not in the vocabulary, which goes from 0 to 257");
  await expect(writer.samples(["a b c"], { strict: true, tokens: 1 })).resolves.toHaveLength(1);
  await expect(writer.samples([prose], { strict: true })).rejects.toThrow(DataError);
});
