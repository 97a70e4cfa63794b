import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CostFacts } from "../../src/cost/facts.ts";
import type { TrainingPlan } from "../../src/worker/found.ts";
import { moods } from "../journeys/samples.ts";
import { startBrowser } from "../support/browser.ts";
import { App, type AppPage } from "../support/web-page.ts";
import { computerHere } from "../support/worker-here.ts";

// What a page can ask beside a training and an answer: the same as in Node.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`what a page can ask is not tested: ${reason}`);

const settings = {
  model: { width: 16, heads: 2, layers: 1 },
  steps: 12,
  batch: 8,
  saveEvery: 4,
  evalEvery: 4,
  keep: 3,
  partsEvery: 6,
  threads: 1,
};
const given = { text: moods, name: "moods.tsv" };

interface Found {
  readonly plan: TrainingPlan;
  readonly wrong: { readonly path: string; readonly message: string };
  readonly cost: CostFacts;
  readonly checkpoints: readonly number[];
  readonly steps: readonly (readonly [number, boolean])[];
  readonly facts: Readonly<Record<string, unknown>> & { readonly curve: readonly unknown[] };
  readonly config: { readonly training: unknown };
  readonly then: readonly string[];
  readonly now: readonly string[];
  readonly rows: readonly { readonly said: string; readonly text: string }[];
}

describe.skipIf(!browser)("a page", () => {
  let [app, page]: [App | undefined, AppPage | undefined] = [undefined, undefined];
  const folder = mkdtempSync(join(tmpdir(), "qkv-web-asked-"));
  beforeAll(async () => {
    app = await App.start();
    page = browser && (await app.page(browser));
  });
  afterAll(async () => {
    app?.stop();
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("plans, counts, and looks back", async () => {
    const found = await page?.run<Found>(
      `
      const computer = await qkv.connect({ storage: "memory", device: "wasm", threads: 1 });
      const plan = await computer.plan(given.data, given.settings);
      const wrong = await computer.plan(given.data, { ...given.settings, model: { width: 16, heads: 3 } }).catch(({ told }) => told);
      const cost = await computer.cost({ model: given.settings.model, vocab: 100, decode: 20 });
      const steps = [];
      const listen = (event) => event.kind === "step" && steps.push([event.step, "parts" in event]);
      const run = await computer.train(given.data, { ...given.settings, listen });
      const checkpoints = await computer.checkpoints(run);
      const early = await computer.open(run, { step: checkpoints[0] });
      const texts = ["i am happy today", "i am sad"];
      const said = async (one) => (await one.classify(texts, { warn() {} })).map(({ probabilities }) => JSON.stringify(probabilities));
      const [facts] = await computer.runs();
      const { rows } = await computer.examples(run);
      return { plan, wrong, cost, steps, checkpoints, facts, config: await computer.config(run), rows, then: await said(early), now: await said(run) };`,
      { data: given, settings },
    );
    if (!found) throw new Error("there was no page");
    const { plan, cost, facts } = found;
    const here = await computerHere(folder);
    const { warnings: _, ...same } = await here.plan(given, { ...settings, device: "wasm" });
    expect({ ...plan, warnings: undefined, cost: undefined }).toEqual({ ...same, warnings: undefined, cost: undefined });
    expect(plan.cost.parameters).toBe(same.cost.parameters);
    expect(found.wrong).toMatchObject({ path: "model.heads" });
    expect(cost.bytes).toEqual((await here.cost({ model: settings.model, vocab: 100, decode: 20 })).bytes);
    here.end();
    expect(found.checkpoints).toEqual([4, 8, 12]);
    expect(found.steps.filter(([, parts]) => parts).map(([step]) => step)).toEqual([6, 12]);
    expect(found.then).not.toEqual(found.now);
    expect(facts).toMatchObject({ task: "classify", step: 12, hasCheckpoints: true, parameters: plan.parameters });
    expect(facts.curve).toHaveLength(12);
    expect(found.config.training).toEqual(plan.training);
    expect(found.rows).toHaveLength(plan.valid);
    expect(page?.complaints).toEqual([]);
  }, 120_000);
});
