import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { open, resume, type TrainSettings, train } from "../../src/entries/qkv.ts";
import { asTsv, sentences } from "../journeys/samples.ts";
import { Workplace } from "../support/command.ts";

// Rows that a program has in memory are trained on as the same rows in a file are.

const place = new Workplace();
const rows = sentences.slice(80, 160);
const small: TrainSettings = {
  model: { layers: 1, heads: 2, width: 16 },
  ...{ steps: 4, batch: 8, threads: 1, warn: false, cache: place.path("cache") },
};
const weights = (run: string) => readFileSync(place.path(run, "model.safetensors"));
const config = (run: string) => JSON.parse(readFileSync(place.path(run, "config.json"), "utf8"));

async function* coming<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const item of items) yield item;
}

it("gives the same model as a file, from a list or from rows that come one by one, and goes on as it does", async () => {
  const file = place.write("rows.tsv", asTsv(rows));
  await train(file, { ...small, out: place.path("file") });
  await train(rows, { ...small, out: place.path("list") });
  await train(coming(rows), { ...small, out: place.path("coming") });
  expect(weights("list")).toEqual(weights("file"));
  expect(weights("coming")).toEqual(weights("file"));
  expect(config("list").data).toMatchObject({ source: { kind: "memory", validFraction: 0.1 }, sha256: config("file").data.sha256 });
  await resume(place.path("file"), { steps: 7, warn: false });
  const { result } = await resume(place.path("list"), { steps: 7, data: rows, warn: false });
  expect(result.steps).toBe(7);
  expect(weights("list")).toEqual(weights("file"));
});

it("takes pairs, tags in a list, and texts, with validation rows of their own", async () => {
  const pairs = Array.from({ length: 20 }, (_, i) => ({ source: `number ${i}`, target: `zahl ${i}` }));
  const { translator, tagger } = {
    translator: await train(pairs, { ...small, out: place.path("pairs"), tokenizer: "char", valid: pairs.slice(0, 3) }),
    tagger: await train(
      Array.from({ length: 20 }, (_, i) => ({ text: `the dog ${i} barks`, tags: ["D", "N", "M", "V"] })),
      { ...small, out: place.path("tags") },
    ),
  };
  expect(translator.run.config.data).toMatchObject({ train: 20, valid: 3, source: { valid: true } });
  expect((await tagger.tag(["the dog 3 barks"]))[0].tags).toHaveLength(4);
  const texts = ["one two three four five six seven eight nine ten", "grün und 😀 blau, und wieder grün, und wieder blau"];
  const two = texts.map((text, i) => place.write(`text-${i}.txt`, text));
  const lm: TrainSettings = { ...small, model: { layers: 1, heads: 2, width: 16, context: 8 }, batch: 2 };
  await train(two, { ...lm, out: place.path("text-files") });
  await train(coming(texts), { ...lm, out: place.path("texts") });
  expect(weights("texts")).toEqual(weights("text-files"));
  expect(config("texts").data).toMatchObject({ sha256: config("text-files").data.sha256, valid: config("text-files").data.valid });
  const run = open(place.path("texts"), { warn: false });
  const measured = { cache: place.path("cache") };
  expect(await run.evaluate([{ text: texts[0] }], measured)).toEqual(await run.evaluate([two[0]], measured));
  expect(await run.evaluate([], { ...measured, own: texts.map((text) => ({ text })) })).toEqual(
    await open(place.path("text-files"), { warn: false }).evaluate([], measured),
  );
});

it("wants the rows again, and the same, in a program; the command line says so", async () => {
  await train(rows, { ...small, out: place.path("kept") });
  const run = place.path("kept");
  await expect(resume(run, { steps: 5 })).rejects.toMatchObject({
    code: "run.rows",
    message: /^the run was trained on rows .*resume\(folder, \{ data \}\)$/,
  });
  await expect(resume(run, { steps: 5, data: rows.slice(1) })).rejects.toMatchObject({
    code: "run.changed",
    message: /^rows in memory: the data has changed .*; give the same rows in the same order, or train a new run$/,
  });
  await expect(open(run).evaluate()).rejects.toMatchObject({ code: "run.rows" });
  const going = await place.qkv("train", "--resume", "kept", "--steps", "5");
  expect([going.code, going.stderr]).toEqual([1, expect.stringContaining("go on in a program that has them: resume(folder, { data })")]);
  const measuring = await place.qkv("eval", "kept");
  expect([measuring.code, measuring.stderr]).toEqual([1, expect.stringContaining("name a file to evaluate on")]);
  place.write("rows.tsv", asTsv(rows));
  expect(JSON.parse((await place.done("eval", "kept", "rows.tsv", "--json")).stdout).examples).toBe(rows.length);
  expect((await place.done("info", "kept")).stdout).toContain("rows in memory: ");
});

it.each<[string, unknown, string]>([
  [
    "a row without its label",
    [{ text: "a", label: "b" }, { text: "c" }],
    'at data[1]: the row has no "label" (found "text"), which classify needs',
  ],
  [
    "a misspelt answer",
    [{ text: "a", lable: "b" }],
    'at data[0]: the row has "text", "lable"; did you mean "label"?; a row is { text, label }',
  ],
  [
    "an empty label",
    [{ text: "a", label: " " }],
    'at data[0]: its "label" is empty; every example needs a label (remove the row or fill it in)',
  ],
  ["a text that is no text", [{ text: ["a"], label: "b" }], 'at data[0]: its "text" holds a list; wanted text, a number or true or false'],
  ["a row that is none", [{ text: "a", label: "b" }, 7], "at data[1]: found 7; a row is { text, label }"],
  ["an empty tag", [{ text: "a b", tags: ["A", ""] }], "at data[0]: tag 2 is empty; every example needs tags"],
  [
    "tags that are too few",
    [
      { text: "a b", tags: ["A"] },
      { text: "a b", tags: ["A", "B"] },
    ],
    "at data[0]: 1 tags for 2 words; every one needs its tag",
  ],
  ["no rows at all", new Set(), "at data: there are no rows; give some to learn from"],
])("refuses %s, before anything is made", async (_, data, message) => {
  const out = place.path("none");
  const refused = train(data as never, { ...small, out, validFraction: 0 });
  await expect(refused).rejects.toThrow(message);
  expect(existsSync(out)).toBe(false);
});

it("refuses rows that have a label here and labels there, with their places", async () => {
  const mixed = rows.map(({ text, label }, i) => (i % 2 ? { text, labels: [label] } : { text, label }));
  await expect(train(mixed, { ...small, out: place.path("mixed") })).rejects.toThrow(/^at data\[1\]: the row has no "label"/);
  await expect(train([...mixed].reverse(), { ...small, out: place.path("mixed") })).rejects.toThrow(
    /^at data\[1\]: the row has no "labels"/,
  );
});

it("learns several labels of rows, and warns when it is measured on what it was trained on", async () => {
  const many = rows.map(({ text, label }, i) => ({ text, labels: i % 3 ? [label] : [] }));
  const run = await train(many, { ...small, out: place.path("several") });
  expect(config("several")).toMatchObject({ model: { labelling: "several" }, data: { source: { kind: "memory", split: "stratified" } } });
  const [{ labels }] = await run.classify([rows[0].text]);
  expect(Array.isArray(labels)).toBe(true);
  const told: string[] = [];
  await open(place.path("file")).evaluate(rows, { warn: (sentence) => told.push(sentence), cache: place.path("cache") });
  expect(told).toContainEqual(expect.stringMatching(/^the run was trained on \d+ of these 80 examples/));
});

it("says that a run to go on from is still coming", async () => {
  const coming = Promise.resolve(open(place.path("file"))) as unknown as string;
  await expect(train(rows, { ...small, from: coming, out: place.path("no") })).rejects.toThrow(/is an await missing\?/);
});
