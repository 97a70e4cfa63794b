// Small data: enough to train on for a moment, or to learn something from in a few seconds.

const numbered = (count: number, line: (i: number) => string): string => Array.from({ length: count }, (_, i) => `${line(i)}\n`).join("");

export const rhyme = numbered(60, (i) => `the cat sat on the mat, line ${i}`);

export const moods = `text\tlabel\n${numbered(40, (i) => `i am ${i % 2 ? "happy" : "sad"} today ${i}\t${i % 2 ? "good" : "bad"}`)}`;

export const words = `text\ttags\n${numbered(40, (i) => `the dog ${i} barks\tD N M V`)}`;

export const pairs = `source\ttarget\n${numbered(40, (i) => `number ${i}\tzahl ${i}`)}`;

const who = ["my brother", "the teacher", "our neighbour", "that pilot", "his aunt", "the old king"];
const when = ["today", "this morning", "after lunch", "all week", "in the rain"];
const feelings = {
  happy: ["glad", "cheerful", "delighted", "merry"],
  sad: ["gloomy", "tearful", "miserable", "downcast"],
};

/** 240 sentences of two kinds, told apart by one word. */
export const sentences: readonly { readonly text: string; readonly label: string }[] = Object.entries(feelings).flatMap(
  ([label, adjectives]) =>
    adjectives.flatMap((adjective) => who.flatMap((person) => when.map((time) => ({ text: `${person} was ${adjective} ${time}`, label })))),
);

const nouns = ["dog", "cat", "bird", "child", "queen", "robot"];
const verbs = ["sees", "likes", "finds", "hears"];
const qualities = ["small", "red", "quiet", "brave"];

/** Determiner, adjective, noun, verb, determiner, noun. */
export const tagged: readonly { readonly text: string; readonly tags: string }[] = nouns.flatMap((subject) =>
  verbs.flatMap((verb) =>
    qualities.flatMap((quality) =>
      nouns.slice(0, 3).map((object) => ({ text: `the ${quality} ${subject} ${verb} a ${object}`, tags: "D A N V D N" })),
    ),
  ),
);

const units = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

/** Three number words, and the digits that they stand for: 729 pairs. */
export const spoken: readonly { readonly source: string; readonly target: string }[] = units.flatMap((a, i) =>
  units.flatMap((b, j) => units.map((c, k) => ({ source: `${a} ${b} ${c}`, target: `${i + 1}${j + 1}${k + 1}` }))),
);

type Row = Readonly<Record<string, string>>;

/** Every seventh row is kept back, so that both parts hold all words. */
export const heldOut = (rows: readonly Row[]): { readonly train: readonly Row[]; readonly test: readonly Row[] } => ({
  train: rows.filter((_, i) => i % 7 !== 3),
  test: rows.filter((_, i) => i % 7 === 3),
});

export const asTsv = (rows: readonly Row[]): string =>
  [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))].map((fields) => `${fields.join("\t")}\n`).join("");
export const asCsv = (rows: readonly Row[], end = "\n"): string =>
  [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))].map((fields) => `${fields.join(",")}${end}`).join("");
export const asJsonl = (rows: readonly Row[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
