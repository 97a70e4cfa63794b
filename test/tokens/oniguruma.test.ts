import fc from "fast-check";
import { Tokenizer as Native } from "tokenizers";
import { expect, it } from "vitest";
import { translated } from "../../src/tokens/oniguruma.ts";
import { foreignFiles } from "./foreign-files.ts";
import { unicodeText } from "./oracles.ts";

// A regular expression of a file must find in JavaScript what Oniguruma finds in the `tokenizers` package.

const patterns = [
  "\\p{N}{1,3}",
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
  "[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\s++",
  " {2,}|a{2}|\\d+?x|\\D\\.?",
  "(a|aa)(?!b)|(?=c)cc*|x.y",
  "[\\-a-f\\]]+|[^\\S\\n]+",
  "\\p{Han}+|\\p{Lu}\\P{L}",
  "'(?i:[sdmt]|ll|ve|re)",
  "1{1,2}+",
];

it.each(patterns)("finds the same: %s", async (pattern) => {
  const split = { type: "Split", pattern: { Regex: pattern }, behavior: "Removed", invert: true };
  const model = { type: "WordLevel", vocab: { "?": 0 }, unk_token: "?" };
  const native = Native.fromString(JSON.stringify({ ...foreignFiles.words, added_tokens: [], pre_tokenizer: split, model }));
  const bits = fc.constantFrom(
    "'S",
    "'ſ",
    "'Ll",
    "aa",
    "aab",
    "cc",
    "x\ny",
    "xzy",
    "11111",
    "12x",
    "]-f",
    "猫",
    "É1",
    "  ",
    "   ",
    "\n",
    "\t",
  );
  const text = fc.array(fc.oneof(bits, unicodeText), { maxLength: 6 }).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(text, async (given) => {
      const found = (await native.encode(given, null, { addSpecialTokens: false })).getOffsets();
      const units = Array.from(given);
      expect(given.match(translated(pattern)) ?? []).toEqual(found.map(([from, to]) => units.slice(from, to).join("")));
    }),
    { numRuns: 200 },
  );
});

it.each([
  "^a",
  "a$",
  "(?<=a)b",
  "\\bx",
  "[[:alpha:]]",
  "[a&&b]",
  "(a)\\1",
  "a{3,1}",
  "(",
  "a)",
  "\\p{Foo}",
  "[z-a]",
  "\\u{61}",
  "*",
  "(?i)x",
])("leaves %s alone", (pattern) => {
  expect(() => translated(pattern)).toThrow(`its regular expression ${JSON.stringify(pattern)} is of no known sort`);
});
