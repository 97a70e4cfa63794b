import type { Chance } from "../../src/base/chance.ts";

// Damage to a text, for readers that must never crash. The same chance does the same damage.

const awkward = [
  '"',
  '""',
  "'",
  ",",
  "\t",
  "\n",
  "\r\n",
  "\r",
  "\n\n",
  "\0",
  " ",
  "\uFEFF",
  "\u2028",
  "\ud800",
  "👍",
  "é",
  "\\",
  "\\u0000",
  "\\ud800",
  "{",
  "}",
  "[",
  "]",
  ":",
  "null",
  "true",
  "1e999",
  "12345678901234567890",
  "-0",
  "__proto__",
  "label",
  "text",
  "$&",
];

type Mutation = (text: string, pick: (place: number, below: number) => number) => string;

const insert = (text: string, at: number, piece: string, instead = 0): string => text.slice(0, at) + piece + text.slice(at + instead);

const mutations: readonly Mutation[] = [
  (text, pick) => insert(text, pick(0, text.length + 1), awkward[pick(1, awkward.length)]),
  (text, pick) => insert(text, pick(0, text.length + 1), awkward[pick(1, awkward.length)], 1),
  (text, pick) => insert(text, pick(0, text.length + 1), String.fromCharCode(pick(1, 256)), 1),
  (text, pick) => insert(text, pick(0, text.length + 1), "", 1 + pick(1, 20)),
  (text, pick) => {
    const start = pick(0, text.length + 1);
    return insert(text, pick(1, text.length + 1), text.slice(start, start + pick(2, 30)));
  },
  (text, pick) => insert(text, pick(0, text.length + 1), awkward[pick(1, awkward.length)].repeat(1 + pick(2, 20_000))),
  (text, pick) => text.slice(0, pick(0, text.length + 1)),
  (text, pick) => text.slice(pick(0, text.length + 1)),
  (text, pick) => {
    const lines = text.split("\n");
    const [a, b] = [pick(0, lines.length), pick(1, lines.length)];
    [lines[a], lines[b]] = [lines[b], lines[a]];
    return lines.join("\n");
  },
  (text) => text.replaceAll("\n", "\r\n"),
];

/** One to six random mutations of a text. */
export function mutateText(text: string, chance: Chance): string {
  let result = text;
  const count = 1 + chance.integer(0, 6);
  for (let i = 1; i <= count; i++) {
    const source = chance.fork(i);
    const mutate = mutations[source.integer(0, mutations.length)];
    result = mutate(result, (place, below) => source.integer(place + 1, below));
  }
  return result;
}
