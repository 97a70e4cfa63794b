import { writeFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { interactiveHtml } from "../../src/pictures/interactive-html.ts";
import { look, nasty } from "../pictures/samples.ts";
import { openFile, startBrowser } from "../support/browser.ts";
import { Workplace } from "../support/command.ts";

// The interactive page in a real browser: pages that the real command made, pointed at, clicked and walked through with the keyboard.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the tests of the page are skipped: ${reason}`);

const place = new Workplace();
afterAll(stop);

const flags = "--width 16 --context 24 --batch 4 --steps 4 --threads 1 --tokenizer char --quiet".split(" ");
const sizes = "--layers 2 --heads 2".split(" ");

beforeAll(async () => {
  if (browser === undefined) return;
  const pairs = ["ab\tba", "abc\tcba", "bca\tacb", "cab\tbac", "aab\tbaa", "bba\tabb", "cc\tcc", "ca\tac"];
  place.write("text.txt", "the cat sat on the mat </script><b> & \n".repeat(40));
  place.write("pairs.tsv", `source\ttarget\n${pairs.join("\n")}\n`);
  place.write("labels.tsv", `text\tlabel\n${pairs.map((pair, i) => `${pair.replace("\t", "")}\t${i % 2 ? "odd" : "even"}`).join("\n")}\n`);
  await place.done("train", "text.txt", "--out", "decoder", ...flags, ...sizes);
  await place.done("train", "labels.tsv", "--out", "encoder", ...flags, ...sizes);
  await place.done("train", "pairs.tsv", "--out", "encoder-decoder", ...flags, ...sizes);
  await place.done("train", "pairs.tsv", "--out", "rnn", "--model", "rnn", ...flags);
  const made = [
    ["decoder", "the </script><b>"],
    ["encoder", "abcba"],
    ["encoder-decoder", "abc", "--target", "cba"],
    ["rnn", "abc", "--target", "cba"],
  ];
  for (const [run, ...words] of made) await place.done("look", run, ...words, "--out", `${run}.html`, "--threads", "1");
});

const settled = (page: Page) => page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");

/** What the page says once it has drawn: it answers the keyboard and the pointer with its next picture. */
async function textOf(page: Page, selector: string): Promise<string | null> {
  await settled(page);
  return page.locator(selector).textContent();
}
async function attributeOf(page: Page, selector: string, name: string): Promise<string | null> {
  await settled(page);
  return page.locator(selector).getAttribute(name);
}
const status = (page: Page) => textOf(page, "#status");
const theme = (page: Page) => page.evaluate("getComputedStyle(document.body).backgroundColor");
/** How much of a canvas is painted, counted in pixels. */
const painted = (page: Page, id: string) =>
  page.evaluate(
    `(() => { const c = document.getElementById("${id}"); const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i] > 0) n++; return n; })()`,
  ) as Promise<number>;

/** Opens a page, does something, and expects that nothing was complained about and nothing asked for. */
async function withPage(file: string, body: (page: Page) => Promise<void>, options: Parameters<Browser["newPage"]>[0] = {}): Promise<void> {
  const { page, complaints } = await openFile(browser as Browser, place.path(file), options);
  try {
    await body(page);
    expect(complaints).toEqual([]);
  } finally {
    await page.close();
  }
}

describe.skipIf(browser === undefined)("a page of the decoder", () => {
  it("shows tokens as they are, lines, and what comes next after each layer", async () => {
    await withPage("decoder.html", async (page) => {
      expect(await page.locator("#queries li").allInnerTexts()).toEqual([..."the␣</script><b>"]);
      expect(await page.locator("#overview button").count()).toBe(4);
      expect(await painted(page, "lines")).toBeGreaterThan(500);
      await page.hover("#query-2");
      expect(await status(page)).toMatch(/^\u2068e\u2069 \(2\) looks at (\u2068.\u2069 \(\d\) [01]\.\d\d(, )?){3}$/);
      expect(await textOf(page, "#answer-title")).toContain("What comes after");
      expect(await page.locator("#next tr").count()).toBe(5);
      expect(await page.locator("#lens tr th").allInnerTexts()).toEqual(["layer 0", "layer 1"]);
    });
  });

  it("adds q·k up to the score that is shown, for every key", async () => {
    await withPage("decoder.html", async (page) => {
      await page.click("#query-1");
      await settled(page);
      const scores = (await page.locator("#products tbody tr:not(.soft) td:nth-child(4)").allInnerTexts()).map(Number);
      const weights = (await page.locator("#products tbody tr:not(.soft) td:nth-child(5)").allInnerTexts()).map(Number);
      expect(scores).toHaveLength(2);
      // Two keys: their weights are the softmax of their two scores.
      const odds = Math.exp(scores[0] - scores[1]);
      expect(Math.abs(odds / (1 + odds) - weights[0])).toBeLessThan(0.02);
    });
  });

  it("pins with a click, keeps it when the pointer leaves, and lets go of it", async () => {
    await withPage("decoder.html", async (page) => {
      await page.click("#key-1");
      await page.mouse.move(5, 5);
      expect(await status(page)).toMatch(/^\u2068h\u2069 \(1\) is looked at by .* — pinned; Escape lets go$/);
      expect(await attributeOf(page, "#key-1", "aria-selected")).toBe("true");
      expect(page.url()).toContain("key=1");
      await page.click("#key-1");
      await page.mouse.move(5, 5);
      expect(await status(page)).not.toContain("pinned");
    });
  });

  it("opens a head from the overview, with the pointer and with the keyboard", async () => {
    await withPage("decoder.html", async (page) => {
      await page.click('#overview button[data-place="1 0"]');
      expect(await textOf(page, "#head-title")).toMatch(/^layer 1, head 0, entropy/);
      await page.keyboard.press("ArrowRight");
      expect(await textOf(page, "#head-title")).toMatch(/^layer 1, head 1, entropy/);
      await page.keyboard.press("ArrowUp");
      expect(await textOf(page, "#head-title")).toMatch(/^layer 0, head 1, entropy/);
      expect(await attributeOf(page, '#overview button[aria-pressed="true"]', "data-place")).toBe("0 1");
      await page.selectOption("#head", "-1");
      expect(await textOf(page, "#head-title")).toBe("layer 0, the mean of 2 heads");
      expect(await textOf(page, "#neuron-note")).toContain("choose one head");
    });
  });

  it("can be walked through with the keyboard alone", async () => {
    await withPage("decoder.html", async (page) => {
      const focused = () => page.evaluate("document.activeElement.id || document.activeElement.dataset.place") as Promise<string>;
      const order: string[] = [];
      for (let i = 0; i < 7; i++) {
        await page.keyboard.press("Tab");
        order.push(await focused());
      }
      expect(order).toEqual(["layer", "head", "theme", "0 0", "queries", "keys", "map"]);
      await page.focus("#queries");
      await page.keyboard.press("Home");
      await page.keyboard.press("ArrowDown");
      expect(await status(page)).toMatch(/^\u2068h\u2069 \(1\) looks at/);
      expect(await attributeOf(page, "#queries", "aria-activedescendant")).toBe("query-1");
      await page.keyboard.press("Enter");
      expect(await status(page)).toContain("pinned");
      await page.keyboard.press("Escape");
      expect(await status(page)).not.toContain("pinned");
      await page.keyboard.press("ArrowRight");
      expect(await focused()).toBe("keys");
      await page.focus("#map");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowRight");
      expect(await status(page)).toMatch(/ looks at .* with weight [01]\.\d\d$/);
    });
  });

  it("has names for all that can be reached", async () => {
    await withPage("decoder.html", async (page) => {
      const nameless = await page.evaluate(
        `[...document.querySelectorAll("button, select, [role=listbox], [role=application], section")].filter((e) =>
          !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length || e.getAttribute("aria-labelledby"))).map((e) => e.outerHTML)`,
      );
      expect(nameless).toEqual([]);
      expect(await attributeOf(page, "#status", "role")).toBe("status");
      expect(await page.locator("#overview button").first().getAttribute("aria-label")).toMatch(
        /^layer 0, head 0, entropy \d\.\d\d nats, /,
      );
    });
  });

  it("is dark where the system is, and the switch says otherwise", async () => {
    const [light, dark] = ["rgb(255, 255, 255)", "rgb(21, 23, 28)"];
    await withPage("decoder.html", async (page) => expect(await theme(page)).toBe(light));
    await withPage(
      "decoder.html",
      async (page) => {
        expect(await theme(page)).toBe(dark);
        await page.click("#theme");
        expect([await textOf(page, "#theme"), await theme(page)]).toEqual(["paper: light", light]);
        await page.click("#theme");
        expect([await textOf(page, "#theme"), await theme(page)]).toEqual(["paper: dark", dark]);
      },
      { colorScheme: "dark" },
    );
  });

  it("opens as its address says", async () => {
    const { page, complaints } = await openFile(browser as Browser, place.path("decoder.html"));
    await page.goto("about:blank");
    await page.goto(`file://${place.path("decoder.html")}#kind=self&layer=1&head=1&query=3`);
    expect(await textOf(page, "#head-title")).toMatch(/^layer 1, head 1,/);
    expect(await status(page)).toMatch(/^\u2068␣\u2069 \(3\) looks at .*pinned/);
    expect(complaints.filter((words) => !words.includes("about:blank"))).toEqual([]);
    await page.close();
  });
});

describe.skipIf(browser === undefined)("pages of the other models", () => {
  it("an encoder: its own attention and the label of the text", async () => {
    await withPage("encoder.html", async (page) => {
      await page.hover("#query-0");
      expect(await textOf(page, "#answer-title")).toBe("The label of the text");
      expect((await page.locator("#next th").allInnerTexts()).sort()).toEqual(["even", "odd"]);
    });
  });

  it("an encoder–decoder: three kinds, each with its own tokens", async () => {
    await withPage("encoder-decoder.html", async (page) => {
      expect(await page.locator("#kind option").allInnerTexts()).toEqual(["cross-attention", "self-attention", "encoder self-attention"]);
      expect(await page.locator("#queries li").allInnerTexts()).toEqual(["c", "b", "a", "</s>"]);
      expect(await page.locator("#keys li").allInnerTexts()).toEqual(["a", "b", "c", "</s>"]);
      await page.hover("#query-1");
      expect(await textOf(page, "#answer-title")).toBe("What is said at place 1");
      await page.selectOption("#kind", { label: "self-attention" });
      expect(await page.locator("#queries li").allInnerTexts()).toEqual(["<s>", "c", "b", "a"]);
      await page.selectOption("#kind", { label: "encoder self-attention" });
      await settled(page);
      expect(await page.locator("#answers").isHidden()).toBe(true);
    });
  });

  it("an RNN: its alignment, its answers, and why there are no queries and keys", async () => {
    await withPage("rnn.html", async (page) => {
      await page.hover("#query-0");
      await settled(page);
      expect(await page.locator("#next tr").count()).toBe(5);
      expect(await page.locator("#lens-part").isHidden()).toBe(true);
      expect(await textOf(page, "#neuron-note")).toContain("no projected queries and keys");
    });
  });
});

describe.skipIf(browser === undefined)("pages of samples", () => {
  it("keep wicked tokens as text", async () => {
    const own = look({ count: nasty.length, layers: 1, heads: 1 });
    writeFileSync(place.path("nasty.html"), interactiveHtml({ ...own, tokens: nasty, targetTokens: nasty }, nasty[0]));
    await withPage("nasty.html", async (page) => {
      expect(await textOf(page, "h1")).toBe("</script><script>alert(1)</script>");
      expect(await page.locator("#keys li").first().textContent()).toBe("</script><script>alert(…");
      expect(await page.locator("script").count()).toBe(2);
    });
  });

  it("of 512 tokens scroll, hover and answer the keyboard", async () => {
    writeFileSync(place.path("long.html"), interactiveHtml(look({ count: 512, layers: 2, heads: 2 })));
    await withPage("long.html", async (page) => {
      await page.focus("#queries");
      await page.keyboard.press("End");
      await settled(page);
      expect(await status(page)).toMatch(/\(511\) looks at/);
      expect(await page.evaluate("document.getElementById('head-scroller').scrollTop")).toBeGreaterThan(9000);
      await page.hover("#key-500");
      await settled(page);
      expect(await status(page)).toMatch(/\(500\) is looked at by/);
      expect(await painted(page, "lines")).toBeGreaterThan(500);
      expect(await painted(page, "map")).toBe((512 * 513) / 2);
    });
  });
});
