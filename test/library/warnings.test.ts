import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";

// What a program hears: real programs, against what is built.

const root = join(import.meta.dirname, "../..");
const entry = pathToFileURL(join(root, "dist/entries/qkv.js")).href;
const fixture = (name: string) => join(root, "test/fixtures/0.1.0", name);

/** Runs a program that gets warnings of its process in `heard`, and gives back what it hands to `tell`. */
function program(body: string): unknown {
  const code = `import { classifyTexts, open, TrainedModel, train } from ${JSON.stringify(entry)};
    const heard = [];
    process.on("warning", ({ name, message }) => heard.push(name + ": " + message));
    const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
    ${body}
    await settled();
    console.log(JSON.stringify(heard));`;
  return JSON.parse(execFileSync(process.execPath, ["--no-warnings", "--input-type=module", "-e", code], { encoding: "utf8" }));
}

const long = JSON.stringify("happy ".repeat(300).trim());

it("warns of what is cut and of what is unknown by the process, once, whatever the numbers", () => {
  const run = fixture("encoder");
  const heard = program(`const run = open(${JSON.stringify(run)});
    await run.classify([${long}]);
    await run.classify([${long}, ${long}]);
    await run.classify(["i am qwertz"]);`);
  expect(heard).toEqual([
    expect.stringMatching(new RegExp(`^QkvWarning: ${run}: 1 of 1 texts are longer than the context of \\d+ tokens and are cut$`)),
    `QkvWarning: ${run}: 1 token is not in the vocabulary and counts as unknown`,
  ]);
});

it("tells the caller's own function every time, of a call or of all calls, and nobody if that is wished", () => {
  const run = JSON.stringify(fixture("encoder"));
  const heard = program(`const mine = (sentence) => heard.push("mine: " + sentence.slice(0, 16));
    for (let i = 0; i < 2; i++) await open(${run}).classify([${long}], { warn: mine });
    await open(${run}, { warn: mine }).classify([${long}]);
    await open(${run}, { warn: mine }).classify([${long}], { warn: false });
    await open(${run}, { warn: false }).classify([${long}]);
    const { model, tokenizer, labels, weights, device } = open(${run});
    const byHand = new TrainedModel({ model, tokenizer, labels, weights, device });
    for await (const _ of classifyTexts(byHand, [${long}]));`);
  const mine = "mine: 1 of 1 texts are";
  expect(heard).toEqual([mine, mine, mine, expect.stringMatching(/^QkvWarning: 1 of 1 texts are longer/)]);
});

it("warns of prompts, sources, looks and rounding too, of rounding once a model", () => {
  const [decoder, translator] = [fixture("decoder"), fixture("encoder-decoder")];
  const heard = program(`const lm = open(${JSON.stringify(decoder)}, { precision: "q8" });
    await lm.samples(["the cat ".repeat(50)], { tokens: 1 });
    await lm.look("€", ["*pattern"]);
    const translator = open(${JSON.stringify(translator)});
    await translator.translate(["number ".repeat(50)]);`) as string[];
  const said = [/q8 changes nothing|q8: \d+ of/, /the prompt has \d+ tokens/, /not in the vocabulary/, /texts are longer than the context/];
  expect(heard).toHaveLength(said.length);
  for (const [i, words] of said.entries()) expect(heard[i]).toMatch(words);
});

it("warns of training data", () => {
  const heard = program(`const { mkdtempSync, rmSync } = await import("node:fs");
    const out = mkdtempSync("/tmp/qkv-warn-");
    const rows = Array.from({ length: 30 }, (_, i) => ({ text: "word" + (i % 2) + (i % 3), label: String(i % 2) }));
    const settings = { out, overwrite: true, steps: 1, batch: 2, threads: 1, model: { layers: 1, heads: 1, width: 8 } };
    await train(rows, settings);
    await train(rows, { ...settings, warn: (sentence) => heard.push("mine: " + sentence) });
    await train(rows, { ...settings, warn: false });
    rmSync(out, { recursive: true });`) as string[];
  expect(heard.filter((sentence) => sentence.includes("copies of others"))).toEqual([
    "QkvWarning: 24 examples are copies of others and are left out",
    "mine: 24 examples are copies of others and are left out",
  ]);
});
