import { createHash } from "node:crypto";
import { Script } from "node:vm";
import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { interactiveHtml } from "../../src/pictures/interactive-html.ts";
import { pageScript } from "../../src/pictures/page-script.ts";
import { pageStyle } from "../../src/pictures/page-style.ts";
import { expectPicture } from "./checked-in.ts";
import { look, nasty, pattern } from "./samples.ts";

const nastyLook = {
  tokens: nasty,
  targetTokens: nasty,
  kind: "self",
  layers: [{ layer: 0, heads: [{ head: 0, pattern: pattern(nasty.length, nasty.length, 1) }] }],
} as const;

const dataOf = (html: string): string => html.split('<script type="application/json" id="data">')[1].split("</script>")[0];

describe("the interactive page", () => {
  it("looks as it did when somebody last looked at it", () => {
    expectPicture(
      "interactive.html",
      interactiveHtml([look({ count: 5, layers: 2, heads: 2 }), look({ count: 24, layers: 1, heads: 2, kind: "encoder" })]),
    );
  });

  it("allows its own script and style by their hashes and nothing else, and asks for nothing from outside", () => {
    const html = interactiveHtml(look({ count: 5, layers: 1, heads: 1 }));
    const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    expect(html).toContain(`script-src ${hash(pageScript)};`);
    expect(html).toContain(`style-src ${hash(pageStyle)};`);
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/https?:|src=|href=|@import|url\(/);
  });

  it("has a script that can be read by a browser and never writes markup", () => {
    expect(() => new Script(pageScript)).not.toThrow();
    expect(pageScript).not.toMatch(/innerHTML|outerHTML|insertAdjacent|document\.write|eval|setAttribute/);
  });

  it("keeps tokens that look like markup as text", () => {
    const html = interactiveHtml(nastyLook, nasty[0]);
    expect(html.match(/<\/?script/g)).toHaveLength(4);
    expect(html).not.toContain("<script>alert");
    expect(html).toContain("<title>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>");
    expect(html).not.toMatch(/[\u2028\u2029]/);
    const [found] = JSON.parse(dataOf(html)).looks;
    expect(found.tokens[0]).toBe("</script><script>alert(…");
    expect(found.tokens[1]).toBe('"');
  });

  it("carries every weight, with three digits", () => {
    const given = look({ count: 24, layers: 2, heads: 3 });
    const [found] = JSON.parse(dataOf(interactiveHtml(given))).looks;
    given.layers.forEach(({ heads }, layer) => {
      heads.forEach(({ pattern: wanted }, head) => {
        const got: number[][] = found.layers[layer].heads[head].pattern;
        for (const [i, row] of wanted.entries())
          for (const [j, weight] of row.entries()) expect(Math.abs(got[i][j] - weight)).toBeLessThanOrEqual(0.006 * weight);
      });
    });
  });

  it("refuses what it cannot show", () => {
    expect(() => interactiveHtml([])).toThrow(new DataError("Attention: no looks; there is nothing to draw"));
    expect(() => interactiveHtml({ ...nastyLook, layers: [] })).toThrow(DataError);
    expect(() => interactiveHtml({ ...nastyLook, tokens: ["one"] })).toThrow(DataError);
  });
});
