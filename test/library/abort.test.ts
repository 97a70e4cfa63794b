import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cost } from "../../src/entries/inspect.ts";
import { classifyTexts, open, resume, type TrainSettings, train, trainTokenizer } from "../../src/entries/qkv.ts";
import { sentences } from "../journeys/samples.ts";
import { Workplace } from "../support/command.ts";

// A signal stops what takes time between two runs of the engine, and leaves everything as it can be used again.

const place = new Workplace();
const fixture = (name: string) => join(import.meta.dirname, "../fixtures/0.1.0", name);
const small: TrainSettings = { model: { layers: 1, heads: 2, width: 16 }, steps: 8, batch: 8, threads: 1, evalEvery: 3, warn: false };
const weights = (run: string) => readFileSync(place.path(run, "model.safetensors"));
const abortError = expect.objectContaining({ name: "AbortError" });

it("saves a checkpoint, and a resumed run comes to the same bits as one that was never stopped", async () => {
  await train(sentences, { ...small, out: place.path("whole") });
  const stop = new AbortController();
  const out = place.path("stopped");
  const kinds: string[] = [];
  const stopped = train(sentences, {
    ...{ ...small, out, signal: stop.signal },
    listen: (event) => {
      kinds.push(event.kind);
      if (event.kind === "step" && event.step === 4) stop.abort();
    },
  });
  expect(await stopped.catch((reason: unknown) => reason)).toBe(stop.signal.reason);
  expect(stop.signal.reason).toEqual(abortError);
  expect(kinds.slice(-2)).toEqual(["saved", "interrupted"]);
  expect(existsSync(join(out, "checkpoints/4"))).toBe(true);
  const { result } = await resume(out, { data: sentences, warn: false });
  expect(result.ending).toBe("steps");
  expect(weights("stopped")).toEqual(weights("whole"));
});

it("rejects with any reason, before a folder is made: at once, and while rows still come", async () => {
  const out = place.path("never");
  await expect(train(sentences, { ...small, out, signal: AbortSignal.abort("enough") })).rejects.toBe("enough");
  const stop = new AbortController();
  async function* endless() {
    for (let i = 0; ; i++) {
      if (i === 100_000) stop.abort();
      yield { text: `text ${i}`, label: `${i % 2}` };
    }
  }
  await expect(train(endless(), { ...small, out, signal: stop.signal })).rejects.toEqual(abortError);
  const words = Array.from({ length: 3000 }, (_, i) => `${i}`.split("").join("a")).join(" ");
  await expect(trainTokenizer("bpe", Array(200).fill(words), { signal: AbortSignal.timeout(1) })).rejects.toMatchObject({
    name: "TimeoutError",
  });
  expect(existsSync(out)).toBe(false);
});

it("stops every call, and the model answers the next", async () => {
  const signal = AbortSignal.abort();
  const [encoder, tagger, translator, decoder] = ["encoder", "tagger", "encoder-decoder", "decoder"].map((name) =>
    open(fixture(name), { warn: false }),
  );
  const calls: [string, (options: { signal?: AbortSignal }) => Promise<unknown>][] = [
    ["classify", (options) => encoder.classify(["i am happy today"], options)],
    ["tag", (options) => tagger.tag(["the dog barks"], options)],
    ["translate", (options) => translator.translate(["number 3"], options)],
    ["samples", (options) => decoder.samples(["the"], { tokens: 3, ...options })],
    ["best", (options) => decoder.best(["the"], { beams: 2, tokens: 3, ...options })],
    ["generate", (options) => decoder.generate("the", { tokens: 3, ...options }).next()],
    ["look", (options) => decoder.look("the cat", ["decoder/block.0/attention/pattern"], options)],
    ["attention", (options) => translator.attention("number 3", options)],
    ["cost", (options) => cost(decoder.model, options)],
    ["evaluate", (options) => encoder.evaluate([{ text: "i am happy today 1", label: "good" }], options)],
  ];
  for (const [name, call] of calls) {
    await expect(call({ signal }), name).rejects.toBe(signal.reason);
    expect(await call({}), name).toBeDefined();
  }
  await Promise.all([encoder, tagger, translator, decoder].map((run) => run.release()));
});

it("stops in the middle: after a piece of text, and between batches", async () => {
  await using decoder = open(fixture("decoder"), { warn: false });
  const stop = new AbortController();
  const pieces: string[] = [];
  const writing = async () => {
    for await (const piece of decoder.generate("the", { tokens: 100, temperature: 0, signal: stop.signal })) {
      pieces.push(piece);
      stop.abort();
    }
  };
  await expect(writing()).rejects.toEqual(abortError);
  expect(pieces).toHaveLength(1);
  await using encoder = open(fixture("encoder"), { warn: false });
  const late = new AbortController();
  async function* texts() {
    for (let i = 0; i < 3000; i++) {
      if (i === 2500) late.abort(); // more than a chunk is answered by then
      yield `i am happy today ${i}`;
    }
  }
  let answered = 0;
  const classifying = async () => {
    for await (const _ of classifyTexts(encoder, texts(), { signal: late.signal })) answered++;
  };
  await expect(classifying()).rejects.toEqual(abortError);
  expect(answered).toBe(2048);
  expect(await encoder.classify(["i am happy today"])).toHaveLength(1);
});

it("is released at the end of a block, and can be used again after it", async () => {
  const before = open(fixture("encoder"));
  {
    await using encoder = before;
    await encoder.classify(["i am happy"]);
    expect(encoder.keptCount).toBe(1);
  }
  expect(before.keptCount).toBe(0);
  expect(await before.classify(["i am happy"])).toHaveLength(1);
  await before.release();
});
