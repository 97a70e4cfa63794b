import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { StudioPage, StudioPlace, serveFolder } from "../support/studio-page.ts";

// What a person does in the studio, from the first visit on, in a real browser over the real command.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the journeys through the studio are skipped: ${reason}`);

const place = new StudioPlace();

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

const rhyme = `one, two, buckle my shoe
three, four, open the door
five, six, pick up sticks
seven, eight, lay them straight
nine, ten, a big fat hen
`;

/** Three classes that words tell apart, mostly. */
function moodTable(): string {
  const kinds = { good: ["happy", "glad", "pleased"], bad: ["sad", "angry", "upset"], "<i>neither</i>": ["hungry", "busy", "reading"] };
  const rows = Object.entries(kinds).flatMap(([label, all], kind) =>
    Array.from({ length: 60 }, (_, i) => {
      const said = i % 9 === 0 ? Object.keys(kinds)[(kind + 1) % 3] : label;
      return `"i am ${all[i % 3]}, and ${all[(i >> 2) % 3]} on day ${i}",${said}`;
    }),
  );
  return ["text,label", ...rows].join("\n");
}

const words = (found: Locator): Promise<string> => found.textContent().then((text) => text ?? "");

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

  it("silences that head, and sees the answer change beside the one before", async () => {
    const { page } = visitor;
    await page.getByRole("tab", { name: "The way of a token" }).click();
    await page
      .getByRole("navigation", { name: /^The model, place by place/ })
      .getByRole("button", { name: "softmax" })
      .nth(1)
      .click();
    await visitor.button("Silence head 2").click();
    await visitor.reads("Divergence of the answers");
    const [, here] = /nats\): (\S+) here/.exec(await words(page.getByText("Divergence of the answers"))) ?? [];
    expect(Number(here)).toBeGreaterThan(0);
    await page.reload(); // what was changed is in the address
    await visitor.button(/^Take back the change/).click();
    await page.getByText("Divergence of the answers").waitFor({ state: "detached" });
  });

  it("writes, and branches at a token", async () => {
    const { page } = visitor;
    await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Ask" }).click();
    await visitor.button("Write").click();
    const text = page.getByRole("listbox", { name: /^The text, token by token/ });
    await visitor.reads(/tokens written/);
    const before = await words(text);
    await text
      .getByRole("option")
      .nth((await text.getByRole("option").count()) - 20)
      .click();
    await page
      .getByRole("region", { name: "What could come here" })
      .locator("li button:not([aria-current]):not(:disabled)")
      .first()
      .click();
    const tree = page.getByRole("tree", { name: "Branches" });
    await until(async () => (await tree.getByRole("treeitem").count()) >= 2);
    await visitor.reads(/tokens written/);
    expect(await words(text)).not.toBe(before);
    await tree.getByRole("treeitem").first().click();
    await until(async () => (await words(text)) === before); // nothing is lost
  });

  it("trains another on words that were pasted, and compares the two", async () => {
    const { page } = visitor;
    await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Learn" }).click();
    await page.getByRole("link", { name: /New training/ }).click();
    await page.getByText("Paste a text or a table").click();
    await page.getByRole("textbox", { name: "Text or table to learn from" }).fill(rhyme.repeat(40));
    await visitor.button("Learn from this").click();
    await visitor.button(/^Tiny/).click();
    await page.getByLabel("heads", { exact: true }).fill("3");
    await page
      .getByText(/width.*heads|heads.*width/i)
      .first()
      .waitFor(); // it is said at once what does not fit
    await page.getByLabel("heads", { exact: true }).fill("2");
    await page.getByLabel("steps", { exact: true }).fill("40");
    await page.getByRole("textbox", { name: "Name of the run" }).fill("rhyme");
    await visitor.button("Begin to learn").click();
    await visitor.ended();
    await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Compare" }).click();
    await visitor.button("Pick these").click();
    await page.getByRole("columnheader", { name: /steps/ }).first().waitFor();
    const chart = await visitor.saved(page.getByRole("button", { name: /^Save/ }).first(), "SVG");
    expect(chart.bytes.toString()).toMatch(/first-steps[\s\S]*rhyme|rhyme[\s\S]*first-steps/);
  });

  it("complained of nothing", () => {
    expect(visitor.complaints).toEqual([]);
  });
});

describe.skipIf(browser === undefined)("a table of texts and labels", () => {
  it("is dropped, learned, measured, and its mistakes are looked at one by one", async () => {
    const visitor = await opened();
    const { page } = visitor;
    await page.getByRole("link", { name: /New training/ }).click();
    const dropped = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([${JSON.stringify(moodTable())}], "moods <b>&.csv"));
      return transfer;
    })()`);
    await page.dispatchEvent(".data-field", "drop", { dataTransfer: dropped });
    await visitor.reads(/classify/);
    await visitor.button(/^Tiny/).click();
    await page.getByLabel("steps", { exact: true }).fill("60");
    await page.getByRole("textbox", { name: "Name of the run" }).fill("moods");
    await visitor.button("Begin to learn").click();
    await visitor.ended();
    await page.getByRole("link", { name: "Ask it" }).click();
    await page.getByRole("tab", { name: "Measure" }).click();
    await page.locator("table.confusion .cell:not(:disabled)").first().click();
    await page
      .getByRole("region", { name: /: \d+ examples?$/ })
      .locator("button.example")
      .first()
      .click();
    await page.getByRole("list", { name: "Tokens of the text" }).first().waitFor(); // what spoke for it
    expect(page.url()).toMatch(/wanted=.*said=/);
    expect(visitor.complaints).toEqual([]);
    await page.context().close();
  });
});

describe.skipIf(browser === undefined)("the studio as files", () => {
  it("trains, looks and writes in the page, without any server of its own, and finds its run after a reload", async () => {
    const folder = join(place.folder, "static");
    execFileSync(process.execPath, [join(import.meta.dirname, "../../dist/cli/main.js"), "studio", "--build", folder]);
    const server = await serveFolder(folder);
    const visitor = await StudioPage.open(browser as Browser, server.url);
    const { page } = visitor;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.getByRole("heading", { name: "first-steps" }).waitFor();
    await until(async () => (await stepsOf(visitor)) >= 60);
    await visitor.button("Stop").click();
    await visitor.reads("stopped");
    const stopped = await stepsOf(visitor);
    await page.reload();
    await until(async () => (await stepsOf(visitor)) === stopped);
    await page.getByRole("link", { name: "Look inside" }).click();
    await page.getByRole("tab", { name: "Attention" }).click();
    await page.getByRole("heading", { name: "Layer 0, head 0" }).waitFor();
    await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Ask" }).click();
    await visitor.button("Write").click();
    await visitor.reads(/tokens written/);
    await visitor.reads("in this page");
    expect(asked.filter((url) => !url.startsWith(server.url) && !url.startsWith("blob:"))).toEqual([]);
    expect(visitor.complaints).toEqual([]);
    server.stop();
    await page.context().close();
  });
});

describe.skipIf(browser === undefined)("a studio that is killed", () => {
  it("goes on with the training when it is there again, and so does its page", async () => {
    const visitor = await opened();
    const { page } = visitor;
    await page.getByRole("link", { name: /New training/ }).click();
    await visitor.button(/^A book/).click();
    await visitor.button(/^Tiny/).click();
    await page.getByLabel("steps", { exact: true }).fill("160");
    await page.getByRole("textbox", { name: "Name of the run" }).fill("interrupted");
    await visitor.button("Begin to learn").click();
    await until(async () => (await stepsOf(visitor)) >= 40);
    await place.kill();
    await visitor.reads(/This page goes on as soon as it is answered again/);
    await place.start();
    await until(async () => (await stepsOf(visitor)) === 160);
    await visitor.ended();
    const { steps } = JSON.parse(readFileSync(join(place.runs, "interrupted/config.json"), "utf8")).training;
    const log = readFileSync(join(place.runs, "interrupted/log.jsonl"), "utf8").trim().split("\n");
    const taken = log.map((line) => JSON.parse(line) as { step: number; loss?: number }).filter(({ loss }) => loss !== undefined);
    expect(taken.at(-1)?.step).toBe(steps);
    expect(new Set(taken.map(({ step }) => step)).size).toBe(taken.length); // nothing twice
    await page.context().close();
  });
});
