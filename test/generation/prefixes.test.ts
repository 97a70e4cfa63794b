import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Prefixes } from "../../src/generation/prefixes.ts";
import type { Arrival, Known, Prompt } from "../../src/generation/speech.ts";
import { speakerOf } from "../../src/library/here.ts";
import { modelConfig } from "../../src/models/any.ts";
import { clearWeights, randomIds } from "./whole-model.ts";

// What is kept of prompts, what goes first, and what is never kept.

const known = (prompts: readonly (Prompt | undefined)[], bytes = 10, grain = 1): Known => ({
  prompts,
  bytes,
  reach: (_, tokens) => tokens - (tokens % grain),
});
const ids = (length: number, seed = 1) => randomIds(length, 100, seed);

describe("beginnings", () => {
  it("are the longest that are known, and leave the last token", () => {
    const prefixes = new Prefixes(100);
    const [short, long] = [known([{ ids: ids(20) }]), known([{ ids: ids(7, 2) }, { ids: ids(40) }])];
    prefixes.add(short);
    prefixes.add(long);
    expect(prefixes.find({ ids: [...ids(30), 0, 0] })).toEqual({ known: long, prompt: 1, tokens: 30 });
    expect(prefixes.find({ ids: ids(40) })?.tokens).toBe(39);
    expect(prefixes.find({ ids: [...ids(15), 0] })).toBeUndefined();
    expect(prefixes.find({ ids: ids(16) })).toBeUndefined();
    expect(prefixes.find({ ids: ids(17) })?.tokens).toBe(16);
  });

  it("with a source are for the same source alone, and its source is enough", () => {
    const prefixes = new Prefixes(100);
    const source = Int32Array.of(3, 4);
    prefixes.add(known([{ ids: [1, 5, 6], source }]));
    expect(prefixes.find({ ids: [1, 5, 7], source: source.slice() })?.tokens).toBe(2);
    expect(prefixes.find({ ids: [2], source })?.tokens).toBe(0);
    expect(prefixes.find({ ids: [1, 5, 7], source: Int32Array.of(3, 4, 5) })).toBeUndefined();
    expect(prefixes.find({ ids: ids(40) })).toBeUndefined();
  });

  it("that were used last stay, up to the bytes that they may take", () => {
    const prefixes = new Prefixes(30);
    for (const seed of [1, 2, 3]) prefixes.add(known([{ ids: ids(30, seed) }]));
    prefixes.find({ ids: ids(30, 1) });
    prefixes.add(known([{ ids: ids(30, 4) }]));
    expect([1, 2, 3, 4].map((seed) => prefixes.find({ ids: ids(30, seed) }) !== undefined)).toEqual([true, false, true, true]);
    expect(prefixes.bytes).toBe(30);
    prefixes.add(known([{ ids: ids(30, 5) }], 31)); // too large for all of them
    expect(prefixes.bytes).toBe(30);
    prefixes.clear();
    expect(prefixes.bytes).toBe(0);
    expect(() => new Prefixes(Number.NaN)).toThrow("a number of bytes is wanted, 0 or more, not NaN");
  });

  it("that are in a longer one go, and what is known already is not kept twice", () => {
    const prefixes = new Prefixes(1000);
    prefixes.add(known([{ ids: ids(20) }]));
    prefixes.add(known([{ ids: ids(40) }]));
    expect(prefixes.bytes).toBe(10);
    prefixes.add(known([{ ids: ids(40) }, { ids: ids(30) }]));
    expect(prefixes.bytes).toBe(10);
  });

  it("whatever was added: one that is found is the prompt's own, and none that is longer is known", () => {
    const prompt = fc.record({
      ids: fc.array(fc.constantFrom(3, 4), { minLength: 1, maxLength: 40 }).map((list) => [...new Array(14).fill(3), ...list]),
      source: fc.constantFrom(undefined, Int32Array.of(1), Int32Array.of(1, 2)),
    });
    fc.assert(
      fc.property(
        fc.array(fc.array(prompt, { minLength: 1, maxLength: 3 }), { maxLength: 6 }),
        prompt,
        fc.constantFrom(1, 8),
        (groups, wanted, grain) => {
          const prefixes = new Prefixes(1000);
          for (const group of groups) prefixes.add(known(group, 10, grain));
          const found = prefixes.find(wanted);
          const shared = (one: Prompt) => {
            const at = wanted.ids.findIndex((id, i) => one.ids[i] !== id);
            const count = Math.min(at < 0 ? wanted.ids.length : at, wanted.ids.length - 1);
            return `${one.source}` === `${wanted.source}` ? count - (count % grain) : -1;
          };
          const best = Math.max(-1, ...groups.flat().map(shared));
          const isWorthIt = wanted.source ? best >= 0 : best >= 16;
          expect(found?.tokens).toBe(isWorthIt ? best : undefined);
          if (found) expect(shared(found.known.prompts[found.prompt] as Prompt)).toBe(found.tokens);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("where only some places are known", () => {
  /** As an RNN knows it: states at these places. */
  const knownAt = (ids: readonly number[], places: readonly number[]): Known => ({
    prompts: [{ ids }],
    bytes: 10,
    reach: (_, tokens) => places.findLast((at) => at <= tokens) ?? -1,
  });

  it("a longer prompt that began where another ended does not take its place, and the same once more adds nothing", () => {
    const prefixes = new Prefixes(1000);
    prefixes.add(knownAt(ids(100), [0, 32, 64, 96, 100]));
    prefixes.add(knownAt(ids(150), [100, 128, 150]));
    expect(prefixes.find({ ids: [...ids(64), ...ids(40, 2)] })?.tokens).toBe(64);
    expect(prefixes.find({ ids: [...ids(150), 0] })?.tokens).toBe(150);
    prefixes.add(knownAt(ids(150), [128, 150]));
    expect(prefixes.bytes).toBe(20);
    prefixes.add(knownAt(ids(150), [0, 32, 64, 96, 100, 128, 150]));
    expect(prefixes.bytes).toBe(10);
  });

  it("whatever was added: as much is found as all of it together knows, but for a last token", () => {
    const one = fc
      .tuple(fc.integer({ min: 17, max: 60 }), fc.integer({ min: 0, max: 60 }), fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 6 }))
      .map(([length, other, places]) => {
        const list = ids(length).map((id, i) => (i < other ? id : id + 1));
        return { list, at: [...new Set([...places.filter((at) => at < length), length])].sort((a, b) => a - b) };
      });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 8 }), one, (all, { list: wanted }) => {
        const prefixes = new Prefixes(1000);
        for (const { list, at } of all) prefixes.add(knownAt(list, at));
        const best = Math.max(
          -1,
          ...all.map(({ list, at }) => {
            const different = wanted.findIndex((id, i) => list[i] !== id);
            const shared = Math.min(different < 0 ? wanted.length : different, wanted.length - 1);
            return at.findLast((place) => place <= shared) ?? -1;
          }),
        );
        const found = prefixes.find({ ids: wanted })?.tokens ?? -1;
        expect(found).toBeLessThanOrEqual(best);
        if (best > 16) expect(found).toBeGreaterThanOrEqual(best - 1);
      }),
      { numRuns: 1000 },
    );
  });
});

it("the bytes that they may take can become fewer", () => {
  let most = 30;
  const prefixes = new Prefixes(() => most);
  for (const seed of [1, 2, 3]) prefixes.add(known([{ ids: ids(30, seed) }]));
  expect(prefixes.bytes).toBe(30);
  most = 15;
  expect(prefixes.find({ ids: ids(30, 3) })?.tokens).toBe(29);
  expect(prefixes.bytes).toBe(10);
});

describe("an RNN", () => {
  const model = modelConfig({ model: "rnn", task: "lm", vocab: 100, width: 8, layers: 2, context: 50 });
  const speaker = speakerOf(model, { weights: clearWeights(model), threads: 1 });
  const states = 2 * 8 * 4; // bytes of one row at one place
  const read = async (length: number, use?: "for others" | "for itself"): Promise<Arrival> => {
    const arrival = speaker.begin().arrive?.([{ ids: ids(length) }], undefined, use) as Arrival;
    while (arrival.left > 0) await arrival.read(Number.POSITIVE_INFINITY);
    return arrival;
  };

  it("keeps states on the way only for others, and of a long prompt no more than of a shorter one", async () => {
    const each = (await read(200, "for itself")).bytes;
    expect(each % states).toBe(0);
    expect((await read(5_000, "for itself")).bytes).toBe(each);
    expect((await read(320)).bytes).toBe(11 * each);
    for (const length of [3_000, 5_000, 9_000]) {
      const known = (await read(length)).known();
      expect(known.bytes / each).toBeGreaterThan(32);
      expect(known.bytes / each).toBeLessThanOrEqual(65);
      expect(known.reach(0, length)).toBe(length);
      const gaps = [0.2, 0.5, 0.9].map((part) => Math.floor(part * length) - known.reach(0, Math.floor(part * length)));
      expect(Math.max(...gaps)).toBeLessThan(length / 16);
    }
  });

  it("says how many rows there is memory for: as much as it then keeps", async () => {
    const speech = speaker.begin();
    await speech.join([1, 2, 3].map((seed) => ({ ids: ids(20, seed) })));
    const rows = (count: number) => new Array(count).fill({ tokens: 1_000, source: 0 });
    expect([3, 4].map((count) => speaker.fits?.(rows(count), speech.bytes))).toEqual([true, false]);
    expect(speaker.fits?.(rows(3))).toBe(true);
  });

  it("that reads a source has room for the longest", async () => {
    const reader = speakerOf(modelConfig({ model: "rnn", vocab: 100, width: 8, layers: 1, context: 50 }), {
      weights: clearWeights(modelConfig({ model: "rnn", vocab: 100, width: 8, layers: 1, context: 50 })),
      threads: 1,
    });
    const speech = reader.begin();
    await speech.join([3, 20].map((length) => ({ ids: [1], source: Int32Array.from(ids(length)) })));
    const sizes = [3, 20].map((source) => ({ tokens: 10, source }));
    expect(reader.fits?.(sizes, speech.bytes)).toBe(true);
    expect(reader.fits?.(sizes, (speech.bytes ?? 0) / 2)).toBe(false);
    await reader.release();
  });
});

describe("an arrival refuses", () => {
  const model = modelConfig({ model: "decoder", heads: 2, vocab: 100, width: 8, layers: 1, context: 60 });
  const weights = clearWeights(model);
  const speaker = speakerOf(model, { weights, threads: 1 });
  const read = async (from: typeof speaker, prompt: Prompt) => {
    const arrival = from.begin().arrive?.([prompt]) as Arrival;
    while (arrival.left > 0) await arrival.read(100);
    return arrival;
  };

  it("a beginning that is not its own, or that is of another model", async () => {
    const one = (await read(speaker, { ids: ids(30) })).known();
    const arrive = (prompt: Prompt, tokens: number, from = speaker) => from.begin().arrive?.([prompt], [{ known: one, prompt: 0, tokens }]);
    const sentence = "tokens of a prompt are not those that were read of another";
    expect(() => arrive({ ids: ids(30) }, 29)).not.toThrow();
    expect(() => arrive({ ids: ids(30) }, 30)).toThrow(sentence);
    expect(() => arrive({ ids: [...ids(20), 0, 0] }, 21)).toThrow(sentence);
    expect(() => arrive({ ids: ids(30, 2) }, 20)).toThrow(sentence);
    const other = speakerOf(model, { weights, threads: 1 });
    expect(() => arrive({ ids: ids(30) }, 20, other)).toThrow("what another model has read is no beginning here");
    const there = await read(other, { ids: ids(30) });
    expect(() => speaker.begin().admit?.(there)).toThrow("these prompts were read by another model");
  });

  it("to join before it is read", () => {
    const speech = speaker.begin();
    const arrival = speech.arrive?.([{ ids: ids(30) }]) as Arrival;
    expect(() => speech.admit?.(arrival)).toThrow("30 tokens of these prompts are still to be read; they join after that");
  });

  it("to be known where its numbers are not finite", async () => {
    const damaged = clearWeights(model);
    const { offset = 0 } = damaged.layout.entries.find(({ name }) => name.endsWith("/tokens")) ?? {};
    damaged.data.fill(Number.NaN, offset + 5 * model.width, offset + 6 * model.width);
    const broken = speakerOf(model, { weights: damaged, threads: 1 });
    const whole = ids(30).map((id) => (id === 5 ? 6 : id));
    const arrival = broken.begin().arrive?.([{ ids: whole }, { ids: [...whole.slice(0, 20), 5, ...whole.slice(20, 25)] }]) as Arrival;
    while (arrival.left > 0) await arrival.read(10);
    expect(arrival.known().prompts.map((prompt) => prompt !== undefined)).toEqual([true, false]);
    await broken.release();
  });
});
