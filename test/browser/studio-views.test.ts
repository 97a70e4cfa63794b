import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TrainSettings, train } from "../../src/library/train.ts";
import { moods, pairs, rhyme, words } from "../journeys/samples.ts";
import { startBrowser } from "../support/browser.ts";
import { minilmFolder } from "../support/open-models.ts";
import { StudioPage, StudioPlace } from "../support/studio-page.ts";

// Every view of the studio, over models of every kind: it shows what it is for, nothing is in anybody's way (axe-core), and it fits on a phone.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the views of the studio are not tried: ${reason}`);

const place = new StudioPlace();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const small = { width: 16, heads: 2, layers: 2, context: 24 };
const runs: Readonly<Record<string, { readonly file: string; readonly text: string; readonly settings: TrainSettings }>> = {
  decoder: { file: "decoder.txt", text: rhyme, settings: { tokenizer: "char", model: small } },
  again: { file: "decoder.txt", text: rhyme, settings: { tokenizer: "char", model: { ...small, heads: 4 } } },
  classifier: { file: "moods.tsv", text: moods, settings: { model: small } },
  tagger: { file: "words.tsv", text: words, settings: { model: small } },
  translator: { file: "pairs.tsv", text: pairs, settings: { model: small } },
  recurrent: { file: "pairs.tsv", text: pairs, settings: { model: { model: "rnn", cell: "gru", width: 16, context: 24 } } },
};

beforeAll(async () => {
  if (!browser) return;
  for (const [name, { file, text, settings }] of Object.entries(runs)) {
    writeFileSync(join(place.folder, file), text);
    const usual = {
      steps: 12,
      batch: 4,
      threads: 1,
      saveEvery: 4,
      keep: 3,
      evalEvery: 4,
      cache: join(place.folder, "cache"),
      warn: false,
    } as const;
    const run = await train(join(place.folder, file), { ...usual, ...settings, out: join(place.runs, name) });
    await run.release();
  }
  minilmFolder(join(place.runs, "minilm"));
  cpSync(join(import.meta.dirname, "../hub/models/llama"), join(place.runs, "llama"), { recursive: true });
  await place.start();
});
afterAll(async () => {
  await stop();
  await place.end();
});

/** Where each leads, and what is to be read there. */
const views: readonly (readonly [hash: string, shows: string | RegExp])[] = [
  ["#learn?run=decoder", /What it writes|Loss/],
  ["#learn?new=1", "1. What it learns from"],
  ["#look?run=decoder&text=the%20cat%20sat&pin=3", /Arrow keys in the map/],
  ["#look?run=decoder&text=the%20cat&view=attention&layer=1&head=0", "Layer 1, head 0"],
  ["#look?run=decoder&text=the%20cat&view=causes", /before|change/i],
  ["#look?run=decoder&text=the%20cat&view=causes&cause=sweep", /Sweep|position/],
  ["#look?run=decoder&text=the%20cat&view=causes&cause=lens", /layer/i],
  ["#look?run=decoder&text=the%20cat&view=causes&cause=attribution", /explain|strongest|without|for it/i],
  ["#look?run=decoder&step=4&text=the%20cat", "step 4"],
  ["#look?run=classifier&text=i%20am%20sad&view=causes&cause=attribution", /explain|strongest|without|for it/i],
  ["#look?run=translator&text=number%207&view=attention", /Layer 0, head 0/],
  ["#look?run=translator&text=number%207", /Arrow keys in the map/],
  ["#look?run=recurrent&text=number%207&view=attention", /alignment/i],
  ["#look?run=recurrent&text=number%207", /Arrow keys in the map/],
  ["#look?run=llama&text=hello%20there&view=attention", /Layer 0, head 0/],
  ["#look?run=minilm&text=a%20small%20dog&view=attention", /Layer 0, head 0/],
  ["#ask?run=decoder&text=the", "What comes next"],
  ["#ask?run=llama&text=hello", "What comes next"],
  ["#ask?run=classifier&text=i%20am%20sad", /What spoke for/],
  ["#ask?run=tagger&text=the%20dog%205%20barks", "barks"],
  ["#ask?run=translator&text=number%207", "Which words it came from"],
  ["#ask?run=recurrent&text=number%207", "Which words it came from"],
  ["#ask?run=minilm", /alike|similar/i],
  ["#compare?runs=decoder,again", /heads/],
];

describe.skipIf(browser === undefined).each([
  ["a desk", { width: 1280, height: 900 }, "light"],
  ["a phone in the dark", { width: 390, height: 844 }, "dark"],
] as const)("on %s", (_, size, theme) => {
  let visitor: StudioPage;
  beforeAll(async () => {
    visitor = await StudioPage.open(browser as Browser, place.url, size, theme);
  });

  it.each(views)("%s", async (hash, shows) => {
    await visitor.at(hash);
    await visitor.reads(shows);
    await visitor.settled();
    expect(await visitor.page.locator('main [role="alert"]').allInnerTexts()).toEqual([]);
    expect(await visitor.barriers(axe)).toEqual([]);
    await visitor.fits();
    expect(visitor.complaints.splice(0)).toEqual([]);
  });
});

it.skipIf(browser === undefined)("a list of runs that is longer than the page does not pull apart what is beside it", async () => {
  const visitor = await StudioPage.open(browser as Browser, place.url, { width: 1280, height: 800 }, "light");
  await visitor.at("#learn?run=decoder");
  await visitor.settled();
  const { page } = visitor;
  const head = page.locator(".learn-head").first();
  const heightOf = async () => (await head.boundingBox())?.height;
  const before = await heightOf();
  await page.locator(".run-list ul").evaluate((list) => {
    for (const one of [...list.children]) for (let i = 0; i < 12; i++) list.append(one.cloneNode(true));
  });
  expect(await page.locator(".run-list").evaluate((list) => list.clientHeight)).toBeGreaterThan(1600);
  expect(await heightOf()).toBe(before);
  expect(visitor.complaints).toEqual([]);
});

it.skipIf(browser === undefined)("the run that is looked at is in sight in the strip of a phone", async () => {
  const visitor = await StudioPage.open(browser as Browser, place.url, { width: 390, height: 844 }, "light");
  for (const name of Object.keys(runs)) {
    await visitor.at(`#learn?run=${name}`);
    await visitor.settled();
    const box = await visitor.page.locator('.run-list li [aria-current="page"]').boundingBox();
    expect([(box?.x ?? -1) >= 0, (box?.x ?? 390) < 200]).toEqual([true, true]);
  }
});
