import fc from "fast-check";
import { expect, it } from "vitest";
import { escaped } from "../../src/pictures/escape.ts";
import { cellsOf, prose, shortened, visible } from "../../src/pictures/label.ts";
import { anyText } from "./samples.ts";
import { parseXml } from "./xml.ts";

it("shows whitespace, control characters and what turns the direction of writing", () => {
  expect(visible(" the")).toBe("␣the");
  expect(visible("a\tb\n")).toBe("a⇥b⏎");
  expect(visible("\r\n")).toBe("\\r⏎");
  expect(visible("")).toBe("∅");
  expect(visible("\u0000\u001b[31m")).toBe("\\u{0}\\u{1b}[31m");
  expect(visible("\u202eabc\u200b")).toBe("\\u{202e}abc\\u{200b}");
  expect(visible("\ud800")).toBe("\\u{d800}");
});

it("gives a mark without a letter something to stand on, and takes most marks off a pile of them", () => {
  expect(visible("\u0301")).toBe("◌\u0301");
  expect(visible("e\u0301")).toBe("e\u0301");
  expect(visible(`e${"\u0301".repeat(500)}`)).toBe("e\u0301\u0301\u0301");
});

it("counts the columns of a terminal", () => {
  expect(cellsOf("abc")).toBe(3);
  expect(cellsOf("漢字")).toBe(4);
  expect(cellsOf("e\u0301")).toBe(1);
  expect(cellsOf("👩‍👩‍👧")).toBe(2);
  expect(cellsOf("ｱ")).toBe(1);
  expect(cellsOf("שלום")).toBe(4);
});

it("cuts between letters as a reader sees them", () => {
  expect(shortened("abcdefgh", 5)).toBe("abcd…");
  expect(shortened("abcde", 5)).toBe("abcde");
  expect(shortened("漢字漢字", 4)).toBe("漢…");
  expect(shortened("👩‍👩‍👧👩‍👩‍👧", 3)).toBe("👩‍👩‍👧…");
  expect(prose("Call me Ishmael.", 9, "end")).toBe("…Ishmael.");
  expect(prose("a b", 9)).toBe("a b");
});

it("never exceeds the columns it was given, and never lets through what a terminal might obey", () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 30 }), (token, most) => {
      const short = shortened(token, most);
      expect(cellsOf(short)).toBeLessThanOrEqual(most);
      expect(short).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
    }),
  );
});

it("escapes any text so that an XML reader gets it back, in elements and in attributes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const root = parseXml(`<a b="${escaped(text)}">${escaped(text)}</a>`);
      expect(root.text).toBe(text);
      expect(root.attributes.get("b")).toBe(text);
    }),
  );
  expect(escaped("\u0000\ufffe\udc00 ]]>")).toBe("\\u{0}\\u{fffe}\\u{dc00} ]]&gt;");
});
