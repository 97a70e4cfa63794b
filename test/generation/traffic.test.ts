import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { EngineError } from "../../src/base/errors.ts";
import { type Request, RunningBatch, type Said } from "../../src/generation/running-batch.ts";
import { sampling } from "../../src/generation/sampling.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelInput, modelConfig, readsSource } from "../../src/models/any.ts";
import { hashSpeaker, paused } from "./stand-ins.ts";
import { alone, expectAlike, played, type Stay } from "./traffic.ts";
import { clearWeights } from "./whole-model.ts";

// Requests join, leave and are aborted at any await. Whoever stays is told what he is told alone, and whoever leaves nothing more.

it("whoever comes and goes at whatever moment, the others are told what they are told alone", async () => {
  const speaker = hashSpeaker();
  const all: Stay[] = [];
  for (let seed = 0; seed < 200; seed++) {
    const stays = await played(speaker, chance(seed).fork("traffic"), { reads: seed % 2 === 1 });
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
    const stays = await played(speaker, chance(seed).fork("failing"), { reads: seed % 2 === 1, failing: 0.05 });
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
      const stays = await played(speaker, chance(seed).fork("traffic"), { reads: readsSource(model) });
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
