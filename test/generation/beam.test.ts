import { describe, expect, it } from "vitest";
import { beamSearch } from "../../src/generation/beam.ts";
import type { Prompt, Speaker } from "../../src/generation/speech.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";
import { everything, greedy, patient } from "./searches.ts";
import { clearWeights } from "./whole-model.ts";

const sizes = { vocab: 5, width: 8, layers: 1, context: 12 };
const source = Int32Array.of(3, 4, 1, 2);
const models: Record<string, ModelInput> = {
  "a decoder": { model: "decoder", heads: 2, ...sizes },
  "a decoder without a mask": { model: "decoder", heads: 2, ...sizes, mask: "none" },
  "an encoder–decoder": { model: "encoder-decoder", heads: 2, ...sizes },
  "an encoder–decoder with ALiBi": { model: "encoder-decoder", heads: 2, ...sizes, positions: "alibi" },
  "a GRU with attention": { model: "rnn", ...sizes },
  "an LSTM language model": { model: "rnn", task: "lm", cell: "lstm", ...sizes },
};

async function using<Result>(
  given: ModelInput,
  seed: number,
  work: (speaker: Speaker, prompts: Prompt[]) => Promise<Result>,
): Promise<Result> {
  const model = modelConfig(given);
  const speaker = speakerOf(model, { weights: clearWeights(model, seed), threads: 1 });
  const reads = model.model === "encoder-decoder" || (model.model === "rnn" && model.task === "translate");
  const prompts = [[1], [3, 4], [2, 2, 1]].map((ids, i) => (reads ? { ids: [1], source: source.subarray(0, i + 2) } : { ids }));
  const result = await work(speaker, prompts);
  await speaker.release();
  return result;
}

describe.each(Object.entries(models))("beams of %s", (_, given) => {
  it("are the greedy choice when there is one", async () => {
    for (const seed of [1, 2, 3, 4])
      await using(given, seed, async (speaker, prompts) => {
        for (const options of [{}, { lengthPenalty: 0.7 }, { end: 0 }, { end: 0, lengthPenalty: 1 }, { end: 3, lengthPenalty: 2 }]) {
          const all = { beams: 1, tokens: 6, ...options };
          const found = await beamSearch(speaker, prompts, all);
          for (const [i, prompt] of prompts.entries())
            expect(found[i].map(({ tokens }) => tokens)).toEqual([await greedy(speaker, prompt, all)]);
        }
      });
  });

  it("find what a search through everything finds when they are many", async () => {
    await using(given, 7, async (speaker, prompts) => {
      for (const lengthPenalty of [0, 0.6, 1])
        for (const end of [undefined, 0]) {
          const options = { beams: 5 ** 3, tokens: 3, lengthPenalty, end };
          const found = await beamSearch(speaker, prompts, options);
          for (const [i, prompt] of prompts.entries()) {
            const wanted = await everything(speaker, prompt, options);
            expect(found[i].slice(0, 20).map(({ tokens, finish }) => ({ tokens, finish }))).toEqual(
              wanted.slice(0, 20).map(({ tokens, finish }) => ({ tokens, finish })),
            );
            for (const [j, one] of found[i].entries()) expect(one.score).toBeCloseTo(wanted[j].score, 4);
            expect(found[i]).toHaveLength(Math.min(options.beams, wanted.length));
          }
        }
    });
  });

  it("give nothing up too early", async () => {
    for (const seed of [1, 2, 3])
      await using(given, seed, async (speaker, prompts) => {
        for (const [beams, lengthPenalty] of [
          [2, 0],
          [2, 1],
          [2, 2],
          [3, 1.5],
        ]) {
          const options = { beams, tokens: 6, lengthPenalty, end: 3 };
          const found = await beamSearch(speaker, prompts, options);
          for (const [i, prompt] of prompts.entries())
            expect(found[i].map(({ tokens }) => tokens)).toEqual(await patient(speaker, prompt, options));
        }
      });
  });

  it("are sorted, and their log-probabilities are those of their tokens; many prompts at once are one by one", async () => {
    await using(given, 9, async (speaker, prompts) => {
      const options = { beams: 4, tokens: 7, lengthPenalty: 0.6, end: 0 };
      const together = await beamSearch(speaker, prompts, options);
      for (const [i, prompt] of prompts.entries()) {
        const [alone] = await beamSearch(speaker, [prompt], options);
        expect(together[i].map(({ tokens }) => tokens)).toEqual(alone.map(({ tokens }) => tokens));
        for (const [j, one] of together[i].entries()) {
          expect(one.logProbability).toBeCloseTo(alone[j].logProbability, 4);
          const sum = one.logProbabilities.reduce((a, b) => a + b, 0);
          expect(one.logProbabilities).toHaveLength(one.tokens.length);
          if (one.finish === "length") expect(sum).toBeCloseTo(one.logProbability, 9);
          else expect(sum).toBeGreaterThan(one.logProbability); // which counts the end too
          expect(one.score).toBeCloseTo(one.logProbability / (one.tokens.length + (one.finish === "end" ? 1 : 0)) ** 0.6, 9);
          if (j > 0) expect(one.score).toBeLessThanOrEqual(together[i][j - 1].score);
        }
      }
    });
  });
});

it("beams end where the context does", async () => {
  await using(models["a decoder"], 3, async (speaker) => {
    const ids = Array.from({ length: 10 }, (_, i) => i % 5);
    const [found] = await beamSearch(speaker, [{ ids }], { beams: 3, tokens: 50 });
    for (const one of found) expect([one.tokens.length, one.finish]).toEqual([3, "length"]);
    const [full] = await beamSearch(speaker, [{ ids: [...ids, 1, 2] }], { beams: 3, tokens: 50 });
    for (const one of full) expect(one.tokens).toHaveLength(1);
  });
});
