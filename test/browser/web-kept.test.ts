import type { Browser, BrowserContext } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { rhyme } from "../journeys/samples.ts";
import { startBrowser } from "../support/browser.ts";
import { App, type AppPage } from "../support/web-page.ts";

// What a page keeps: it is reloaded in the middle of everything, paused and stopped, and loses nothing.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the tests of what a page keeps are skipped: ${reason}`);

let app: App;
let context: BrowserContext;
let page: AppPage;
beforeAll(async () => {
  if (!browser) return;
  app = await App.start();
  context = await (browser as Browser).newContext();
  page = await app.page(context);
});
afterAll(async () => {
  await stop();
  app?.stop();
});

const settings = {
  steps: 60,
  batch: 4,
  seed: 5,
  evalEvery: 20,
  saveEvery: 10,
  tokenizer: "char",
  model: { width: 16, heads: 2, layers: 2, context: 24, dropout: 0.1 },
};

/** What a run has come to, without what the clock says. */
const outcome = `
  const outcomeOf = async (computer, run) => {
    const opened = await computer.open(run);
    const files = await opened.files();
    const hash = async (name) => {
      const bytes = await files.find((one) => one.name === name).arrayBuffer();
      return [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].join(",");
    };
    const log = (await computer.log(run)).map(({ seconds, tokensPerSecond, ...rest }) => rest);
    return { weights: await hash("model.safetensors"), log };
  };
  const connected = () => qkv.connect({ device: "wasm", storage: "laws" });`;

describe.skipIf(browser === undefined)("a page that is left", () => {
  it("comes to the same weights and log, however often it is reloaded", async () => {
    const whole = await page.run(
      `${outcome}
      const computer = await connected();
      const run = await computer.train({ text: given.rhyme }, { ...given.settings, out: "/runs/whole" });
      const found = await outcomeOf(computer, run);
      computer.end();
      return found;`,
      { rhyme, settings },
    );
    // The first of these is begun, the others go on; each is left after a step that chance has chosen, at once: nobody says goodbye.
    const chosen = chance(7);
    for (let visit = 0; visit < 5; visit++) {
      const after = 1 + Math.floor(20 * chosen.fork(visit).uniform(1));
      const steps = await page.run<number>(
        `${outcome}
        const computer = await connected();
        const [left] = (await computer.runs()).filter(({ run }) => run === "/runs/parts");
        const training = left ? computer.resume(left) : computer.begin({ text: given.rhyme }, { ...given.settings, out: "/runs/parts" });
        let taken = 0;
        for await (const event of training) if (event.kind === "step" && ++taken >= given.after) break;
        return left?.step ?? 0;`,
        { rhyme, settings, after },
      );
      expect(steps % 10).toBe(0);
      await page.page.reload();
    }
    const parts = await page.run(
      `${outcome}
      const computer = await connected();
      const [left] = (await computer.runs()).filter(({ run }) => run === "/runs/parts");
      if (left) await computer.resume(left).finished;
      const found = await outcomeOf(computer, { run: "/runs/parts" });
      computer.end();
      return found;`,
    );
    expect(parts).toEqual(whole);
    expect(page.complaints).toEqual([]);
  });

  it("rests when it is told to, goes on, and stops with everything saved", async () => {
    const found = await page.run<{ at: number; rested: number; stopped: number; error: string; total: number; kinds: readonly string[] }>(
      `${outcome}
      const computer = await connected();
      const training = computer.begin({ text: given.rhyme }, { ...given.settings, steps: 4000, saveEvery: 4000, evalEvery: 4000, out: "/runs/long", overwrite: true });
      let step = 0, paused = () => {};
      const seen = new Promise((resolve) => { paused = resolve; });
      const listening = (async () => {
        for await (const event of training) {
          if (event.kind === "step") step = event.step;
          if (event.kind === "paused") paused(step);
        }
      })();
      while (step < 5) await new Promise((resolve) => setTimeout(resolve, 5));
      training.pause();
      const at = await seen;
      await new Promise((resolve) => setTimeout(resolve, 300));
      const rested = step - at;
      training.go();
      while (step < at + 5) await new Promise((resolve) => setTimeout(resolve, 5));
      await training.stop();
      const error = await training.finished.then(() => "", (one) => one.name);
      await listening;
      const [left] = (await computer.runs()).filter(({ run }) => run === "/runs/long");
      const again = await computer.resume(left, { steps: left.step + 3 }).finished;
      computer.end();
      return { at, rested, stopped: left.step - step, error, total: again.result.steps - left.step };`,
      { rhyme, settings },
    );
    expect(found).toMatchObject({ rested: 0, stopped: 0, error: "AbortError", total: 3 });
  });

  it("says so when the browser has no more room, and has what was saved before", async () => {
    const own = await (browser as Browser).newContext();
    const full = await app.page(own);
    const tools = await own.newCDPSession(full.page);
    await tools.send("Storage.overrideQuotaForOrigin", { origin: app.address, quotaSize: 6_000_000 });
    const found = await full.run<readonly string[]>(
      `${outcome}
      const computer = await connected();
      const said = (promise) => promise.then(() => "", (error) => error.told?.code ?? error.name);
      const large = { ...given.settings, model: { ...given.settings.model, width: 128 } };
      const first = await computer.train({ text: given.rhyme }, { ...given.settings, steps: 4, out: "/runs/first" });
      const trained = await said(computer.train({ text: given.rhyme }, { ...large, out: "/runs/large" }));
      const training = computer.begin({ text: given.rhyme }, { ...large, steps: 4000, saveEvery: 4000, evalEvery: 4000, out: "/runs/stopped" });
      for await (const event of training) if (event.kind === "step") break;
      const stopped = await said(training.stop());
      const kept = await said(computer.train({ text: given.rhyme.repeat(4000) }, { ...given.settings, out: "/runs/data" }));
      await first.close();
      const again = await said(computer.open({ run: "/runs/first" }));
      computer.end();
      return [trained, stopped, kept, again];`,
      { rhyme, settings },
    );
    expect(found).toEqual(["run.disk", "run.disk", "run.disk", ""]);
    await own.close();
  });

  it("says to a second tab who has the storage", async () => {
    const second = await app.page(context);
    await page.run(`${outcome} globalThis.first = await connected();`);
    const said = await second.run(`${outcome} return connected().then(() => "", (error) => [error.told.code, error.message]);`);
    expect(said).toEqual(["run.busy", expect.stringContaining(app.address)]);
    await page.run(`first.end();`);
    await second.page.close();
  });
});
