import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { open } from "../../src/library/trained.ts";
import { startBrowser } from "../support/browser.ts";
import { Workplace } from "../support/command.ts";
import { minilmFolder } from "../support/open-models.ts";
import { AppPage } from "../support/web-page.ts";

// The examples of pages, as somebody would start them: in a project that has qkv and onnxruntime-web in its node_modules, served by their own server.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the examples of pages are not run: ${reason}`);

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/web.md"), "utf8");
const place = new Workplace();
let server: ReturnType<typeof spawn> | undefined;
let address = "";

beforeAll(async () => {
  if (!browser) return;
  for (const name of ["train", "open-run", "minilm", "serve.mjs"])
    cpSync(join(root, "examples", name), place.path(name), { recursive: true });
  place.write("empty/index.html", "<!doctype html><title>empty</title>");
  mkdirSync(place.path("node_modules"), { recursive: true });
  symlinkSync(root, place.path("node_modules/qkv"));
  symlinkSync(join(root, "node_modules/onnxruntime-web"), place.path("node_modules/onnxruntime-web"));
  const child = spawn(process.execPath, ["serve.mjs", "0"], { cwd: place.path(), stdio: ["ignore", "pipe", "inherit"] });
  server = child;
  address = await new Promise<string>((resolve) => child.stdout.on("data", (text: Buffer) => resolve(`${text}`.trim())));
});
afterAll(async () => {
  await stop();
  server?.kill();
});

async function opened(path: string): Promise<AppPage> {
  const page = await (browser as Browser).newPage();
  const found = new AppPage(page, address.replace(/\/$/, ""));
  await page.goto(`${address}${path}/`);
  return found;
}

describe("docs/web.md", () => {
  it("shows the examples as they are", () => {
    for (const [, file, text] of page.matchAll(/```html file=(\S+)\n(.*?)```/gs))
      expect(text).toBe(readFileSync(join(root, "examples", file), "utf8"));
    expect([...page.matchAll(/```html file=/g)].length).toBe(3);
  });

  it.skipIf(browser === undefined)("has programs that run in a page", async () => {
    const { page: tab, complaints } = await opened("empty");
    const programs = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, text]) =>
      text.replace('from "qkv/web"', 'from "/node_modules/qkv/dist/page/qkv.js"'),
    );
    const all: string[][] = [];
    tab.on("console", (message) => all.at(-1)?.push(message.text()));
    for (const [i, program] of programs.entries()) {
      all.push([]);
      await tab.addScriptTag({ type: "module", content: `${program}\nglobalThis.done = ${i};` });
      await tab.waitForFunction(`globalThis.done === ${i}`);
    }
    expect(all).toEqual([
      ["step 10", "step 20", "12", "decoder/block.0/attention/pattern 2 × 6 × 6", "true"],
      [
        expect.stringMatching(/^classify \d+ \d+ true$/),
        expect.stringMatching(/^model\.heads .*width of 16 is not divisible into 3 heads/),
        "497759232 75497472 true",
        "embedding block.0 head",
        "embedding block.0 head",
        "4 true",
        "true true",
      ],
    ]);
    expect(complaints.filter((one) => !one.includes("favicon"))).toEqual([]);
  });
});

describe.skipIf(browser === undefined)("examples", () => {
  it("a page that trains, and goes on after a reload", async () => {
    const { page, complaints } = await opened("train");
    await page.fill("#data", "");
    await page.click("#train:enabled");
    await page.waitForFunction("document.getElementById('progress').textContent.includes('empty')"); // and it can be tried again
    complaints.length = 0;
    await page.fill("#data", "she sells sea shells by the sea shore\n".repeat(4));
    await page.click("#train:enabled");
    await page.waitForFunction("/step 1\\d\\d:/.test(document.getElementById('progress').textContent)");
    await page.reload();
    await page.waitForFunction("/step \\d+/.test(document.getElementById('progress').textContent)");
    await page.waitForFunction("document.getElementById('progress').textContent.endsWith('done')");
    expect((await page.textContent("#text"))?.length).toBe(123);
    expect(complaints.filter((one) => !one.includes("favicon"))).toEqual([]);
  });

  it("a page that opens a run made in Node", async () => {
    place.write("rhyme.txt", "one, two, buckle my shoe\nthree, four, open the door\n".repeat(30));
    const flags = "--layers 2 --heads 2 --width 32 --context 32 --batch 8 --steps 80 --threads 1 --tokenizer char --quiet";
    await place.done("train", "rhyme.txt", "--out", "runs/rhyme", ...flags.split(" "));
    const said = await place.done("generate", "runs/rhyme", "one, two", "--tokens", "60", "--temperature", "0", "--json");
    const { page, complaints } = await opened("open-run");
    await page.click("button:enabled");
    await page.waitForSelector("#picture svg");
    expect(await page.textContent("#text")).toBe(`one, two${JSON.parse(said.stdout).samples[0].text}`);
    expect(complaints.filter((one) => !one.includes("favicon"))).toEqual([]);
  });

  it("a page that opens what its server has now, whatever its browser has kept of it", async () => {
    cpSync(place.path("runs/rhyme"), place.path("runs/moving"), { recursive: true });
    const model = place.path("runs/moving/model.safetensors");
    const long = new Date(Date.now() - 40 * 24 * 3600 * 1000); // browsers take what is old for what stays
    for (const name of ["config.json", "tokenizer.json", "model.safetensors"]) utimesSync(place.path(`runs/moving/${name}`), long, long);
    const { page } = await opened("empty");
    const last = `(async () => {
      const { open } = await import("/node_modules/qkv/dist/page/qkv.js");
      const run = await open("/runs/moving/");
      const file = (await run.files()).find(({ name }) => name === "model.safetensors");
      await run.close();
      return [...new Uint8Array(await file.arrayBuffer()).slice(-4)];
    })()`;
    await page.evaluate(last);
    const bytes = readFileSync(model);
    writeFileSync(model, bytes.fill(0, bytes.length - 4));
    await page.reload();
    expect(await page.evaluate(last)).toEqual([0, 0, 0, 0]);
    expect((await fetch(`${address}%`)).status).toBe(404); // and its server goes on
  });

  it("a page that sorts tickets with a MiniLM that was fine-tuned in Node", async () => {
    const tickets = [
      ...["I was charged twice this month.", "My card was declined.", "The invoice is wrong.", "Please refund my payment."].map((text) => [
        text,
        "billing",
      ]),
      ...["The app crashes when I log in.", "The page does not load.", "I get an error on start.", "It freezes all the time."].map(
        (text) => [text, "bug"],
      ),
    ];
    place.write("tickets.tsv", `text\tlabel\n${tickets.map((row) => row.join("\t")).join("\n")}\n`);
    minilmFolder(place.path("minilm"));
    const flags = "--steps 12 --batch 4 --threads 2 --valid-fraction 0 --quiet";
    await place.done("train", "tickets.tsv", "--from", "minilm", "--out", "runs/tickets", ...flags.split(" "));
    const said = JSON.parse((await place.done("classify", "runs/tickets", "I was charged twice this month.", "--json")).stdout);
    const { page, complaints } = await opened("minilm");
    await page.waitForSelector("#labels li");
    const shown = await page.$$eval("#labels li", (items) => items.map((item) => item.textContent));
    const wanted = Object.entries<number>(said.results[0].probabilities).sort(([, a], [, b]) => b - a);
    expect(shown).toEqual(wanted.map(([label, p]) => `${label} ${Math.round(100 * p)} %`));
    expect(complaints.filter((one) => !one.includes("favicon"))).toEqual([]);
  });

  it("a folder of Hugging Face, opened from its address: the vectors of Node", async () => {
    const folder = minilmFolder(place.path("minilm-alone"));
    await using model = open(folder, { threads: 1, warn: false });
    const texts = ["A cat sleeps on the sofa.", "The invoice is wrong."];
    const wanted = await model.embed(texts);
    const { page } = await opened("train");
    const found = (await page.evaluate(`(async () => {
      const { open } = await import("/node_modules/qkv/dist/page/qkv.js");
      const run = await open("/minilm-alone/");
      return (await run.embed(${JSON.stringify(texts)})).map((vector) => [...vector]);
    })()`)) as number[][];
    for (const [i, vector] of found.entries()) expect(Math.max(...vector.map((x, k) => Math.abs(x - wanted[i][k])))).toBeLessThan(1e-5);
  });
});
