import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Finished, type TrainSettings, train } from "../../src/library/train.ts";
import { open, type Trained } from "../../src/library/trained.ts";
import { moods, pairs, rhyme, words } from "../journeys/samples.ts";
import { startBrowser } from "../support/browser.ts";
import { App, type AppPage } from "../support/web-page.ts";

// A run of a page and a run of Node are the same thing: the same data, settings and seed give the same losses, and each opens what the other has trained.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the tests of qkv/web are skipped: ${reason}`);

interface Setup {
  readonly name: string;
  readonly text: string;
  readonly settings: TrainSettings;
  readonly texts: readonly string[];
}

const small = { width: 16, heads: 2, layers: 2, context: 24, dropout: 0.1 };
const usual = { steps: 50, batch: 4, threads: 1, seed: 5, evalEvery: 20, saveEvery: 25, lr: 3e-3 };
const setups: readonly Setup[] = [
  { name: "decoder.txt", text: rhyme, settings: { tokenizer: "char", model: small }, texts: ["the cat", "on the"] },
  { name: "encoder.tsv", text: moods, settings: { model: small }, texts: ["i am happy today 3", "i am sad today 8"] },
  { name: "tagger.tsv", text: words, settings: { model: small }, texts: ["the dog 5 barks"] },
  { name: "pairs.tsv", text: pairs, settings: { model: small }, texts: ["number 7", "number 31"] },
  {
    name: "recurrent.tsv",
    text: pairs,
    settings: { model: { model: "rnn", cell: "gru", width: 16, context: 24, dropout: 0.1 } },
    texts: ["number 7"],
  },
];

/** What a model says of texts, by what it is for. */
const answers = `
  const answersOf = async (run, texts) => {
    if (run.facts.task === "classify") return (await run.classify(texts)).map(({ label, probabilities }) => [label, probabilities]);
    if (run.facts.task === "tag") return (await run.tag(texts)).map(({ tags }) => tags);
    if (run.facts.task === "translate") return (await run.translate(texts)).map(({ target, logProbability }) => [target, logProbability]);
    const drawn = await run.samples(texts, { tokens: 16, seed: 9, temperature: 0.8 });
    const best = await run.samples(texts, { tokens: 16, temperature: 0 });
    return [drawn, best].map((all) => all.map(([{ text }]) => text));
  };`;

async function answersOf(run: Trained, texts: readonly string[]): Promise<unknown> {
  switch (run.task) {
    case "classify":
      return (await run.classify(texts, { warn: false })).map(({ label, probabilities }) => [label, probabilities]);
    case "tag":
      return (await run.tag(texts, { warn: false })).map(({ tags }) => tags);
    case "translate":
      return (await run.translate(texts, { warn: false })).map(({ target, logProbability }) => [target, logProbability]);
    default: {
      const drawn = await run.samples(texts, { tokens: 16, seed: 9, temperature: 0.8, warn: false });
      const best = await run.samples(texts, { tokens: 16, temperature: 0, warn: false });
      return [drawn, best].map((all) => all.map(([{ text }]) => text));
    }
  }
}

/** Equal words, and numbers that differ in their last bits only. */
function expectAlike(found: unknown, wanted: unknown, within = 1e-4): void {
  if (typeof wanted === "number") expect(Math.abs((found as number) - wanted)).toBeLessThanOrEqual(within * Math.max(1, Math.abs(wanted)));
  else if (typeof wanted === "object" && wanted !== null) {
    expect(Object.keys(found as object)).toEqual(Object.keys(wanted));
    for (const [key, value] of Object.entries(wanted)) expectAlike((found as Record<string, unknown>)[key], value, within);
  } else expect(found).toEqual(wanted);
}

const place = mkdtempSync(join(tmpdir(), "qkv-web-"));
let app: App;
let page: AppPage;

beforeAll(async () => {
  if (!browser) return;
  app = await App.start({ folders: { "/runs/": join(place, "node") } });
  page = await app.page(browser as Browser);
  await page.run(`globalThis.computer = await qkv.connect({ device: "wasm", storage: "memory" });`);
});
afterAll(async () => {
  await stop();
  app?.stop();
  rmSync(place, { recursive: true });
});

/** Puts files that came from a page into a folder. */
function unpacked(name: string, files: Readonly<Record<string, readonly number[]>>): string {
  const folder = join(place, "page", name);
  mkdirSync(folder, { recursive: true });
  for (const [file, bytes] of Object.entries(files)) writeFileSync(join(folder, file), Uint8Array.from(bytes));
  return folder;
}

interface Trip {
  readonly warned: readonly string[];
  readonly losses: readonly (readonly [step: number, loss: number])[];
  readonly files: Readonly<Record<string, readonly number[]>>;
  readonly said: unknown;
  readonly fromAddress: unknown;
  readonly fromFiles: unknown;
}

describe.skipIf(browser === undefined)("what is trained here and there", () => {
  it.each(setups.map((setup) => [setup.name, setup] as const))("%s", async (name, { text, settings, texts }) => {
    const file = join(place, name);
    writeFileSync(file, text);
    const out = join(place, "node", name);
    const warned: string[] = [];
    const warn = (sentence: string) => void warned.push(sentence);
    await using here: Finished = await train(file, { ...usual, ...settings, out, cache: join(place, "cache"), warn });
    const there = await page.run<Trip>(
      `${answers}
      const warned = [];
      const listen = (event) => event.kind === "warning" && warned.push(event.sentence);
      const run = await computer.train({ text: given.text, name: given.name }, { ...given.settings, listen });
      const said = await answersOf(run, given.texts);
      const losses = (await computer.log(run)).map(({ step, loss, validLoss }) => [step, loss ?? validLoss]);
      const files = Object.fromEntries(await Promise.all((await run.files()).map(async (one) => [one.name, [...new Uint8Array(await one.arrayBuffer())]])));
      await run.close();
      const other = await computer.open("/runs/" + given.name + "/");
      const fromAddress = await answersOf(other, given.texts);
      await other.close();
      const names = ["config.json", "tokenizer.json", "model.safetensors"];
      const blobs = await Promise.all(names.map(async (one) => new File([await (await fetch("/runs/" + given.name + "/" + one)).blob()], one)));
      const third = await computer.open(blobs);
      const fromFiles = await answersOf(third, given.texts);
      await third.close();
      return { warned, losses, files, said, fromAddress, fromFiles };`,
      { text, name, texts, settings: { ...usual, ...settings } },
    );
    const log = readFileSync(join(out, "log.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(there.warned).toEqual(warned);
    expectAlike(
      there.losses,
      log.map(({ step, loss, validLoss }) => [step, loss ?? validLoss]),
    );
    const said = await answersOf(here, texts);
    expectAlike(there.fromAddress, said);
    expectAlike(there.fromFiles, said);
    await using moved = open(unpacked(name, there.files), { threads: 1, warn: false });
    expectAlike(there.said, await answersOf(moved, texts));
    expect(page.complaints).toEqual([]);
  });
});
