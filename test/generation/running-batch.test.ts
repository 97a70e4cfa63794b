import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { NonFiniteError } from "../../src/base/errors.ts";
import { type Request, RunningBatch, type Said } from "../../src/generation/running-batch.ts";
import { candidates, drawToken, type SamplingInput, sampling } from "../../src/generation/sampling.ts";
import type { Speaker } from "../../src/generation/speech.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";
import { clearWeights, logSumExp, randomIds, WholeModel } from "./whole-model.ts";

const sizes = { vocab: 12, width: 8, layers: 1, context: 14 };
const models: Record<string, ModelInput> = {
  "a decoder": { model: "decoder", heads: 2, ...sizes },
  "a decoder without a mask": { model: "decoder", heads: 2, ...sizes, mask: "none" },
  "an encoder–decoder": { model: "encoder-decoder", heads: 2, ...sizes },
  "an RNN language model": { model: "rnn", task: "lm", ...sizes },
  "an RNN encoder–decoder": { model: "rnn", ...sizes },
};

function speaking(given: ModelInput) {
  const model = modelConfig(given);
  const weights = clearWeights(model);
  const reads = model.model === "encoder-decoder" || (model.model === "rnn" && model.task === "translate");
  const request = (seed: number, tokens: number, settings: SamplingInput = {}, more: Partial<Request> = {}): Request => ({
    ids: reads ? [1] : randomIds(1 + (seed % 9), model.vocab, seed),
    ...(reads && { source: Int32Array.from(randomIds(1 + (seed % 9), model.vocab, seed)) }),
    tokens,
    sampling: sampling(settings),
    chance: chance(seed).fork("sampling"),
    ...more,
  });
  return { model, weights, request, speaker: speakerOf(model, { weights, threads: 1 }) };
}

/** All that each request is told, by the request. New ones come when their step does. */
async function answers(speaker: Speaker, requests: readonly Request[], joins = requests.map(() => 0)): Promise<Map<Request, Said[]>> {
  const batch = new RunningBatch(speaker);
  const told = new Map<Request, Said[]>(requests.map((request) => [request, []]));
  for (let step = 0; step <= Math.max(...joins) || batch.size > 0; step++) {
    for (const [i, request] of requests.entries()) if (joins[i] === step) batch.add(request);
    if (batch.size > 0) for (const said of await batch.step()) told.get(said.request)?.push(said);
  }
  return told;
}

const tokensOf = (said: readonly Said[] | undefined) => said?.map(({ token }) => token);

describe.each(Object.entries(models))("requests to %s", async (_, given) => {
  const { speaker, request } = speaking(given);
  const wanted = [
    request(1, 9),
    request(2, 12, { temperature: 0 }),
    request(3, 5, { topK: 3 }),
    request(4, 12, { temperature: 2, topP: 0.9 }),
    request(5, 1, { minP: 0.2 }),
    request(6, 10, { repetitionPenalty: 1.5, bias: new Map([[3, 1]]) }, { end: 4 }),
  ];

  it("are told the same alone, together, and when they come later", async () => {
    const together = await answers(speaker, wanted);
    const later = await answers(speaker, wanted, [3, 0, 1, 5, 5, 2]);
    const turned = await answers(speaker, wanted.toReversed());
    for (const one of wanted) {
      const alone = (await answers(speaker, [one])).get(one);
      for (const others of [together, later, turned]) {
        expect(tokensOf(others.get(one))).toEqual(tokensOf(alone));
        expect(others.get(one)?.at(-1)?.finish).toBe(alone?.at(-1)?.finish);
        for (const [i, { logProbability }] of (others.get(one) ?? []).entries())
          expect(logProbability).toBeCloseTo(alone?.[i].logProbability ?? 0, 3);
      }
    }
  });

  it("end with the token that ends, or when there are enough", async () => {
    const free = request(7, 8);
    const said = (await answers(speaker, [free])).get(free) ?? [];
    expect(said.map(({ finish }) => finish)).toEqual([...new Array(7).fill(undefined), "length"]);
    const ending = { ...free, end: said[5].token };
    const ended = (await answers(speaker, [ending])).get(ending) ?? [];
    const first = said.findIndex(({ token }) => token === ending.end);
    expect(tokensOf(ended)).toEqual([...(tokensOf(said) ?? []).slice(0, first), undefined]);
    expect(ended.at(-1)).toMatchObject({ finish: "end", logProbability: said[first].logProbability });
  });

  it("that are taken out are told nothing more, and leave the others alone", async () => {
    const [a, b, c] = [request(8, 9), request(9, 9), request(10, 9)];
    const batch = new RunningBatch(speaker);
    for (const one of [a, b]) batch.add(one);
    const said = [await batch.step(), await batch.step()];
    batch.add(c);
    batch.remove(a);
    batch.remove(c);
    expect(batch.size).toBe(1);
    while (batch.size > 0) said.push(await batch.step());
    expect(said.slice(2).every((step) => step.length === 1 && step[0].request === b)).toBe(true);
    const alone = (await answers(speaker, [b])).get(b);
    expect(
      said
        .flat()
        .filter((one) => one.request === b)
        .map(({ token }) => token),
    ).toEqual(tokensOf(alone));
  });
});

describe("past the end of the context", () => {
  it.each(["a decoder", "a decoder without a mask"])("%s goes on from the later half of what there is", async (name) => {
    const { model, weights, speaker, request } = speaking(models[name]);
    const whole = new WholeModel(model, weights);
    for (const length of [1, 13, 14]) {
      const one = request(length, 40, { temperature: 0.8 }, { ids: randomIds(length, model.vocab, length) });
      const said = (await answers(speaker, [one, request(99, 20)])).get(one) ?? [];
      const all = Array.from(one.ids);
      let read = all.slice();
      for (const [i, { token, logProbability }] of said.entries()) {
        const [scores] = await whole.after([{ ids: read }]);
        const wanted = drawToken(candidates(scores, one.sampling, all), one.chance.uniform(i));
        expect(token, `token ${i} after ${length}`).toBe(wanted);
        expect(logProbability).toBeCloseTo(scores[wanted] - logSumExp(scores), 3);
        all.push(wanted);
        read = read.length < model.context ? [...read, wanted] : all.slice(-model.context / 2);
      }
      expect(said).toHaveLength(40);
    }
    await whole.release();
    await speaker.release();
  });

  it("an answer to a source ends, for it has no room", async () => {
    const { model, speaker, request } = speaking(models["an encoder–decoder"]);
    const one = request(5, 100);
    const said = (await answers(speaker, [one])).get(one) ?? [];
    expect([said.length, said.at(-1)?.finish]).toEqual([model.context, "length"]);
    await speaker.release();
  });

  it("an RNN language model just goes on", async () => {
    const { speaker, request } = speaking(models["an RNN language model"]);
    const one = request(5, 50, {}, { ids: randomIds(70, 12, 1) });
    expect((await answers(speaker, [one])).get(one)).toHaveLength(50);
    await speaker.release();
  });
});

it("more prompts than are read at once are all answered", async () => {
  const { speaker, request } = speaking({ model: "decoder", heads: 1, ...sizes, context: 128 });
  const many = Array.from({ length: 50 }, (_, i) => request(i, 2, {}, { ids: randomIds(100 + (i % 20), 12, i) }));
  const together = await answers(speaker, many);
  for (const one of [many[0], many[31], many[49]])
    expect(tokensOf(together.get(one))).toEqual(tokensOf((await answers(speaker, [one])).get(one)));
  await speaker.release();
});

it("scores that are not numbers are said so", async () => {
  const { model, weights } = speaking(models["a decoder"]);
  weights.data.fill(Number.NaN, 0, 40);
  const speaker = speakerOf(model, { weights, threads: 1 });
  const batch = new RunningBatch(speaker);
  batch.add({ ids: [1, 2, 3], tokens: 2, sampling: sampling({ temperature: 0 }), chance: chance(1) });
  const [{ error, finish }] = await batch.step();
  expect([error, finish, batch.size]).toEqual([
    new NonFiniteError("the scores are not numbers (NaN or infinity); the weights are damaged, or training went wrong"),
    "error",
    0,
  ]);
  await speaker.release();
});
