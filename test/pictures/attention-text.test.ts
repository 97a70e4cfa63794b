import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { attentionText } from "../../src/pictures/attention-text.ts";
import { cellsOf } from "../../src/pictures/label.ts";
import { expectPicture } from "./checked-in.ts";
import { nasty, pattern, sentence, tokens } from "./samples.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
const plain = (text: string) => text.replace(/\x1b\[[\d;]*m/g, "").replaceAll("\u200e", "");
const widest = (text: string) => Math.max(...plain(text).split("\n").map(cellsOf));

describe("attention in a terminal", () => {
  it("looks as it did when somebody last looked at it", () => {
    const names = tokens(200);
    expectPicture("attention-5.txt", `${attentionText(pattern(5, 5, 1), sentence, sentence)}\n`);
    expectPicture("attention-5-colour.txt", `${attentionText(pattern(5, 5, 1), sentence, sentence, { colour: true })}\n`);
    expectPicture("attention-17.txt", `${attentionText(pattern(17, 17, 1), tokens(17), tokens(17))}\n`);
    expectPicture("attention-200.txt", `${attentionText(pattern(200, 200, 2), names, names, { columns: 220 })}\n`);
    expectPicture("attention-200-narrow.txt", `${attentionText(pattern(200, 200, 2), names, names, { columns: 80 })}\n`);
  });

  it("writes a shade for each weight, and nothing for a weight of zero", () => {
    const lines = attentionText(
      [
        [1, 0],
        [0.3, 0.7],
      ],
      ["a", "b"],
      ["c", "d"],
    ).split("\n");
    expect(lines.slice(0, 5)).toEqual(["   a b", "  ┌────┐", "c │██  │", "d │▓▓██│", "  └────┘"]);
  });

  it("shows the size of weights below zero in shades, and says that it does", () => {
    const lines = attentionText([[-1, 0.25]], ["a", "b"], ["c"]).split("\n");
    expect(lines[2]).toBe("c │██▒▒│");
    expect(lines[4]).toBe("0 ░▒▓█ ±1.00");
  });

  it.each([1, 5, 17, 64, 200])("fits into the terminal with %i tokens, whatever they are", (count) => {
    const names = Array.from({ length: count }, (_, i) => [...nasty, ...tokens(17)][i % 25]);
    for (const columns of [12, 40, 80, 200])
      for (const colour of [true, false]) {
        const text = attentionText(pattern(count, count, 1), names, names, { columns, colour });
        expect(widest(text)).toBeLessThanOrEqual(columns);
        expect(plain(text).replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
      }
  });

  it("keeps every row under the same columns, beside wide characters too", () => {
    const names = ["漢字", "😀", "שלום", "e\u0301"];
    const rows = plain(attentionText(pattern(4, 4, 1, "none"), names, names))
      .split("\n")
      .filter((line) => line.includes("│"));
    expect(rows).toHaveLength(4);
    for (const row of rows) expect(cellsOf(row.slice(0, row.indexOf("│")))).toBe(cellsOf(rows[0].slice(0, rows[0].indexOf("│"))));
  });

  it("refuses weights that do not fit the tokens", () => {
    expect(() => attentionText([[1]], ["a"], [])).toThrow(new DataError("Attention: 0 rows and 1 columns; there is nothing to draw"));
    expect(() => attentionText([[1, 0]], ["a"], ["b"])).toThrow(new DataError("Attention: row 0 has 2 numbers, wanted 1"));
  });
});
