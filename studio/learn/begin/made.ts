// Tables for whoever has none at hand, made here.

export interface MadeTable {
  readonly name: string;
  readonly label: string;
  readonly what: string;
  readonly file: string;
  /** What fits it better than the usual. */
  readonly settings?: Readonly<Record<string, string>>;
  text(): string;
}

export const made: readonly MadeTable[] = [
  {
    name: "backwards",
    label: "Words backwards",
    what: "whale → elahw: a translator learns to read from behind, which its attention shows as a diagonal.",
    file: "backwards.tsv",
    settings: { tokenizer: "char" },
    text: () => table(["source", "target"], rowsOf(1500, backwards)),
  },
  {
    name: "sums",
    label: "Sums",
    what: "27+15 → 42: a translator learns to carry the one.",
    file: "sums.tsv",
    settings: { tokenizer: "char" },
    text: () => table(["source", "target"], rowsOf(3000, sum)),
  },
  {
    name: "opinions",
    label: "Opinions",
    what: "Short sentences that praise or complain: a reader learns to tell them apart, and which words told it.",
    file: "opinions.csv",
    text: () => csv(["text", "label"], rowsOf(800, opinion)),
  },
  {
    name: "names",
    label: "Names and numbers",
    what: "A tag for each word: who, where, when, or nothing.",
    file: "names.tsv",
    text: () => table(["text", "tags"], rowsOf(800, tagged)),
  },
];

/** The same numbers each time: a small generator that everybody knows (Park and Miller 1988). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

type Row = readonly [string, string];
type Draw = <One>(all: readonly One[]) => One;

/** So many different rows. */
function rowsOf(count: number, one: (draw: Draw, next: () => number) => Row): readonly Row[] {
  const next = random(20_17);
  const draw: Draw = (all) => all[Math.floor(next() * all.length)];
  const rows = new Map<string, Row>();
  for (let tries = 0; rows.size < count && tries < 50 * count; tries++) {
    const row = one(draw, next);
    rows.set(row[0], row);
  }
  return [...rows.values()];
}

const syllables = [
  "wha",
  "le",
  "sea",
  "mo",
  "by",
  "ish",
  "ma",
  "el",
  "que",
  "qu",
  "ego",
  "ha",
  "ar",
  "po",
  "on",
  "de",
  "ck",
  "sa",
  "il",
  "ty",
];

function backwards(draw: Draw, next: () => number): Row {
  const word = Array.from({ length: 1 + Math.floor(next() * 3) }, () => draw(syllables)).join("");
  return [word, [...word].reverse().join("")];
}

function sum(_: Draw, next: () => number): Row {
  const [a, b] = [Math.floor(next() * 100), Math.floor(next() * 100)];
  return [`${a}+${b}`, `${a + b}`];
}

const things = ["the soup", "the film", "this book", "the room", "her song", "the service", "the second act", "the old ship", "the view"];
const praise = ["wonderful", "warm and clever", "a joy", "splendid", "moving", "the best in years", "delightful"];
const blame = ["dull", "cold and late", "a disappointment", "dreadful", "tiresome", "the worst in years", "forgettable"];
const frames = ["{thing} was {what}", "I found {thing} {what}", "{thing}, to be honest, was {what}", "everybody said {thing} was {what}"];
const turns = ["", " at first", " and I would go again", " in the end", " though it was raining"];

function opinion(draw: Draw, next: () => number): Row {
  const good = next() < 0.5;
  const not = next() < 0.2;
  const what = `${not ? "not " : ""}${draw(good ? praise : blame)}`;
  const text = draw(frames).replace("{thing}", draw(things)).replace("{what}", what) + draw(turns);
  return [text, good !== not ? "praise" : "complaint"];
}

const people = ["Ahab", "Queequeg", "Ishmael", "Starbuck", "Stubb", "Flask", "Pip", "Elijah"];
const places = ["Nantucket", "New Bedford", "London", "Lima", "Cape Horn"];
const verbs = ["sailed from", "wrote to", "left", "came back to", "dreamed of"];

function tagged(draw: Draw, next: () => number): Row {
  const year = `${1800 + Math.floor(next() * 60)}`;
  const parts: readonly (readonly [string, string])[] = [
    [draw(people), "who"],
    [draw(verbs), "none"],
    [draw(places), "where"],
    ["in", "none"],
    [year, "when"],
  ];
  const words = parts.flatMap(([text, tag]) => text.split(" ").map((word) => [word, tag] as const));
  return [words.map(([word]) => word).join(" "), words.map(([, tag]) => tag).join(" ")];
}

const table = (columns: Row, rows: readonly Row[]): string => [columns, ...rows].map((row) => row.join("\t")).join("\n");

const csv = (columns: Row, rows: readonly Row[]): string =>
  [columns, ...rows].map((row) => row.map((one) => (one.includes(",") ? `"${one}"` : one)).join(",")).join("\n");
