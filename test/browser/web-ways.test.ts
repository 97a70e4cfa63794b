import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rhyme } from "../journeys/samples.ts";
import { startBrowser } from "../support/browser.ts";
import { App, type AppPage } from "../support/web-page.ts";

// The other ways of a page: without isolation, with a worker in one file, with wrong addresses and broken files, with two things at a time.

const { browser, reason, stop } = await startBrowser(["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]);
if (reason !== undefined) console.warn(`the tests of the ways of a page are skipped: ${reason}`);

const apps: App[] = [];
let page: AppPage;
const settings = { steps: 8, batch: 4, tokenizer: "char", model: { width: 16, heads: 2, layers: 1, context: 16 } };

async function started(options: Parameters<typeof App.start>[0] = {}): Promise<AppPage> {
  const app = await App.start(options);
  apps.push(app);
  return app.page(browser as Browser);
}

beforeAll(async () => {
  if (!browser) return;
  page = await started({
    folders: { "/fixtures/": join(import.meta.dirname, "../fixtures/0.1.0") },
    texts: {
      "/notes.txt": rhyme,
      "/spa/config.json": "<!doctype html>",
      "/broken/config.json": "{",
      "/half/config.json": '{"format":1,"training":{}}',
    },
  });
  await page.run(`globalThis.computer = await qkv.connect({ device: "wasm", storage: "memory" });`);
});
afterAll(async () => {
  await stop();
  for (const app of apps) app.stop();
});

const failure = (call: string, given: unknown = {}) =>
  page.run<[code: string, message: string]>(
    `return Promise.resolve().then(() => ${call}).then(() => ["", "nothing went wrong"], (error) => [error.told?.code ?? error.name, error.message]);`,
    { settings, rhyme, ...(given as object) },
  );

describe.skipIf(browser === undefined)("a page", () => {
  it("that is not isolated computes with one thread, says why, and finds the same", async () => {
    const alone = await started({ isolated: false });
    const train = `const run = await computer.train({ text: given.rhyme }, { ...given.settings, overwrite: true }); return (await computer.log(run)).map(({ loss }) => loss);`;
    const found = await alone.run<{ report: { threads: number; threadsReason: string }; losses: unknown }>(
      `const computer = await qkv.connect({ device: "wasm", storage: "memory", threads: 2 });
      const losses = await (async () => { ${train} })();
      return { report: computer.report.device, losses };`,
      { rhyme, settings },
    );
    expect(found.report.threads).toBe(1);
    expect(found.report.threadsReason).toContain("not cross-origin isolated");
    expect(found.losses).toEqual(await page.run(train, { rhyme, settings }));
  });

  it("trains on WebGPU when it is told to, writes that down, and goes on there; a program is not taken for a GPU by itself", async () => {
    const found = await page.run<{
      chosen: readonly string[];
      why: string;
      device: string;
      there: readonly number[];
      here: readonly number[];
      steps: number;
      opened: string;
    }>(
      `const usual = await qkv.connect({ storage: "memory" });
      const gpu = await qkv.connect({ device: "webgpu", storage: "memory" });
      const losses = async (one, run) => (await one.log(run)).flatMap(({ loss }) => loss ?? []);
      const run = await gpu.train({ text: given.rhyme }, given.settings);
      const other = await computer.train({ text: given.rhyme }, { ...given.settings, out: "/runs/wasm" });
      const config = JSON.parse(await (await run.files()).find(({ name }) => name === "config.json").text());
      const more = await gpu.resume(run, { steps: 10 }).finished;
      const [[{ text }]] = await more.samples(["the"], { tokens: 4, temperature: 0 });
      const result = {
        chosen: [usual.report.device.chosen, gpu.report.device.chosen], why: usual.report.device.why, device: config.training.device,
        there: (await losses(gpu, run)).slice(0, 8), here: await losses(computer, other), steps: more.result.steps, opened: text,
      };
      usual.end();
      gpu.end();
      return result;`,
      { rhyme, settings },
    );
    expect(found).toMatchObject({
      chosen: ["wasm", "webgpu"],
      why: expect.stringContaining("a program, not a chip"),
      device: "webgpu",
      steps: 10,
    });
    for (const [i, loss] of found.here.entries()) expect(Math.abs(found.there[i] - loss) / loss).toBeLessThan(1e-4);
    expect(found.here).toHaveLength(8);
    expect(found.opened).toHaveLength(4);
  });

  it("can have its worker in one file", async () => {
    const text = await page.run<string>(
      `const computer = await qkv.connect({ device: "wasm", storage: "memory", worker: "/node_modules/qkv/dist/page/worker-whole.js" });
      const run = await computer.train({ text: given.rhyme }, given.settings);
      const [[{ text }]] = await run.samples(["the"], { tokens: 5, temperature: 0 });
      computer.end();
      return text;`,
      { rhyme, settings },
    );
    expect(text).toHaveLength(5);
  });

  it("takes data from an address, from files and as rows, and goes on from a run of its own", async () => {
    const found = await page.run(
      `const one = await computer.train("/notes.txt", { ...given.settings, out: "/runs/address" });
      const two = await computer.train(new File([given.rhyme], "notes.txt"), { ...given.settings, out: "/runs/file" });
      const rows = Array.from({ length: 24 }, (_, i) => ({ text: "say " + i, label: i % 2 ? "odd" : "even" }));
      const three = await computer.train(rows, { steps: 4, batch: 4, out: "/runs/rows", model: { width: 16, heads: 2, layers: 1 } });
      const four = await computer.train("/notes.txt", { steps: 3, batch: 4, from: one.run, out: "/runs/more" });
      const losses = async (run) => (await computer.log(run)).map(({ loss, validLoss }) => loss ?? validLoss);
      return { same: String(await losses(one)) === String(await losses(two)), task: three.facts.task, labels: three.facts.labels, steps: four.result.steps };`,
      { rhyme, settings },
    );
    expect(found).toEqual({ same: true, task: "classify", labels: ["even", "odd"], steps: 3 });
  });

  it("trains for so many minutes: a trial finds the steps, which are written down", async () => {
    const { steps: _, ...timeless } = settings;
    const found = await page.run<{ chosen: { steps: number }; steps: number; minutes: number }>(
      `const events = [];
      const run = await computer.train({ text: given.rhyme }, { ...given.settings, minutes: 0.05, out: "/runs/timed", listen: (event) => void events.push(event) });
      const { training } = await computer.config(run);
      return { chosen: events.find(({ kind }) => kind === "chosen"), steps: training.steps, minutes: training.minutes };`,
      { rhyme, settings: timeless },
    );
    expect(found.chosen.steps).toBe(found.steps);
    expect(found.minutes).toBe(0.05);
  });

  it("opens runs of before", async () => {
    const found = await page.run<string>(
      `const run = await computer.open("/fixtures/decoder/");
      const [[{ text }]] = await run.samples(["the"], { tokens: 4, temperature: 0 });
      return text;`,
    );
    expect(found).toHaveLength(4);
  });

  it("writes while it trains, and says the same as without", async () => {
    const found = await page.run<readonly [string, string, number]>(
      `const run = await computer.train({ text: given.rhyme }, { ...given.settings, out: "/runs/speaks" });
      const say = async () => (await run.samples(["the cat"], { tokens: 12, temperature: 0 }))[0][0].text;
      const before = await say();
      const training = computer.begin({ text: given.rhyme }, { ...given.settings, steps: 400, evalEvery: 1000, saveEvery: 1000, out: "/runs/beside" });
      for await (const event of training) if (event.kind === "step" && event.step > 2) break;
      const during = await say();
      await training.stop();
      return [before, during, (await computer.runs()).find(({ run }) => run === "/runs/beside").step];`,
      { rhyme, settings },
    );
    expect(found[1]).toBe(found[0]);
    expect(found[2]).toBeGreaterThan(2);
    expect(found[2]).toBeLessThan(400);
  });

  it("leaves off writing when nobody listens any more", async () => {
    const rows = await page.run<number>(
      `const run = await computer.open({ run: "/runs/speaks" });
      for await (const piece of run.generate("the", { tokens: 100000, temperature: 0 })) break;
      const stop = new AbortController();
      const stopped = run.samples(["the"], { tokens: 100000, temperature: 0, signal: stop.signal }).then(() => "", (error) => error.name);
      stop.abort();
      if ((await stopped) !== "AbortError") return -1;
      return (await run.samples(["the"], { tokens: 3, temperature: 0 }))[0][0].count;`,
    );
    expect(rows).toBe(3);
  });

  it("tells those who ask a model that was closed, and those who wait for it", async () => {
    const found = await page.run<readonly string[]>(
      `const run = await computer.open({ run: "/runs/speaks" });
      const said = (promise) => promise.then(() => "", (error) => error.told.code);
      const waiting = said(run.samples(["the"], { tokens: 100000, temperature: 0 }));
      await run.close();
      return [await waiting, await said(run.samples(["the"])), await said(run.close())];`,
    );
    expect(found).toEqual(["closed", "closed", ""]);
  });

  it("opens an address that several ask for at once, also a model that reads few tokens", async () => {
    const labels = await page.run<readonly number[]>(
      `const all = await Promise.all([1, 2, 3].map(() => computer.open("/fixtures/encoder/")));
      const counts = all.map(({ facts }) => facts.labels.length);
      for (const run of all) await run.close();
      return counts;`,
    );
    expect(labels).toHaveLength(3);
    expect(new Set(labels).size).toBe(1);
  });

  it("asks for a model again when the app wants another than it has kept", async () => {
    const place = mkdtempSync(join(tmpdir(), "qkv-moving-"));
    cpSync(join(import.meta.dirname, "../fixtures/0.1.0/decoder"), place, { recursive: true });
    const path = join(place, "model.safetensors");
    const app = await started({ folders: { "/moving/": place } });
    const sum = `
      const computer = await qkv.connect({ device: "wasm", storage: "moving" });
      const run = await computer.open("/moving/", given.integrity ? { integrity: { "model.safetensors": given.integrity } } : {});
      const names = (await run.files()).map(({ name }) => name);
      computer.end();
      return names;`;
    const names = await app.run<readonly string[]>(sum);
    expect(names).toEqual(["config.json", "model.safetensors", "tokenizer.json"]);
    const [bytes, { atime, mtime }] = [readFileSync(path), statSync(path)];
    bytes.fill(0, bytes.length - 64);
    writeFileSync(path, bytes);
    utimesSync(path, atime, mtime); // as far as the server says, it is the same
    const integrity = createHash("sha256").update(bytes).digest("hex");
    expect(await app.run(sum, { integrity })).toEqual(names);
    rmSync(place, { recursive: true });
  });

  it("keeps models of files apart, gives all of their files, and removes them", async () => {
    const found = await page.run<{ kinds: readonly string[]; adapter: readonly string[]; from: number; gone: readonly string[] }>(
      `const names = ["config.json", "tokenizer.json", "model.safetensors"];
      const filesOf = (kind) => Promise.all(names.map(async (name) => new File([await (await fetch("/fixtures/" + kind + "/" + name)).blob()], name)));
      const [one, two] = [await computer.open(await filesOf("decoder")), await computer.open(await filesOf("rnn"))];
      const kindOf = async (run) => JSON.parse(await (await run.files()).find(({ name }) => name === "config.json").text()).model.model;
      const kinds = [await kindOf(one), await kindOf(two)];
      const short = { steps: 2, batch: 2, overwrite: true };
      const adapted = await computer.train({ text: given.rhyme }, { ...short, from: one, lora: 2, out: "/runs/adapted" });
      const adapter = (await adapted.files()).map(({ name }) => name).filter((name) => name.startsWith("adapter/"));
      await computer.remove(two);
      const gone = await Promise.all([two.files(), computer.open(two)].map((one) => one.then(() => "", (error) => error.told.code)));
      return { kinds, adapter, from: adapted.result.steps, gone };`,
      { rhyme },
    );
    expect(found).toEqual({
      kinds: ["decoder", "rnn"],
      adapter: ["adapter/adapter_config.json", "adapter/adapter_model.safetensors"],
      from: 2,
      gone: ["run.missing", "run.missing"],
    });
  });

  it("stops before anything has begun, and says that nothing was saved", async () => {
    const [message, runs] = await page.run<readonly [string, boolean]>(
      `const training = computer.begin({ text: given.rhyme }, { ...given.settings, out: "/runs/never" });
      await training.stop();
      const message = await training.finished.then(() => "", (error) => error.message);
      return [message, (await computer.runs()).some(({ run }) => run === "/runs/never")];`,
      { rhyme, settings },
    );
    expect(message).toContain("nothing of it was saved");
    expect(runs).toBe(false);
  });

  it("begins a worker anew where the one that all share was ended", async () => {
    const model = await page.run<string>(
      `(await qkv.computer({ device: "wasm", storage: "memory" })).end();
      const shared = await qkv.computer({ device: "wasm", storage: "memory" });
      const run = await qkv.open("/fixtures/decoder/");
      shared.end();
      return run.facts.model;`,
    );
    expect(model).toBe("decoder");
  });

  it("says what is wrong with what a call is given, and never waits for ever", async () => {
    await page.run(`globalThis.speaker = await computer.open({ run: "/runs/speaks" });`);
    for (const [call, message] of [
      [`speaker.classify("happy")`, "a list of texts"],
      [`speaker.samples("the")`, "a list of texts"],
      [`speaker.samples(["the"], { samples: 0 })`, "from 1 to 1024"],
      [`speaker.samples(["the"], { samples: 1e9 })`, "from 1 to 1024"],
      [`speaker.generate().next()`, "a text, token ids"],
      [`speaker.generate("the", { stop: "." }).next()`, "stop: a list"],
      [`speaker.generate("the", { form: () => 1 }).next()`, "must be data"],
      [`speaker.look("atention", "the")`, 'did you mean "attention"'],
      [`speaker.look("attention")`, "needs a text"],
      [`speaker.patch("the", {})`, "a list is wanted"],
      [`speaker.patch("the", [{}])`, "a change is"],
      [`computer.begin(5).finished`, "data is an address"],
      [`computer.begin(new Blob([given.rhyme])).finished`, "a Blob has no name"],
      [`computer.begin(given.rhyme).finished`, "a text is { text }"],
      [`computer.begin([1, { text: "a" }]).finished`, "all of one kind"],
      [`computer.begin({ text: given.rhyme }, { model: { define() {} } }).finished`, "must be data"],
      [`computer.begin({ text: given.rhyme }, { ...given.settings, out: "/elsewhere" }).finished`, "in /runs"],
      [`computer.resume("/runs/speaks").finished`, 'or { run: "/runs/…" }'],
      [`computer.open(5)`, "a model is opened from"],
      [`computer.open("/runs/speaks")`, 'the run of this page is { run: "/runs/speaks" }'],
      [`computer.open("/fixtures/none.gguf?download=true")`, "there is nothing at"],
      [`computer.open({ run: "/runs/speaks" }, { precision: "q17" })`, "there is no precision"],
      [`computer.log()`, "a run of this page is wanted"],
    ])
      expect([call, (await failure(call))[1]]).toEqual([call, expect.stringContaining(message)]);
    expect(await page.run(`return speaker.samples([])`)).toEqual([]);
  });

  it("removes a run that nobody trains in, and the data that no other run has", async () => {
    const found = await page.run<readonly [string, boolean, boolean]>(
      `const own = { ...given.settings, steps: 4000, overwrite: true };
      const training = computer.begin({ text: given.rhyme + "!" }, { ...own, out: "/runs/gone" });
      for await (const event of training) if (event.kind === "step") break;
      const busy = await computer.remove({ run: "/runs/gone" }).then(() => "", (error) => error.told.code);
      await training.stop();
      await computer.remove({ run: "/runs/gone" });
      const left = (await computer.runs()).some(({ run }) => run === "/runs/gone");
      const again = await computer.resume({ run: "/runs/speaks" }, { steps: 9 }).finished; // its data is still there
      return [busy, left, again.result.steps === 9];`,
      { rhyme, settings },
    );
    expect(found).toEqual(["run.busy", false, true]);
  });

  it("says what is wrong in a sentence", async () => {
    expect(await failure(`computer.open("/nowhere/")`)).toEqual([
      "network.missing",
      expect.stringContaining("/nowhere/config.json is not there"),
    ]);
    expect(await failure(`computer.open("/spa/")`)).toEqual(["network.missing", expect.stringContaining("config.json is not there")]);
    expect(await failure(`computer.open("/broken/")`)).toEqual(["format", expect.stringContaining("not a JSON object")]);
    expect(await failure(`computer.open("/half/")`)).toEqual(["network.missing", expect.stringContaining("tokenizer.json is not there")]);
    expect(await failure(`computer.open([])`)).toEqual(["format", expect.stringContaining("no files were given")]);
    expect(await failure(`computer.open("http://127.0.0.1:9/x/")`)).toEqual(["network", expect.stringContaining("cannot be reached")]);
    expect(await failure(`computer.train("/nowhere.txt")`)).toEqual(["network.missing", expect.stringContaining("nothing at")]);
    expect(await failure(`computer.train({ text: "" })`)).toEqual([expect.stringMatching(/^data/), expect.any(String)]);
    expect(await failure(`computer.train({ text: given.rhyme }, { model: { postions: "rotary" } })`)).toEqual([
      expect.stringMatching(/^config/),
      expect.stringContaining('did you mean "positions"'),
    ]);
    expect(await failure(`computer.train({ text: given.rhyme }, { ...given.settings, out: "/runs/speaks" })`)).toEqual([
      "run.exists",
      expect.any(String),
    ]);
    expect(await failure(`computer.remove({ run: "/data" })`)).toEqual(["config", expect.stringContaining("not a run of this page")]);
    expect(await failure(`computer.open({ run: "/runs/speaks" }, { precision: "q4" })`)).toEqual([
      expect.any(String),
      expect.stringContaining("bits"),
    ]);
    expect(await failure(`qkv.connect({ engine: "/elsewhere/", storage: "memory" })`)).toEqual([
      "engine.missing",
      expect.stringContaining("onnxruntime-web could not be loaded"),
    ]);
    expect(await failure(`qkv.connect({ worker: "/elsewhere.js", storage: "memory" })`)).toEqual(["worker.crashed", expect.any(String)]);
  });

  it("is told when its worker has ended, and so is everybody who waits", async () => {
    const found = await page.run<readonly string[]>(
      `const computer = await qkv.connect({ device: "wasm", storage: "memory" });
      const training = computer.begin({ text: given.rhyme }, { ...given.settings, steps: 4000 });
      for await (const event of training) if (event.kind === "step") break;
      computer.end();
      const said = (promise) => promise.then(() => "", (error) => error.told.code);
      return [await said(training.finished), await said(computer.runs())];`,
      { rhyme, settings },
    );
    expect(found).toEqual(["worker.ended", "worker.ended"]);
  });
});
