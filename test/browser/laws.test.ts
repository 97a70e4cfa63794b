import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gradientGap } from "../../src/gradients/finite-difference.ts";
import { deviceNamed } from "../../src/node/devices.ts";
import { startBrowser } from "../support/browser.ts";
import { TestPage } from "../support/isolated-page.ts";
import { type Asked, draws, opResults, type Trained, trainings } from "./laws-worker.ts";

// The laws of the engine in a real browser: what a worker of a page computes is what Node computes. WebGPU is on an adapter in software.

const { browser, reason, stop } = await startBrowser(["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]);
if (reason !== undefined) console.warn(`the laws in a page are SKIPPED: ${reason}`);

const long = 600_000;
const tasks = join(import.meta.dirname, "laws-worker.ts");
const cpu = deviceNamed("cpu", { threads: 1 });
const [wasm, webgpu]: Asked[] = [
  { device: "wasm", threads: 1 },
  { device: "webgpu", threads: 1 },
];
const steps = 50;

describe.skipIf(browser === undefined)("a worker of a page", () => {
  let page: TestPage;
  let opsInNode: Awaited<ReturnType<typeof opResults>>;
  let trainedInNode: Trained[];
  beforeAll(async () => {
    page = await TestPage.open(browser as Browser, { tasks });
    opsInNode = await opResults(cpu);
    trainedInNode = await trainings(cpu, steps);
  }, long);
  afterAll(async () => {
    await page?.close();
    await stop();
  });

  /** Cases that are further apart than they may be, and those that are refused, by op. */
  async function compared(asked: Asked, tolerance: number) {
    const found = await page.ask<typeof opsInNode>("ops", asked);
    expect(Object.keys(found).sort()).toEqual(Object.keys(opsInNode).sort()); // files are loaded in another order
    expect(Object.keys(found).length).toBeGreaterThan(450);
    const apart: string[] = [];
    const refused = new Map<string, string>();
    for (const [name, expected] of Object.entries(opsInNode)) {
      const given = found[name];
      if (typeof given === "string") refused.set(name.split(" ")[0], given);
      else if (typeof expected === "string") apart.push(`${name}: ${expected}`);
      else
        for (const [key, numbers] of Object.entries(expected))
          if (!(gradientGap(numbers, given[key]) <= tolerance)) apart.push(`${name}, ${key}: ${gradientGap(numbers, given[key])}`);
    }
    return { apart, refused: Object.fromEntries(refused) };
  }

  describe("in WebAssembly", () => {
    it("computes every op and its gradient as Node does, but for products with few bits, which it refuses", { timeout: long }, async () => {
      const { apart, refused } = await compared(wasm, 1e-5);
      expect(apart).toEqual([]);
      expect(refused).toEqual({ quantisedLinear: expect.stringMatching(/^EngineError: wasm has no products with weights of \d bits/) });
    });

    it.each([1, 2])("trains all four architectures as Node does, with %i threads", { timeout: long }, async (threads) => {
      const found = await page.ask<Trained[]>("train", { ...wasm, threads, steps });
      expectClose(found, trainedInNode, 1e-4);
      for (const [i, { ids }] of found.entries()) expect([i, ids]).toEqual([i, trainedInNode[i].ids]);
    });

    it("draws the same batches, weights and bytes from the same seed", async () => {
      expect(await page.ask("draws")).toEqual(await draws());
    });

    it("has as many threads as it says, and says why", async () => {
      const two = { chosen: "wasm", why: "as asked", threads: 2, threadsReason: "as asked" };
      expect(await page.ask("device", { ...wasm, threads: 2 })).toMatchObject(two);
      const plain = await TestPage.open(browser as Browser, { tasks, isolated: false });
      const alone = { threads: 1, threadsReason: expect.stringContaining("the page is not cross-origin isolated") };
      expect(await plain.ask("device", { ...wasm, threads: 2 })).toMatchObject(alone);
      expect(plain.complaints).toEqual([]);
      await plain.close();
    });

    it("reads weights from files through a function of the app", async () => {
      expect(await page.ask("file")).toEqual({
        asked: ["runs/one/model.safetensors"],
        y: [31, 42],
        refused: expect.stringMatching(
          /^EngineError: the weights "w" are in the file model\.safetensors, and wasm reads none beside a model/,
        ),
      });
    });

    it("is what is chosen where the only adapter is a program", async () => {
      const report = await page.ask("device", { device: "auto" });
      expect(report).toMatchObject({ chosen: "wasm", why: expect.stringContaining("its adapter is a program, not a chip") });
    });
  });

  describe("on WebGPU", () => {
    it("computes every op and its gradient as Node does, but for float64, few bits and loops over bytes", { timeout: long }, async () => {
      const { apart, refused } = await compared(webgpu, 1e-3);
      expect(apart).toEqual([]);
      expect(refused).toEqual({
        cast: expect.stringContaining("float64, which webgpu has not"),
        quantisedLinear: expect.stringMatching(/^EngineError: webgpu has no products with weights of \d bits/),
        // A loop over bytes, dropout's: where there are no loops, attention is never made of them.
        attendEach: expect.stringMatching(/^EngineError: webgpu cannot compute attendEach\(/),
        attendEachBack: expect.stringMatching(/^EngineError: webgpu cannot compute attendEachBack\(/),
      });
    });

    it("leaves nothing to the processor: what has no kernel is refused with its name", async () => {
      expect(await page.ask("lacking")).toMatch(
        /^EngineError: webgpu cannot compute logSoftmax\(float32\) at scores, which is LogSoftmax in ONNX; it is refused/,
      );
    });

    it("trains on the GPU alone, and loses nothing by it", { timeout: long }, async () => {
      const few = await page.ask<Trained[]>("train", {
        ...webgpu,
        steps: 2,
        writing: false,
        models: ["encoder", "encoder-decoder", "rnn"],
      });
      expectClose(few, trainedInNode.slice(1), 1e-5);
      const one = { steps: 30, writing: false, models: ["decoder"] };
      const [inWasm, onGpu] = [
        await page.ask<Trained[]>("train", { ...wasm, ...one }),
        await page.ask<Trained[]>("train", { ...webgpu, ...one }),
      ];
      expectClose(onGpu, inWasm, 1e-5);
    });

    it("says that the GPU was lost, and does not go on", { timeout: long }, async () => {
      const sentence = /the GPU was lost \(.*\); what was computed on it is gone: go on from the last save/;
      const found = await page.ask<{ before: number[]; after: string; told: string[] }>("lost");
      expect(found).toEqual({ before: [4, 9], after: expect.stringMatching(sentence), told: [expect.stringMatching(sentence)] });
    });

    it("is measured and compared before it is chosen", { timeout: long }, async () => {
      const trial = { layers: 1, heads: 2, width: 16, context: 8, batch: 2 };
      const { measured } = await page.ask<{ measured: { msPerStep: number; gap: { loss: number; gradient: number } }[] }>("device", {
        device: "auto",
        software: true,
        trial,
      });
      expect(measured.map(({ msPerStep }) => msPerStep > 0)).toEqual([true, true]);
      expect(Math.max(measured[1].gap.loss, measured[1].gap.gradient)).toBeLessThan(1e-4);
    });
  });

  it("asks nobody but its own server, and breaks no rule of its policy", () => {
    expect(page.complaints).toEqual([]);
  });
});

/** Losses, relative to the loss or to 1. */
function expectClose(found: readonly Trained[], expected: readonly Trained[], tolerance: number): void {
  expect(found.map(({ model }) => model)).toEqual(expected.map(({ model }) => model));
  for (const [i, { model, losses }] of found.entries()) {
    const gaps = losses.map((loss, step) => Math.abs(loss - expected[i].losses[step]) / Math.max(1, Math.abs(expected[i].losses[step])));
    const worst = Math.max(...gaps);
    expect(worst, `${model}, step ${1 + gaps.indexOf(worst)}`).toBeLessThanOrEqual(tolerance);
  }
}
