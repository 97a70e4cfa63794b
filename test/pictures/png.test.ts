import { expect, it } from "vitest";
import { pngOf } from "../../src/cli/png.ts";
import { attentionMap } from "../../src/pictures/attention-map.ts";
import { pattern, sentence } from "./samples.ts";

/** The pixels of a PNG, through the same package that made it. */
async function pixels(png: Uint8Array): Promise<{ readonly width: number; readonly height: number; at(x: number, y: number): number[] }> {
  const { createCanvas, loadImage } = await import("@napi-rs/canvas");
  const image = await loadImage(png);
  const context = createCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  return { width: image.width, height: image.height, at: (x, y) => [...context.getImageData(x, y, 1, 1).data] };
}

it("draws a picture with two pixels for each unit, on white paper, with its colours and its text", async () => {
  const svg = attentionMap({ tokens: sentence, targetTokens: sentence, pattern: pattern(5, 5, 1) });
  const png = await pngOf(svg);
  expect([...png.slice(0, 8)]).toEqual([137, 80, 78, 71, 13, 10, 26, 10]);
  const { width, height, at } = await pixels(png);
  expect([width, height]).toEqual([/width="(\d+)"/, /height="(\d+)"/].map((size) => 2 * Number(size.exec(svg)?.[1])));
  expect(at(1, 1)).toEqual([255, 255, 255, 255]);
  const [, x, y] = /<rect x="(\d+)" y="(\d+)" width="44" height="44" fill="#fde725">/.exec(svg) ?? [];
  expect(at(2 * Number(x) + 4, 2 * Number(y) + 4)).toEqual([0xfd, 0xe7, 0x25, 255]);
  // The title stands in the first lines; without a font they would be blank.
  const dark = Array.from({ length: 200 }, (_, i) => at(32 + i, 44)).filter(([red]) => red < 128);
  expect(dark.length).toBeGreaterThan(10);
});

it("names the characters that no font has, once each, and nothing else", async () => {
  const tokens = ["a", "é", "שלום", "漢字", "漢"];
  const warnings: string[] = [];
  await pngOf(attentionMap({ tokens, targetTokens: tokens, pattern: pattern(5, 5, 1) }), (sentence) => warnings.push(sentence));
  await pngOf(attentionMap({ tokens: sentence, targetTokens: sentence, pattern: pattern(5, 5, 1) }), (words) => warnings.push(words));
  const { GlobalFonts } = await import("@napi-rs/canvas");
  const hasChinese = GlobalFonts.families.some(({ family }) => /CJK|Hei|Song|Ming|Gothic|WenQuanYi|PingFang/i.test(family));
  if (!hasChinese)
    expect(warnings).toEqual([
      "no font here has 漢 字, so they are boxes in the PNG; write .svg or .html, or install a font that has them",
    ]);
});
