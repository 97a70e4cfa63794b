import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { startBrowser } from "../support/browser.ts";
import { serveWorker, startWorker } from "../support/worker-page.ts";

// The storage of a page in a real browser: workers that are ended while they save, two at once, and a large file.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the tests of the storage are skipped: ${reason}`);

interface Latest {
  readonly step: number;
  readonly told: number;
  readonly warnings: readonly string[];
}

describe.skipIf(browser === undefined)("the storage of a page", () => {
  let served: Awaited<ReturnType<typeof serveWorker>>;
  let page: Page;
  const complaints: string[] = [];
  beforeAll(async () => {
    served = await serveWorker("./test/support/storage-worker.ts");
    page = await (browser as Browser).newPage();
    page.on("console", (message) => void complaints.push(message.text()));
    page.on("pageerror", (error) => void complaints.push(error.message));
    await page.goto(served.url);
  });
  afterAll(async () => {
    await served?.close();
    await stop();
  });

  /** Ends workers of one storage while they save, one after the other; gives back the last step, and the names that the storage had. */
  async function ended(name: string, times: number): Promise<{ saved: number; hosts: ReadonlySet<string> }> {
    let saved = 0;
    const hosts = new Set<string>();
    for (let i = 0; i < times; i++) {
      const worker = await startWorker(page);
      const { kept, host } = await worker.ask<{ kept: boolean; host: string }>("mount", { name });
      expect(kept).toBe(true);
      hosts.add(host);
      const latest = await worker.ask<Latest>("latest");
      expect(latest.warnings).toEqual([]);
      expect(latest.step).toBeGreaterThanOrEqual(saved);
      expect(latest.told).toBe(latest.step);
      saved = Math.max(latest.step, await worker.endAfter("save", { bytes: 300_000 }, 20 + chance(2017).fork(name).integer(i, 200)));
    }
    return { saved, hosts };
  }

  it("never loses a checkpoint that was saved, whatever moment a worker is ended at", async () => {
    // A browser lets a busy worker go on for a while, so several storages are tried at once.
    const all = await Promise.all(["one", "two", "three"].map((name) => ended(`kills-${name}`, 10)));
    for (const { saved, hosts } of all) {
      expect(saved).toBeGreaterThan(10);
      expect(hosts.size).toBe(1); // a storage keeps its name, so that locks of workers that are gone are known as theirs
    }
  });

  it("is had by one worker at a time; another is told who has it", async () => {
    const [first, second] = [await startWorker(page), await startWorker(page)];
    await first.ask("mount", { name: "two", who: "training moby-dick" });
    await expect(second.ask("mount", { name: "two" })).rejects.toMatchObject({
      message: 'another tab of this site (training moby-dick) has the storage "two" open; close it and load this page again',
      code: "run.busy",
    });
    await second.ask("mount", { name: "another" });
    await first.ask("close");
    await second.ask("mount", { name: "two" });
    await first.end();
    await second.end();
  });

  it("holds a file of 200 MB, gives it back, and gives back its room", async () => {
    const [pieces, large] = [48, 48 * 2 ** 22];
    const first = await startWorker(page);
    const before = await first.ask<{ estimate: { usage: number } }>("mount", { name: "large" });
    expect(await first.ask("large", { pieces })).toEqual({ size: large });
    await first.end();
    const second = await startWorker(page);
    const { estimate } = await second.ask<{ estimate: { usage: number } }>("mount", { name: "large" });
    expect(estimate.usage - before.estimate.usage).toBeGreaterThan(0.95 * large);
    expect(await second.ask("check", { pieces })).toEqual({
      wrong: 0,
      names: ["large.bin", "small.txt", "tmp"],
      hash: "0b9345bb85ef6f0cd9a280382f06fbc601e8d789cc478067f5b1a6864bc17394",
    });
    await second.ask("remove");
    await second.ask("close");
    const after = await second.ask<{ estimate: { usage: number } }>("mount", { name: "large" });
    expect(after.estimate.usage - before.estimate.usage).toBeLessThan(0.05 * large);
    await second.end();
  });

  it("says that nothing is kept where it was asked for so", async () => {
    const worker = await startWorker(page);
    expect(await worker.ask("mount", { storage: "memory" })).toMatchObject({ kept: false, reason: "it was asked for so" });
    await worker.end();
    expect(complaints).toEqual([]);
  });
});
