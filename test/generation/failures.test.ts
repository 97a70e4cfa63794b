import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { ConfigError, EngineError, NonFiniteError } from "../../src/base/errors.ts";
import { type Request, RunningBatch, type Said } from "../../src/generation/running-batch.ts";
import { sampling } from "../../src/generation/sampling.ts";
import type { Speaker } from "../../src/generation/speech.ts";
import type { ParameterBuffer } from "../../src/graph/parameters.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelInput, modelConfig, readsSource } from "../../src/models/any.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import type { Engine } from "../../src/runtime/session.ts";
import { altered, brokenAt, hashSpeaker, nothingAllowed, paused } from "./stand-ins.ts";
import { clearWeights, randomIds } from "./whole-model.ts";

// One bad request fails alone; what fails in the engine fails everybody who is there, and nobody who comes after.

const sizes = { vocab: 12, width: 8, layers: 1, context: 14, tie: false };
/** A token whose embedding is not a number. Nobody writes it; prompts may have it. */
const broken = 5;
const models: Record<string, ModelInput> = {
  "a decoder": { model: "decoder", heads: 2, ...sizes },
  "a decoder with linear attention": { model: "decoder", heads: 2, ...sizes, attention: "linear" },
  "a decoder without a mask": { model: "decoder", heads: 2, ...sizes, mask: "none" },
  "an encoder–decoder": { model: "encoder-decoder", heads: 2, ...sizes },
  "an encoder–decoder without a mask": { model: "encoder-decoder", heads: 2, ...sizes, mask: "none" },
  "an RNN language model": { model: "rnn", task: "lm", ...sizes },
  "an RNN encoder–decoder": { model: "rnn", ...sizes },
};

/** Makes a token's embedding NaN. */
function damage({ layout, data }: ParameterBuffer, { width }: { readonly width: number }, token: number): void {
  const { offset = 0 } = layout.entries.find(({ name }) => name.endsWith("/tokens")) ?? {};
  data.fill(Number.NaN, offset + token * width, offset + (token + 1) * width);
}

function speaking(given: ModelInput, engine: Engine = nodeEngine) {
  const model = modelConfig(given);
  const weights = clearWeights(model);
  damage(weights, model, broken);
  const reads = readsSource(model);
  const whole = (length: number, seed: number) => randomIds(length, model.vocab, seed).map((id) => (id === broken ? 4 : id));
  const request = (seed: number, more: Partial<Request> = {}): Request => ({
    ids: reads ? [1] : whole(2 + (seed % 5), seed),
    ...(reads && { source: Int32Array.from(whole(2 + (seed % 5), seed)) }),
    tokens: 7,
    sampling: sampling({ bias: new Map([[broken, Number.NEGATIVE_INFINITY]]) }),
    chance: chance(seed).fork("sampling"),
    ...more,
  });
  return { reads, request, speaker: speakerOf(model, { weights, device: { engine, threads: 1 } }) };
}

/** What requests are told, each by itself. New ones come when their step does. */
async function answers(speaker: Speaker, requests: readonly Request[], joins = requests.map(() => 0)): Promise<Said[][]> {
  const batch = new RunningBatch(speaker);
  const told = requests.map((): Said[] => []);
  for (let step = 0; step <= Math.max(...joins) || batch.size > 0; step++) {
    for (const [i, request] of requests.entries()) if (joins[i] === step) batch.add(request);
    for (const said of await batch.step()) told[requests.indexOf(said.request)].push(said);
  }
  return told;
}

function expectSame(found: readonly Said[], wanted: readonly Said[]): void {
  const heard = (said: readonly Said[]) => said.map(({ token, finish }) => ({ token, finish }));
  expect(heard(found)).toEqual(heard(wanted));
  for (const [i, { logProbability }] of wanted.entries())
    if (logProbability !== undefined) expect(found[i].logProbability).toBeCloseTo(logProbability, 4);
}

interface Bad {
  readonly more: (reads: boolean) => Partial<Request>;
  readonly error: new (sentence: string) => Error;
  readonly sentence: string;
  /** How many tokens it gets before. */
  readonly after?: number;
}

const prompt = (ids: number[], reads: boolean): Partial<Request> => (reads ? { source: Int32Array.from(ids) } : { ids });
const bad: Record<string, Bad> = {
  "a token id beyond the vocabulary": {
    more: (reads) => prompt([3, 12], reads),
    error: ConfigError,
    sentence: "the token id 12 is not in the vocabulary, which goes from 0 to 11",
  },
  "a negative token id": {
    more: (reads) => prompt([-1], reads),
    error: ConfigError,
    sentence: "the token id -1 is not in the vocabulary, which goes from 0 to 11",
  },
  "a target that begins with no token at all": {
    more: () => ({ ids: [12] }),
    error: ConfigError,
    sentence: "the token id 12 is not in the vocabulary",
  },
  "nothing to read": { more: (reads) => prompt([], reads), error: ConfigError, sentence: "there is no token in the" },
  "no target to begin with": { more: () => ({ ids: [] }), error: ConfigError, sentence: "there is no token in the prompt" },
  "scores that are not numbers": {
    more: (reads) => prompt([3, broken, 4, 3], reads),
    error: NonFiniteError,
    sentence: "the scores are not numbers (NaN or infinity)",
  },
  "every token forbidden": { more: () => ({ sampling: nothingAllowed(12) }), error: ConfigError, sentence: "every token is forbidden" },
  "chance that fails": { more: () => ({ chance: brokenAt(0, chance(1)) }), error: Error, sentence: "the dice are gone" },
  "chance that fails later": { more: () => ({ chance: brokenAt(3, chance(1)) }), error: Error, sentence: "the dice are gone", after: 3 },
  "a number of tokens that is none": { more: () => ({ tokens: Number.NaN }), error: ConfigError, sentence: "at tokens: a whole number" },
};

describe.each(Object.entries(models))("requests to %s", async (_, given) => {
  const { speaker, request, reads } = speaking(given);
  const good = [1, 2, 3, 4].map((seed) => request(seed));
  const wanted: Said[][] = [];
  for (const one of good) wanted.push(...(await answers(speaker, [one])));

  it.each(Object.entries(bad))(
    "with %s fail alone, wherever they stand and whenever they come",
    async (_, { more, error, sentence, after = 0 }) => {
      const wrong = request(9, more(reads));
      for (const place of [0, 2, 4])
        for (const joins of [
          [0, 0, 0, 0, 0],
          [0, 1, 0, 2, 1],
          [2, 2, 1, 2, 0],
        ]) {
          const all = good.toSpliced(place, 0, wrong);
          const told = await answers(speaker, all, joins);
          const [own] = told.splice(place, 1);
          for (const [i, said] of told.entries()) expectSame(said, wanted[i]);
          expect(own.map(({ finish }) => finish)).toEqual([...new Array(after).fill(undefined), "error"]);
          expect(own[after].error).toBeInstanceOf(error);
          expect(own[after].error?.message).toContain(sentence);
        }
    },
  );
});

describe("padding", () => {
  it.each(Object.keys(models))("of %s is made of a row's own tokens: what is wrong with another token is no harm", async (name) => {
    const model = modelConfig(models[name]);
    const weights = clearWeights(model);
    damage(weights, model, 0); // with which rows used to be filled up
    const speaker = speakerOf(model, { weights, threads: 1 });
    const { request } = speaking(models[name]);
    const more = { tokens: 3, sampling: sampling({ bias: new Map([[0, Number.NEGATIVE_INFINITY]]) }) };
    const all = [0, 1, 2, 3, 4].map((seed) => request(seed, more)); // of five lengths
    const together = await answers(speaker, all);
    for (const [i, one] of all.entries()) expectSame(together[i], (await answers(speaker, [one]))[0]);
    await speaker.release();
  });

  it.each(["a decoder", "an encoder–decoder"])("of %s that is not a number reaches only who has as many tokens", async (name) => {
    const model = modelConfig(models[name]);
    const weights = clearWeights(model);
    const reader = model.model === "decoder" ? "decoder" : "encoder";
    const { offset = 0 } = weights.layout.entries.find((entry) => entry.name.includes(`${reader}/positions`)) ?? {};
    weights.data.fill(Number.NaN, offset + 6 * model.width, offset + 7 * model.width); // the seventh place
    const speaker = speakerOf(model, { weights, threads: 1 });
    const { request, reads } = speaking(models[name]);
    const all = [2, 7, 3, 6, 8].map((length, i) => request(i, { ...prompt(new Array(length).fill(3 + i), reads), tokens: 1 }));
    const together = await answers(speaker, all);
    for (const [i, one] of all.entries()) expectSame(together[i], (await answers(speaker, [one]))[0]);
    expect(together.map(([{ finish }]) => finish)).toEqual(["length", "error", "length", "length", "error"]);
    await speaker.release();
  });
});

describe("when a group cannot be read", () => {
  it("it is read one by one, and only who is at fault fails", async () => {
    const speaker = hashSpeaker();
    const fragile = altered(speaker, (speech) => ({
      join: async (prompts) => {
        if (prompts.some(({ ids }) => ids[0] === 7)) throw new EngineError("no 7");
        return speech.join(prompts);
      },
    }));
    const requests = [1, 7, 2, 3].map((id) => ({ ids: [id], tokens: 4, sampling: sampling(), chance: chance(id) }));
    const told = await answers(fragile, requests);
    expect(told[1]).toEqual([{ request: requests[1], error: new EngineError("no 7"), finish: "error" }]);
    for (const i of [0, 2, 3]) expectSame(told[i], (await answers(speaker, [requests[i]]))[0]);
  });
});

/** The engine, until its run with this number. */
function failingEngine(): { readonly engine: Engine; failAt: (run: number) => void } {
  let left = Number.POSITIVE_INFINITY;
  return {
    failAt: (run) => {
      left = run;
    },
    engine: {
      ...nodeEngine,
      createSession: async (model, options) => {
        const session = await nodeEngine.createSession(model, options);
        return {
          run: (feeds, outputs, into) => {
            if (left-- === 0) throw new EngineError("out of memory");
            return session.run(feeds, outputs, into);
          },
          endProfiling: () => session.endProfiling(),
          release: () => session.release(),
        };
      },
    },
  };
}

describe.each(Object.entries(models))("an engine that fails under %s", async (_, given) => {
  const { engine, failAt } = failingEngine();
  const { speaker, request } = speaking(given, engine);
  const [a, b, c, d] = [1, 2, 3, 4].map((seed) => request(seed));
  const alone = new Map<Request, Said[]>();
  for (const one of [a, b, c, d]) alone.set(one, (await answers(speaker, [one]))[0]);

  it("fails everybody who is there, and nobody who waits or comes after", async () => {
    const batch = new RunningBatch(speaker);
    batch.add(a);
    batch.add(b);
    await batch.step();
    await batch.step();
    failAt(0);
    batch.add(c); // it joins after the others have failed
    const said = await batch.step();
    expect(said.slice(0, 2)).toEqual([a, b].map((one) => ({ request: one, error: new EngineError("out of memory"), finish: "error" })));
    expect(said.slice(2).map((one) => one.request)).toEqual([c]);
    expect(batch.size).toBe(1);
    batch.add(d);
    batch.add(a); // again, from its beginning
    while (batch.size > 0) said.push(...(await batch.step()));
    for (const one of [a, c, d]) {
      const told = said.filter((it) => it.request === one && it.finish !== "error");
      expectSame(told, alone.get(one) ?? []);
    }
  });

  it("while somebody joins fails him, and leaves the rows as they were", async () => {
    for (const run of [0, 1]) {
      let armed = false;
      const fragile = altered(speaker, (speech) => ({
        join: (prompts) => {
          if (armed) failAt(run); // an encoder runs first, if there is one
          return speech.join(prompts);
        },
      }));
      const batch = new RunningBatch(fragile);
      batch.add(a);
      batch.add(b);
      const said = [...(await batch.step())];
      batch.add(c);
      armed = true;
      const more = await batch.step();
      said.push(...more);
      armed = false;
      failAt(Number.POSITIVE_INFINITY);
      batch.add(d);
      while (batch.size > 0) said.push(...(await batch.step()));
      const told = (one: Request) => said.filter((it) => it.request === one);
      for (const one of [a, b, d]) expectSame(told(one), alone.get(one) ?? []);
      if (more.some(({ error }) => error !== undefined))
        expect(told(c)).toEqual([{ request: c, error: new EngineError("out of memory"), finish: "error" }]);
      else expectSame(told(c), alone.get(c) ?? []);
    }
  });
});

describe("a batch says what it does not do", () => {
  const request = (seed: number): Request => ({ ids: [seed], tokens: 3, sampling: sampling(), chance: chance(seed) });

  it("a request is in it once, and may come again when it has left or is answered", async () => {
    const batch = new RunningBatch(hashSpeaker());
    const one = request(1);
    batch.add(one);
    expect(() => batch.add(one)).toThrow("this request is in the batch already; make another to ask the same again");
    await batch.step();
    expect(() => batch.add(one)).toThrow(ConfigError);
    expect(batch.size).toBe(1);
    expect(batch.remove(one)).toBe(true);
    expect(batch.size).toBe(0);
    batch.add(one);
    const said: Said[] = [];
    while (batch.size > 0) said.push(...(await batch.step()));
    expect(said).toHaveLength(3);
    batch.add(one);
    expect(batch.size).toBe(1);
  });

  it("one that waits leaves at once, and one that is not there does not matter", async () => {
    const batch = new RunningBatch(hashSpeaker());
    const [one, other] = [request(1), request(2)];
    batch.add(one);
    expect([batch.remove(one), batch.remove(one), batch.remove(other)]).toEqual([true, false, false]);
    expect(await batch.step()).toEqual([]);
  });

  it("it takes one step at a time", async () => {
    const batch = new RunningBatch(hashSpeaker());
    batch.add(request(1));
    const first = batch.step();
    await expect(batch.step()).rejects.toThrow("a step of this batch is under way; wait for it before the next");
    expect(await first).toHaveLength(1);
    expect(await batch.step()).toHaveLength(1);
  });

  it("one that comes in the middle of a step waits for the next, and a removed one is not waited for", async () => {
    const [one, late, gone] = [request(1), request(2), request(3)];
    let pauses = 0;
    const batch: RunningBatch = new RunningBatch(
      paused(hashSpeaker(), async () => {
        if (++pauses === 1) for (const other of [late, gone]) batch.add(other);
        if (pauses === 2) batch.remove(gone);
      }),
    );
    batch.add(one);
    expect((await batch.step()).map((said) => said.request)).toEqual([one]);
    expect(batch.size).toBe(2);
    expect((await batch.step()).map((said) => said.request)).toEqual([one, late]);
  });

  it("an answer that has not as many rows as were asked for is nobody's", async () => {
    const short = altered(hashSpeaker(), (speech) => ({ next: async (tokens) => (await speech.next(tokens)).slice(1) }));
    const batch = new RunningBatch(short);
    for (const seed of [1, 2]) batch.add(request(seed));
    await batch.step();
    for (const { error } of await batch.step()) expect(error?.message).toContain("1 rows were answered, and 2 were asked for");
    expect(batch.size).toBe(0);
  });
});
