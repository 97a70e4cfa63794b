import { beforeAll, describe, expect, it } from "vitest";
import { Workplace } from "../support/command.ts";
import { asCsv, asJsonl, asTsv, heldOut, sentences, spoken, tagged } from "./samples.ts";

// Files of one's own, trained on for some seconds: what was held out is answered rightly.

const place = new Workplace();
const small = "--layers 1 --heads 2 --width 32 --batch 16 --lr 0.005 --threads 1 --quiet --json".split(" ");

beforeAll(() => {
  for (const [name, rows] of Object.entries({ sentences, tagged, spoken })) {
    const { train, test } = heldOut(rows);
    place.write(`${name}.tsv`, asTsv(train));
    place.write(`${name}-test.tsv`, asTsv(test));
  }
});

const measured = async (...args: string[]) => JSON.parse((await place.done("eval", ...args, "--json")).stdout);

it("learns to tell happy sentences from sad ones", async () => {
  await place.done("train", "sentences.tsv", ...small, "--steps", "100", "--out", "classifier");
  expect((await measured("classifier")).accuracy).toBeGreaterThan(0.9);
  const { accuracy, f1, examples } = await measured("classifier", "sentences-test.tsv");
  expect(accuracy).toBeGreaterThan(0.9);
  expect(f1).toBeGreaterThan(0.9);
  expect(examples).toBe(heldOut(sentences).test.length);
});

it("learns to tag words", async () => {
  await place.done("train", "tagged.tsv", ...small, "--steps", "100", "--out", "tagger");
  expect((await measured("tagger", "tagged-test.tsv")).accuracy).toBeGreaterThan(0.9);
});

it("learns to translate number words into digits", async () => {
  const flags = "--layers 1 --heads 2 --width 64 --batch 32 --lr 0.003 --steps 600 --dropout 0 --tokenizer char --threads 1 --quiet".split(
    " ",
  );
  await place.done("train", "spoken.tsv", ...flags, "--out", "translator");
  expect((await measured("translator", "spoken-test.tsv")).exact).toBeGreaterThan(0.9);
});

describe("the same examples in another form", () => {
  const { train, test } = heldOut(sentences.map(({ text, label }) => ({ sentence: text, mood: label })));
  const columns = ["--text-column", "sentence", "--label-column", "mood"];

  it.each<[string, string, (rows: typeof train) => string]>([
    ["a .csv with other column names", "renamed.csv", (rows) => asCsv(rows)],
    ["a .csv with a byte order mark and CRLF", "windows.csv", (rows) => `\uFEFF${asCsv(rows, "\r\n")}`],
    ["a .jsonl with other column names", "renamed.jsonl", asJsonl],
    ["a .tsv with a byte order mark and CRLF", "windows.tsv", (rows) => `\uFEFF${asTsv(rows).replaceAll("\n", "\r\n")}`],
  ])("%s gives the same model", async (_, file, written) => {
    place.write(file, written(train));
    place.write(`test-${file}`, written(test));
    await place.done("train", file, ...columns, ...small, "--steps", "20", "--out", file.replace(".", "-"));
    const found = await measured(file.replace(".", "-"), `test-${file}`); // the run remembers its columns
    await place.done("train", "sentences.tsv", ...small, "--steps", "20", "--out", "usual", "--overwrite");
    const { seconds: _seconds, ...usual } = await measured("usual", "sentences-test.tsv");
    expect(found).toMatchObject(usual);
  });
});
