import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { StudioPage, StudioPlace } from "../support/studio-page.ts";

// What a person does in the studio, from the first visit on, in a real browser over the real command.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the journeys through the studio are skipped: ${reason}`);

const place = new StudioPlace();
const root = join(import.meta.dirname, "../..");

beforeAll(async () => {
  if (browser) await place.start();
});
afterAll(async () => {
  await stop();
  await place.end();
});

const opened = (size?: { width: number; height: number }): Promise<StudioPage> => StudioPage.open(browser as Browser, place.url, size);

/** Steps that were taken, as the page says. */
const stepsOf = async (visitor: StudioPage): Promise<number> =>
  Number(await visitor.page.getByRole("progressbar", { name: "Steps taken" }).getAttribute("value"));

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 100));
}

const words = (found: Locator): Promise<string> => found.innerText();

describe.skipIf(browser === undefined)("a first visit", () => {
  let visitor: StudioPage;
  beforeAll(async () => {
    visitor = await opened();
  });

  it("sees a model learn: its curve, what it writes, and where it looks", async () => {
    const { page } = visitor;
    await page.getByRole("heading", { name: "first-steps" }).waitFor();
    await until(async () => (await stepsOf(visitor)) >= 60);
    const written = page.getByRole("region", { name: "What the model said" });
    await until(async () => (await words(written)).length > 60);
    await page.getByRole("img", { name: /head/ }).first().waitFor();
    expect(new URL(page.url()).search).toBe(""); // the token is not left in the address
  });

  it("pauses it, lets it go on, and stops it", async () => {
    await visitor.button("Pause").click();
    await visitor.reads("paused");
    const rested = await stepsOf(visitor);
    await visitor.button("Go on").click();
    await until(async () => (await stepsOf(visitor)) > rested);
    await visitor.button("Stop").click();
    await visitor.reads("stopped");
  });

  it("looks at a head, which is in the address then", async () => {
    const { page } = visitor;
    await page.getByRole("link", { name: "Look inside" }).click();
    await page.getByRole("tab", { name: "Attention" }).click();
    await page.getByRole("button", { name: /^layer 1, head 2/ }).click();
    await page.getByRole("heading", { name: "Layer 1, head 2" }).waitFor();
    expect(page.url()).toMatch(/layer=1/);
    await page.reload();
    await page.getByRole("heading", { name: "Layer 1, head 2" }).waitFor();
    const picture = await visitor.saved(page.getByRole("button", { name: /^Save .*head/ }).last(), "SVG");
    expect(picture.name).toMatch(/\.svg$/);
    expect(picture.bytes.toString()).toMatch(/^<svg [\s\S]*<\/svg>\s*$/);
  });

  it("writes, and branches at a token", async () => {
    const { page } = visitor;
    await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Ask" }).click();
    await visitor.button("Write").click();
    const text = page.getByRole("listbox", { name: /^The text, token by token/ });
    await until(async () => (await text.getByRole("option").count()) > 40);
    await visitor.button("Write").waitFor();
    const before = await words(text);
    await text.getByRole("option").nth(20).click();
    await page.locator(".choices button:not([aria-current]):not(:disabled)").first().click();
    const tree = page.getByRole("tree", { name: "Branches" });
    await until(async () => (await tree.getByRole("treeitem").count()) >= 2);
    await visitor.button("Write").waitFor();
    expect(await words(text)).not.toBe(before);
    await tree.getByRole("treeitem").first().click();
    await until(async () => (await words(text)) === before); // nothing is lost
  });

  it("complained of nothing", () => {
    expect(visitor.complaints).toEqual([]);
  });
});
