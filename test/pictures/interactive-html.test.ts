import { createHash } from "node:crypto";
import { Script } from "node:vm";
import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { interactiveHtml } from "../../src/pictures/interactive-html.ts";
import { pageScript, pageStyle } from "../../src/pictures/page.bundle.ts";
import { bytesOf, type PageData, packed, valuesOf, weightsOf } from "../../src/pictures/page-data.ts";
import { look, nasty, pattern } from "./samples.ts";

const nastyLook = {
  tokens: nasty,
  targetTokens: nasty,
  kind: "self",
  layers: [{ layer: 0, heads: [{ head: 0, pattern: pattern(nasty.length, nasty.length, 1) }] }],
} as const;

const dataOf = (html: string): string => html.split('<script type="application/json" id="data">')[1].split("</script>")[0];

describe("the interactive page", () => {
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
    expect(pageScript).not.toMatch(/innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|<!--|<\/?script/);
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

  it.each(["self", "encoder"] as const)(
    "carries every weight of %s attention to one part in 255 of the highest, by the square root",
    (kind) => {
      const given = look({ count: 24, layers: 2, heads: 3, kind });
      const [found] = (JSON.parse(dataOf(interactiveHtml(given))) as PageData).looks;
      given.layers.forEach(({ heads }, layer) => {
        heads.forEach(({ pattern: wanted }, head) => {
          const packedHead = found.layers[layer].heads[head];
          const { weights } = packedHead;
          expect(bytesOf(weights)).toHaveLength(kind === "self" ? (24 * 25) / 2 : 24 * 24);
          const got = weightsOf(packedHead, 24, 24);
          for (const [i, weight] of wanted.flat().entries()) {
            expect(Math.abs(Math.sqrt(got[i] / weights.reach) - Math.sqrt(weight / weights.reach))).toBeLessThanOrEqual(1 / 255);
            expect(got[i] === 0).toBe(weight === 0); // blank means masked, and nothing else
          }
        });
      });
    },
  );

  it("packs numbers around zero with their signs", () => {
    for (const coding of ["signed", "signed-root"] as const) {
      const made = packed([[-2, -0.5, 0, 0.5, 2]], coding);
      const values = valuesOf(made);
      const got = Array.from(bytesOf(made), (byte) => values[byte]);
      [-2, -0.5, 0, 0.5, 2].forEach((value, i) => {
        expect(Math.abs(got[i] - value)).toBeLessThan(0.02);
      });
      expect([got[0], got[2], got[4]]).toEqual([-2, 0, 2]);
    }
  });

  it("leaves queries and keys out where they would be too many, and refuses more weights than load well", () => {
    const one = look({ count: 5, layers: 1, heads: 1 });
    const rows = Array.from({ length: 5 }, () => [1, 2, 3]);
    const page = (scale: number, q = rows) =>
      (JSON.parse(dataOf(interactiveHtml(one, "t", { vectors: [{ scale, layers: [[{ q, k: rows }]] }] }))) as PageData).looks[0];
    expect(page(0.5)).toMatchObject({ scale: 0.5, layers: [{ heads: [{ vectors: { size: 3 } }] }] });
    const many = page(
      0.5,
      Array.from({ length: 5 }, () => new Array<number>(2_500_000).fill(1)),
    );
    expect(many.note).toMatch(/^Queries and keys are left out, as they are 25,000,000 numbers; look at one layer/);
    const pattern = Array.from({ length: 8001 }, () => new Array<number>(8000).fill(0));
    const huge = { ...nastyLook, tokens: new Array<string>(8000).fill("a"), targetTokens: new Array<string>(8001).fill("a") };
    expect(() => interactiveHtml({ ...huge, layers: [{ layer: 0, heads: [{ head: 0, pattern }] }] })).toThrow(
      "Attention: 64,008,000 weights, and a page holds 64,000,000; look at one layer, or at a shorter text",
    );
  });

  it("refuses what it cannot show", () => {
    expect(() => interactiveHtml([])).toThrow(new DataError("Attention: no looks; there is nothing to draw"));
    expect(() => interactiveHtml({ ...nastyLook, layers: [] })).toThrow(DataError);
    expect(() => interactiveHtml({ ...nastyLook, tokens: ["one"] })).toThrow(DataError);
  });
});
