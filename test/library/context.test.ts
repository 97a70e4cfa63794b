import { expect, it } from "vitest";
import { train } from "../../src/entries/qkv.ts";
import { sentences } from "../journeys/samples.ts";
import { Workplace } from "../support/command.ts";

// The context of a reader is roomier than the texts that it was trained on.

const place = new Workplace();
const settings = { threads: 1, warn: false, seed: 1 } as const;
const polite = "dear all please note that as I wrote before and hope you are well thank you for reading this".split(" ");
const greeting = (i: number, length: number): string => Array.from({ length }, (_, k) => polite[(7 * i + 5 * k) % polite.length]).join(" ");
const share = (answers: readonly { readonly label: string }[]): number =>
  answers.filter(({ label }, i) => label === sentences[i].label).length / answers.length;

it("reads what comes after a preamble that is longer than any text it was trained on", async () => {
  const rows = sentences.map(({ text, label }, i) => ({ text: `${greeting(i, i % 10)} ${text}`, label }));
  const late = sentences.map(({ text }, i) => `${greeting(i + 3, 20)} ${text}`);
  const model = { layers: 1, heads: 2, width: 32 };
  const longest = 17; // nine words of greeting, and "the old king was glad in the rain"
  const roomy = await train(rows, { ...settings, steps: 120, out: place.path("roomy"), model });
  expect([roomy.model.context, roomy.run.config.data.longest]).toEqual([128, longest]);
  expect(share(await roomy.classify(late))).toBeGreaterThan(0.9);
  const tight = await train(rows, { ...settings, steps: 120, out: place.path("tight"), model: { ...model, context: longest } });
  const warned: string[] = [];
  expect(share(await tight.classify(late, { warn: (sentence) => warned.push(sentence) }))).toBeLessThan(0.7);
  expect(warned).toEqual([expect.stringMatching(/^240 of 240 texts are longer than the context of 17 tokens and are cut$/)]);
  expect((await place.done("info", "roomy")).stdout).toMatch(/^context +128 tokens; the longest of the examples to train on has 17$/m);
});

it("has twice the room of longer texts, no more places than were learned in a table, and cuts what was cut", async () => {
  const long = (times: number) => sentences.map(({ text, label }) => ({ text: `${text} ${"and so on ".repeat(times).trim()}`, label }));
  const contextOf = async (times: number, model: object = {}) => {
    const brief = { ...settings, steps: 1, batch: 4, model: { layers: 1, heads: 1, width: 8, ...model } };
    return (await train(long(times), { ...brief, out: place.path("brief"), overwrite: true })).model.context;
  };
  expect(await contextOf(25)).toBe(2 * (8 + 75));
  expect(await contextOf(25, { positions: "learned" })).toBe(8 + 75);
  expect(await contextOf(100)).toBe(256);
});
