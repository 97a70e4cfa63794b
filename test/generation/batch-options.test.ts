import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { EngineError } from "../../src/base/errors.ts";
import { Prefixes } from "../../src/generation/prefixes.ts";
import { type BatchOptions, type Request, RunningBatch, type Said } from "../../src/generation/running-batch.ts";
import { type SamplingInput, sampling } from "../../src/generation/sampling.ts";
import type { Arrival, Speaker } from "../../src/generation/speech.ts";
import { speakerOf } from "../../src/library/here.ts";
import { modelConfig } from "../../src/models/any.ts";
import { altered, hashSpeaker, readingSpeaker } from "./stand-ins.ts";
import { alone, CountedConstraint } from "./traffic.ts";
import { clearWeights, logSumExp, randomIds } from "./whole-model.ts";

// What a batch can be told: pieces, rows, bytes, prefixes; and what a request can ask for.

const request = (length: number, seed: number, more: Partial<Request> = {}): Request => ({
  ids: randomIds(length, 13, seed),
  tokens: 4,
  sampling: sampling({ temperature: 0 }),
  chance: chance(seed),
  ...more,
});

/** Tells of every arrival: how many prompts it has, how many tokens are taken over, and how much is read at once. */
function watched(speaker: Speaker): { readonly speaker: Speaker; readonly arrivals: { prompts: number; taken: number; reads: number }[] } {
  const arrivals: { prompts: number; taken: number; reads: number }[] = [];
  return {
    arrivals,
    speaker: altered(speaker, (speech) => ({
      arrive: (prompts, beginnings = []) => {
        const arrival = speech.arrive?.(prompts, beginnings) as Arrival;
        const one = { prompts: prompts.length, taken: beginnings.reduce((sum, it) => sum + (it?.tokens ?? 0), 0), reads: 0 };
        arrivals.push(one);
        const read = arrival.read.bind(arrival);
        arrival.read = (tokens) => {
          one.reads++;
          return read(tokens);
        };
        return arrival;
      },
    })),
  };
}

async function answers(batch: RunningBatch): Promise<Said[]> {
  const said: Said[] = [];
  while (batch.size > 0) said.push(...(await batch.step()));
  return said;
}

describe("pieces", () => {
  it("of a long prompt are read while rows go on, one in each step", async () => {
    const { speaker, arrivals } = watched(readingSpeaker({ longest: 100 }));
    const batch = new RunningBatch(speaker, { piece: 10 });
    const [short, long] = [request(3, 1, { tokens: 20 }), request(45, 2)];
    batch.add(short);
    await batch.step();
    batch.add(long);
    const told: Request[][] = [];
    for (let i = 0; i < 6; i++) told.push((await batch.step()).map((said) => said.request));
    expect(told).toEqual([[short], [short], [short], [short], [short, long], [short, long]]);
    expect(arrivals.map(({ reads }) => reads)).toEqual([1, 5]);
  });

  it("are shared by short prompts, as long as rows · longest stays within them, in the order in which they came", async () => {
    const { speaker, arrivals } = watched(readingSpeaker({ longest: 100 }));
    const begun: Request[] = [];
    const batch = new RunningBatch(speaker, { piece: 12, begun: (one) => begun.push(one) });
    const all = [3, 4, 4, 5, 2, 30, 1].map((length, i) => request(length, i));
    for (const one of all) batch.add(one);
    const said = await answers(batch);
    expect(arrivals.map(({ prompts }) => prompts)).toEqual([3, 2, 1, 1]);
    expect(begun).toEqual(all);
    for (const one of all)
      expect(said.filter((it) => it.request === one).map(({ token }) => token)).toEqual(
        (await alone(speaker, one)).map(({ token }) => token),
      );
  });

  it("are nothing to a speaker that reads everything at once", async () => {
    const batch = new RunningBatch(hashSpeaker({ longest: 100 }), { piece: 5, prefixes: new Prefixes(1e6) });
    for (const seed of [1, 2]) batch.add(request(40, seed));
    expect(await batch.step()).toHaveLength(2);
  });

  it("are 1 at least, as are rows", () => {
    expect(() => new RunningBatch(hashSpeaker(), { piece: 0 })).toThrow("at piece");
    expect(() => new RunningBatch(hashSpeaker(), { rows: 0.5 })).toThrow("at rows");
  });
});

describe("rows and bytes", () => {
  it.each<[string, BatchOptions]>([
    ["whole", { rows: 2 }],
    ["in pieces", { rows: 2, piece: 50 }],
  ])("so many rows at once, the rest waits: %s", async (_, options) => {
    const batch = new RunningBatch(readingSpeaker({ longest: 100 }), options);
    const all = [1, 2, 3, 4, 5].map((seed) => request(3, seed, { tokens: seed }));
    for (const one of all) batch.add(one);
    const counts: number[][] = [];
    const told: number[][] = [];
    while (batch.size > 0) {
      told.push((await batch.step()).map((said) => all.indexOf(said.request)));
      counts.push([batch.size, batch.rows, batch.waiting]);
    }
    expect(told[0]).toEqual([0, 1]);
    expect(told[1]).toEqual([1, 2]);
    expect(counts[0]).toEqual([4, 1, 3]);
    expect(told.flat()).toHaveLength(15);
  });

  it("bytes are asked for when some are to join, and counted while they are there", async () => {
    const model = modelConfig({ model: "decoder", heads: 2, vocab: 13, width: 8, layers: 1, context: 60 });
    const speaker = speakerOf(model, { weights: clearWeights(model), threads: 1 });
    let memory = 2 * 8 * 2 * 4 * 14; // keys and values of two rows of 14
    const batch = new RunningBatch(speaker, { piece: 100, memory: () => memory });
    for (const seed of [1, 2, 3]) batch.add(request(10, seed));
    await batch.step();
    expect([batch.rows, batch.waiting]).toEqual([2, 1]);
    expect(batch.bytes).toBeGreaterThan(0);
    await batch.step();
    expect(batch.rows).toBe(2);
    memory = 1e9;
    await batch.step();
    expect(batch.rows).toBe(3);
    await answers(batch);
    expect([batch.rows, batch.waiting, batch.bytes]).toEqual([0, 0, 0]);
    await speaker.release();
  });

  it("bytes of common beginnings are not there for rows, and become fewer as all do", async () => {
    const model = modelConfig({ model: "decoder", heads: 2, vocab: 13, width: 8, layers: 1, context: 60 });
    const speaker = speakerOf(model, { weights: clearWeights(model), threads: 1 });
    const row = 8 * 2 * 4 * 24; // keys and values of a row of 24
    let memory = 4 * row;
    const prefixes = new Prefixes(() => memory / 4);
    const batch = new RunningBatch(speaker, { piece: 100, prefixes, memory: () => memory });
    batch.add(request(20, 1));
    await answers(batch);
    expect(prefixes.bytes).toBeGreaterThan(row / 2);
    expect(prefixes.bytes).toBeLessThanOrEqual(row);
    for (const seed of [2, 3, 4, 5]) batch.add(request(20, seed));
    await batch.step();
    expect([batch.rows, batch.waiting]).toEqual([3, 1]);
    memory = row;
    await batch.step();
    expect(prefixes.bytes).toBe(0);
    memory = 8 * row;
    await answers(batch);
    await speaker.release();
  });

  it("one that cannot be asked for bytes fails alone, and rows go on", async () => {
    let isBroken = false;
    const memory = () => {
      if (isBroken) throw new Error("nobody knows");
      return 1e9;
    };
    const batch = new RunningBatch(readingSpeaker(), { piece: 5, memory });
    const [one, other] = [request(3, 1), request(3, 2)];
    batch.add(one);
    const said = [...(await batch.step())];
    batch.add(other);
    isBroken = true;
    said.push(...(await answers(batch)));
    expect(said.find((it) => it.request === other)?.error?.message).toBe("nobody knows");
    expect(said.filter((it) => it.request === one).map(({ token }) => token)).toEqual(
      (await alone(readingSpeaker(), one)).map(({ token }) => token),
    );
  });
});

describe("prefixes", () => {
  it("are read once: who begins as another does waits for him, and reads the rest with others", async () => {
    const { speaker, arrivals } = watched(readingSpeaker({ longest: 100 }));
    const prefixes = new Prefixes(1e6);
    const batch = new RunningBatch(speaker, { piece: 100, prefixes });
    const common = randomIds(30, 13, 1);
    const all = [1, 2, 3, 4].map((seed) => request(0, seed, { ids: [...common, seed, 8, 9] }));
    const samples = [5, 6].map((seed) => ({ ...all[0], chance: chance(seed) }));
    for (const one of [...all, ...samples]) batch.add(one);
    await answers(batch);
    expect(arrivals).toEqual([
      { prompts: 1, taken: 0, reads: 1 },
      { prompts: 5, taken: 3 * 30 + 2 * 32, reads: 1 },
    ]);
    expect(batch.bytes).toBe(prefixes.bytes);
    batch.add({ ...all[0] });
    await batch.step();
    expect(arrivals[2]).toEqual({ prompts: 1, taken: 32, reads: 1 });
  });

  it("make nobody wait for ever: where nothing comes of it, the others are read together", async () => {
    const { speaker, arrivals } = watched(readingSpeaker({ longest: 100 }));
    const batch = new RunningBatch(speaker, { piece: 200, prefixes: new Prefixes(0) });
    const common = randomIds(30, 13, 1);
    for (let seed = 0; seed < 5; seed++) batch.add(request(0, seed, { ids: [...common, seed] }));
    await answers(batch);
    expect(arrivals.map(({ prompts }) => prompts)).toEqual([1, 4]);
  });
});

describe("an arrival that fails", () => {
  const failing = (fails: (prompts: number) => boolean) =>
    altered(readingSpeaker({ longest: 100 }), (speech) => ({
      arrive: (prompts, beginnings) => {
        const arrival = speech.arrive?.(prompts, beginnings) as Arrival;
        const read = arrival.read.bind(arrival);
        arrival.read = async (tokens) => {
          if (fails(prompts.length) || prompts.some(({ ids }) => ids[0] === 7)) throw new EngineError("no 7");
          return read(tokens);
        };
        return arrival;
      },
    }));

  it("is read one by one, and only who is at fault fails; rows that go on are not hurt", async () => {
    const batch = new RunningBatch(
      failing(() => false),
      { piece: 20, prefixes: new Prefixes(1e6) },
    );
    const going = request(3, 9, { ids: [4], tokens: 12 });
    batch.add(going);
    const said = [...(await batch.step())];
    const all = [1, 7, 2, 3].map((id) => request(0, id, { ids: [id] }));
    for (const one of all) batch.add(one);
    said.push(...(await answers(batch)));
    for (const one of [going, all[0], all[2], all[3]])
      expect(said.filter((it) => it.request === one).map(({ token }) => token)).toEqual(
        (await alone(hashSpeaker({ longest: 100 }), one)).map(({ token }) => token),
      );
    expect(said.filter((it) => it.request === all[1])).toEqual([{ request: all[1], error: new EngineError("no 7"), finish: "error" }]);
  });

  it("goes when nobody is there any more, and outlives rows that fail", async () => {
    let broken = false;
    const speaker = altered(readingSpeaker({ longest: 100 }), (speech) => ({
      next: async (tokens) => {
        if (broken) throw new EngineError("out of memory");
        return speech.next(tokens);
      },
    }));
    const batch = new RunningBatch(speaker, { piece: 10 });
    const [going, long] = [request(3, 1, { tokens: 50 }), request(40, 2)];
    batch.add(going);
    await batch.step();
    batch.add(long);
    await batch.step();
    broken = true;
    expect((await batch.step())[0].error).toEqual(new EngineError("out of memory"));
    broken = false;
    const said = await answers(batch);
    expect(said.map(({ token }) => token)).toEqual((await alone(hashSpeaker({ longest: 100 }), long)).map(({ token }) => token));
    batch.add(long);
    await batch.step();
    expect(batch.bytes).toBeGreaterThan(0);
    expect([batch.size, batch.rows, batch.waiting]).toEqual([1, 0, 0]); // on its way
    batch.remove(long);
    expect([batch.size, batch.bytes]).toEqual([0, 0]);
  });
});

describe("what a request asks for", () => {
  const tokens = async (more: Partial<Request>, given: SamplingInput = {}) =>
    alone(hashSpeaker({ longest: 100 }), request(3, 1, { tokens: 12, sampling: sampling(given), ...more }));

  it("the likeliest tokens, with every one that is said", async () => {
    const said = await tokens({ top: 3, end: 5 }, { temperature: 0 });
    for (const { top = [], logProbability, token, finish } of said) {
      expect(top).toHaveLength(3);
      expect(top[0]).toEqual({ token: finish === "end" ? 5 : token, logProbability });
      expect(logSumExp(top.map((one) => one.logProbability ?? 0))).toBeLessThan(0);
    }
    expect((await tokens({}))[0].top).toBeUndefined();
    expect((await tokens({ top: -1 }))[0].error?.message).toContain("at top");
  });

  it("penalties for what it has written itself", async () => {
    const repeated = (said: readonly Said[]) => said.length - new Set(said.map(({ token }) => token)).size;
    expect(repeated(await tokens({}, { temperature: 0.1, frequencyPenalty: -2, presencePenalty: -2 }))).toBeGreaterThan(4);
    expect(repeated(await tokens({}, { temperature: 0.1, frequencyPenalty: 2, presencePenalty: 2 }))).toBeLessThan(3);
  });

  it("a form: what is not allowed is not said, and the constraint is released once, however the request leaves", async () => {
    const free = (await tokens({})).map(({ token }) => token);
    const constraint = new CountedConstraint(13, free[0] as number);
    expect((await tokens({ constraint })).map(({ token }) => token)).not.toContain(free[0]);
    expect(constraint.released).toBe(1);
    const ended = new CountedConstraint(13, 12);
    expect((await tokens({ constraint: ended, end: free[0] })).at(-1)?.finish).toBe("end");
    expect(ended.released).toBe(1);
    const refused = new CountedConstraint(13, 12);
    expect((await tokens({ constraint: refused, ids: [], tokens: -1 }))[0].finish).toBe("error");
    expect(refused.released).toBe(1);
    const waiting = new CountedConstraint(13, 12);
    const batch = new RunningBatch(hashSpeaker());
    const one = request(3, 1, { constraint: waiting });
    batch.add(one);
    batch.remove(one);
    expect(waiting.released).toBe(1);
  });

  it("one that allows nothing, or that throws, fails its request alone", async () => {
    const nothing = new CountedConstraint(13, 1);
    nothing.allowed = async () => new Int32Array(1);
    const thrower = new CountedConstraint(13, 1);
    thrower.accept = () => {
      throw new Error("not by this grammar");
    };
    const batch = new RunningBatch(hashSpeaker());
    const all = [request(3, 1, { constraint: nothing }), request(3, 2), request(3, 3, { constraint: thrower })];
    for (const one of all) batch.add(one);
    const said = await answers(batch);
    expect(said.filter((it) => it.request === all[0]).map(({ error }) => error?.message)).toEqual([
      "no token may come here by the form of the answer, or only such as are never written",
    ]);
    expect(said.filter((it) => it.request === all[2]).map(({ error }) => error?.message)).toEqual(["not by this grammar"]);
    expect(said.filter((it) => it.request === all[1])).toHaveLength(4);
    expect([nothing.released, thrower.released]).toEqual([1, 1]);
  });

  it("one that is asked while its request leaves is released after that", async () => {
    const order: string[] = [];
    const constraint = new CountedConstraint(13, 1);
    const allowed = constraint.allowed.bind(constraint);
    const batch = new RunningBatch(hashSpeaker());
    const one = request(3, 1, { constraint });
    constraint.allowed = async () => {
      batch.remove(one);
      order.push(`asked, released ${constraint.released} times`);
      const found = await allowed();
      order.push(`answered, released ${constraint.released} times`);
      return found;
    };
    batch.add(one);
    expect(await batch.step()).toEqual([]);
    expect(order).toEqual(["asked, released 0 times", "answered, released 0 times"]);
    expect(constraint.released).toBe(1);
  });
});
