import { expect, it } from "vitest";
import { idsInMemory } from "../../src/batches/ids.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { open } from "../../src/library/trained.ts";
import { in27, text27, textParts } from "../../src/recipes/text27.ts";
import { beginning, separator } from "../../src/trained/reading.ts";
import { Workplace } from "../support/command.ts";

it("keeps small letters, with one space for everything between them", () => {
  expect(in27('\n"Call me Ishmael." -- Some\tyears ago,\r\n1851, café ')).toBe("call me ishmael some years ago caf");
});

it("trains on 100,000 characters, and tests on 20 pieces of 500 from elsewhere", async () => {
  const data = await text27.data(false);
  if (data.kind !== "made-text") throw new Error("text27 makes its text");
  const { train, valid, test } = data;
  expect([train.length, valid.length, test.length]).toEqual([100_000, 20_000, 20]);
  expect(new Set(test.map(({ length }) => length))).toEqual(new Set([500]));
  expect(new Set(train + valid + test.join("")).size).toBe(27);
  const others = train + valid;
  for (const piece of test) for (const part of [piece.slice(0, 50), piece.slice(-50)]) expect(others).not.toContain(part);
  expect(await text27.data(true)).toEqual(data);
});

it("takes its pieces from the whole rest, none over another or over the end", () => {
  const text = Array.from({ length: 140_000 }, (_, i) => String.fromCharCode(0x3400 + (i % 20_000))).join("");
  const { train, valid, test } = textParts(text);
  const places = test.map((piece) => text.indexOf(piece, train.length + valid.length));
  expect(places).toEqual(Array.from({ length: 20 }, (_, i) => 120_000 + 1000 * i));
});

it("is scored piece by piece: every character once, the first of each after a space", async () => {
  const place = new Workplace();
  const flags = "--layers 1 --heads 1 --width 16 --steps 4 --threads 1 --quiet --out run".split(" ");
  await place.done("train", "--recipe", "text27", ...flags);
  const own = JSON.parse((await place.done("eval", "run", "--json")).stdout);
  expect(own).toMatchObject({ tokens: 10_000, examples: 80 }); // four windows of 125 a piece
  const run = open(place.path("run"));
  expect(run.tokenizer.decode([separator(run.tokenizer) ?? -1])).toBe(" ");
  const [[empty]] = await run.samples([""], { tokens: 1, temperature: 0 }); // an empty prompt begins as training separates texts
  const [[spaced]] = await run.samples([" "], { tokens: 1, temperature: 0 });
  expect([empty.text, empty.logProbability]).toEqual([spaced.text, spaced.logProbability]);
  const data = await text27.data(false);
  if (data.kind !== "made-text") throw new Error("text27 makes its text");
  let total = 0;
  for (const text of data.test) {
    const texts = [idsInMemory(run.tokenizer.encode(text))];
    const alone = await evaluate(run, { kind: "text", texts, bytes: text.length });
    if ("loss" in alone) total += alone.loss;
  }
  expect(own.loss).toBeCloseTo(total / 20, 5);
  expect(beginning(run.tokenizer)).toBe(separator(run.tokenizer));
  await run.release();
});
