import { describe, expect, it } from "vitest";
import { type Chance, chance } from "../../src/base/chance.ts";
import { EngineError } from "../../src/base/errors.ts";
import { type Request, RunningBatch, type Said } from "../../src/generation/running-batch.ts";
import { type SamplingInput, sampling } from "../../src/generation/sampling.ts";
import type { Speaker } from "../../src/generation/speech.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelInput, modelConfig, readsSource } from "../../src/models/any.ts";
import { brokenAt, hashSpeaker, nothingAllowed, paused } from "./stand-ins.ts";
import { clearWeights, randomIds } from "./whole-model.ts";

// Requests join, leave and are aborted at any await. Whoever stays is told what he is told alone, and whoever leaves nothing more.

/** One stay in a batch: a request may come again after it has left. */
interface Stay {
  readonly request: Request;
  readonly told: Said[];
  left: boolean;
}

const settings: readonly SamplingInput[] = [
  {},
  { temperature: 0 },
  { topK: 3 },
  { temperature: 2, topP: 0.9 },
  { minP: 0.2 },
  { repetitionPenalty: 1.5, bias: new Map([[3, 1]]) },
];

/** Any request: its own prompt, seed, number of tokens, sampling and end. Some cannot be answered, or not to their end. */
function requestOf(source: Chance, vocab: number, reads: boolean): Request {
  const ids = (place: number) => randomIds(1 + source.integer(place, 9), vocab, source.integer(place + 1, 1000));
  const fault = source.integer(8, 30);
  return {
    ids: reads ? [1] : ids(0),
    ...(reads && { source: Int32Array.from(ids(2)) }),
    tokens: 1 + source.integer(4, 9),
    sampling: sampling(settings[source.integer(5, settings.length)]),
    chance: source.fork("own"),
    ...(source.uniform(6) < 0.5 && { end: source.integer(7, vocab) }),
    ...(fault === 0 && { tokens: -1 }),
    ...(fault === 1 && { ids: [] }),
    ...(fault === 2 && { sampling: nothingAllowed(vocab) }),
    ...(fault === 3 && { chance: brokenAt(2, source.fork("own")) }),
  };
}

/** So many stays are in a schedule, or a few more. */
const most = 25;

/** Plays a random schedule, in which something may happen at every await, and gives all stays. A share of all runs of the model fails. */
async function played(speaker: Speaker, reads: boolean, source: Chance, failing = 0): Promise<Stay[]> {
  const stays: Stay[] = [];
  const present = new Map<Request, Stay>();
  const aborts = new Map<Request, AbortController>();
  let moment = 0;
  const come = (request: Request): void => {
    const stay = { request, told: [], left: false };
    const controller = new AbortController();
    controller.signal.addEventListener("abort", () => batch.remove(request));
    stays.push(stay);
    present.set(request, stay);
    aborts.set(request, controller);
    batch.add(request);
  };
  const leave = (request: Request, how: "remove" | "abort"): void => {
    (present.get(request) as Stay).left = true;
    present.delete(request);
    if (how === "remove") batch.remove(request);
    else aborts.get(request)?.abort();
  };
  const happens = (): void => {
    const pick = source.fork(moment++);
    const kind = pick.uniform(0);
    const those = [...present.keys()];
    const one = those[pick.integer(1, Math.max(1, those.length))];
    if (kind < 0.2 && stays.length < most && those.length < 7) come(requestOf(pick.fork("request"), speaker.vocab, reads));
    else if (one && kind < 0.23) leave(one, "remove");
    else if (one && kind < 0.26) leave(one, "abort");
    else if (one && kind < 0.28) {
      leave(one, "remove");
      come(one);
    } else if (kind < 0.32 && stays.length > 0) {
      const gone = stays[pick.integer(2, stays.length)].request;
      if (!present.has(gone)) expect(batch.remove(gone)).toBe(false);
    }
  };
  const batch = new RunningBatch(
    paused(speaker, async () => {
      happens();
      await undefined;
      happens();
      if (source.fork(moment).uniform(3) < failing) throw new EngineError("out of memory");
    }),
  );
  while (stays.length < most || batch.size > 0) {
    happens();
    for (const said of await batch.step()) {
      const stay = present.get(said.request);
      expect(stay, "one who is told something is there").toBeDefined();
      stay?.told.push(said);
      if (said.finish !== undefined) present.delete(said.request);
    }
    expect(batch.size).toBe(present.size);
  }
  return stays;
}

async function alone(speaker: Speaker, request: Request): Promise<Said[]> {
  const batch = new RunningBatch(speaker);
  batch.add(request);
  const told: Said[] = [];
  while (batch.size > 0) told.push(...(await batch.step()));
  return told;
}

const tokens = (said: readonly Said[]) => said.map(({ token, finish, error }) => ({ token, finish, error: error?.message }));

/** Every stay against the same request alone, to so many digits; those who left, or whom the engine has failed, have heard a beginning of it. */
async function expectAlike(speaker: Speaker, stays: readonly Stay[], digits: number, what: string): Promise<void> {
  for (const [i, { request, told, left }] of stays.entries()) {
    const failed = told.at(-1)?.error instanceof EngineError;
    const whole = failed ? told.slice(0, -1) : told;
    const wanted = await alone(speaker, request);
    const heard = left || failed ? wanted.slice(0, whole.length) : wanted;
    expect(tokens(whole), `${what}, stay ${i}`).toEqual(tokens(heard));
    for (const [at, { logProbability }] of heard.entries())
      if (logProbability !== undefined)
        expect(whole[at].logProbability, `${what}, stay ${i}, token ${at}`).toBeCloseTo(logProbability, digits);
  }
}

it("whoever comes and goes at whatever moment, the others are told what they are told alone", async () => {
  const speaker = hashSpeaker();
  const all: Stay[] = [];
  for (let seed = 0; seed < 200; seed++) {
    const stays = await played(speaker, seed % 2 === 1, chance(seed).fork("traffic"));
    await expectAlike(speaker, stays, 12, `seed ${seed}`);
    all.push(...stays);
  }
  const share = (of: (stay: Stay) => boolean) => all.filter(of).length / all.length;
  expect(share(({ left }) => !left)).toBeGreaterThan(0.3);
  expect(share(({ left, told }) => left && told.length === 0)).toBeGreaterThan(0.1);
  expect(share(({ left, told }) => left && told.length > 0)).toBeGreaterThan(0.2);
  expect(share(({ told }) => told.at(-1)?.finish === "error")).toBeGreaterThan(0.05);
});

it("nor does it matter that the engine fails now and then, before or after it has run", async () => {
  const speaker = hashSpeaker();
  let failed = 0;
  for (let seed = 0; seed < 100; seed++) {
    const stays = await played(speaker, seed % 2 === 1, chance(seed).fork("failing"), 0.05);
    await expectAlike(speaker, stays, 12, `seed ${seed}`);
    failed += stays.filter(({ told }) => told.at(-1)?.error instanceof EngineError).length;
  }
  expect(failed).toBeGreaterThan(100);
});

const sizes = { vocab: 12, width: 8, layers: 1, context: 14 };
const models: Record<string, ModelInput> = {
  "a decoder": { model: "decoder", heads: 2, ...sizes },
  "a decoder without a mask": { model: "decoder", heads: 2, ...sizes, mask: "none" },
  "an encoder–decoder": { model: "encoder-decoder", heads: 2, ...sizes },
  "an encoder–decoder without a mask": { model: "encoder-decoder", heads: 2, ...sizes, mask: "none" },
  "an RNN language model": { model: "rnn", task: "lm", ...sizes },
  "an RNN encoder–decoder": { model: "rnn", ...sizes },
};

describe.each(Object.entries(models))("the same with %s", (_, given) => {
  it("at every await of the model", async () => {
    const model = modelConfig(given);
    const speaker = speakerOf(model, { weights: clearWeights(model), threads: 1 });
    for (let seed = 0; seed < 6; seed++) {
      const stays = await played(speaker, readsSource(model), chance(seed).fork("traffic"));
      await expectAlike(speaker, stays, 4, `seed ${seed}`);
    }
    await speaker.release();
  });
});

describe("the first of three that leaves in the middle of a step", () => {
  const request = (seed: number): Request => ({ ids: [seed], tokens: 6, sampling: sampling({ temperature: 0 }), chance: chance(seed) });
  const heard = (said: readonly Said[]) => said.map(({ token, logProbability }) => [token, logProbability]);

  it.each([
    ["go on", "before"],
    ["go on", "after"],
    ["join", "before"],
    ["join", "after"],
  ])("leaves the others what is theirs, while they %s, %s the model has run", async (what, moment) => {
    const [a, b, c] = [request(1), request(2), request(3)];
    const speaker = hashSpeaker();
    let pauses = 0;
    let leaving = what === "join" ? 1 : 3;
    if (moment === "after") leaving++;
    const batch: RunningBatch = new RunningBatch(
      paused(speaker, async () => {
        if (++pauses === leaving) batch.remove(a);
      }),
    );
    for (const one of [a, b, c]) batch.add(one);
    const said: Said[] = [];
    while (batch.size > 0) said.push(...(await batch.step()));
    const told = (one: Request) => heard(said.filter((it) => it.request === one));
    for (const one of [b, c]) expect(told(one)).toEqual(heard(await alone(speaker, one)));
    expect(told(a)).toEqual(heard(await alone(speaker, a)).slice(0, what === "join" ? 0 : 1));
  });
});
