import { codePoints } from "./code-points.ts";
import { character, choice, type Grammar, optional, repeat, sequence, text } from "./grammar.ts";
import { digit } from "./json-grammar.ts";

// Numbers between bounds, digit by digit.

/** So many digits make different numbers different; with more, one beside a bound that is excluded could be read as the bound. */
const mostDigits = 15;
const digits = (low: number, high: number): Grammar => character(codePoints([48 + low, 48 + high]));
const nines = (count: number): string => "9".repeat(count);
const first = (count: number): string => (count === 1 ? "0" : `1${"0".repeat(count - 1)}`);

/** Whole numbers between two, both included. Bounds are whole, and no larger than 15 digits. */
export function integersBetween(low: number, high: number): Grammar {
  const ways: Grammar[] = [];
  if (low < 0) ways.push(sequence(text("-"), naturals(Math.max(1, -high), -low)));
  if (high >= 0) ways.push(naturals(Math.max(0, low), high));
  return choice(...ways);
}

function naturals(low: number, high: number): Grammar {
  const [from, to] = [String(low), String(high)];
  const ways: Grammar[] = [];
  for (let count = from.length; count <= to.length; count++)
    ways.push(sameLength(count === from.length ? from : first(count), count === to.length ? to : nines(count)));
  return choice(...ways);
}

/** Numbers of as many digits as both bounds have. */
function sameLength(from: string, to: string): Grammar {
  if (from === "") return text("");
  const [low, high] = [Number(from[0]), Number(to[0])];
  const left = from.length - 1;
  const [any, none] = [nines(left), "0".repeat(left)];
  const free = left === 0 ? text("") : repeat(digit, left, left);
  if (from.slice(1) === none && to.slice(1) === any) return sequence(digits(low, high), free);
  if (low === high) return sequence(digits(low, low), sameLength(from.slice(1), to.slice(1)));
  return choice(
    sequence(digits(low, low), sameLength(from.slice(1), any)),
    ...(low + 1 < high ? [sequence(digits(low + 1, high - 1), free)] : []),
    sequence(digits(high, high), sameLength(none, to.slice(1))),
  );
}

/** A bound of numbers with a point: exact in decimals, so that what is written can be compared digit by digit. */
export interface Bound {
  readonly value: number;
  readonly included: boolean;
}

/** Numbers between two, without exponents and with at most 15 digits on either side of the point. */
export function numbersBetween(low: Bound, high: Bound): Grammar {
  const ways: Grammar[] = [];
  const zero: Bound = { value: 0, included: true };
  if (low.value < 0) {
    // -0 is 0; what is below it is enough here.
    const upper = high.value < 0 ? { ...high, value: -high.value } : { value: 0, included: false };
    ways.push(sequence(text("-"), positives(upper, { ...low, value: -low.value })));
  }
  if (high.value > 0 || (high.value === 0 && high.included)) ways.push(positives(low.value < 0 ? zero : low, high));
  return choice(...ways);
}

function positives(low: Bound, high: Bound): Grammar {
  const [from, to] = [decimal(low.value), decimal(high.value)];
  const [least, most] = [Number(from.whole), Number(to.whole)];
  const excluded = [...(low.included ? [] : [from]), ...(high.included ? [] : [to])];
  const room = Math.max(
    1,
    mostDigits - Math.max(0, ...excluded.map(({ whole }) => whole.length)),
    ...excluded.map(({ part }) => part.length + 1),
  );
  if (least === most) return sequence(text(from.whole), fraction(from.part, low.included, to.part, high.included, room));
  const anything = optional(sequence(text("."), repeat(digit, 1, room)));
  return choice(
    sequence(text(from.whole), fraction(from.part, low.included, undefined, true, room)),
    ...(least + 1 <= most - 1 ? [sequence(naturals(least + 1, most - 1), anything)] : []),
    sequence(text(to.whole), fraction("", true, to.part, high.included, room)),
  );
}

const decimal = (value: number): { whole: string; part: string } => {
  const plain = String(value);
  const [whole, part = ""] = (plain.includes("e") ? value.toFixed(mostDigits) : plain).split(".");
  return { whole, part: part.replace(/0+$/, "") };
};

/** What may stand after the whole part: nothing, or a point and digits, from one bound to the other. No upper one means all of them. */
function fraction(low: string, lowIn: boolean, high: string | undefined, highIn: boolean, room: number): Grammar {
  const tail = after(low, lowIn, high, highIn, room);
  const bare = low === "" && lowIn && (high === undefined || high !== "" || highIn);
  const pointed = tail && sequence(text("."), tail);
  return choice(...(bare ? [text("")] : []), ...(pointed ? [pointed] : []));
}

/** One digit or more between two rows of digits, which go on in zeros; nothing if there are none. */
function after(low: string, lowIn: boolean, high: string | undefined, highIn: boolean, room: number): Grammar | undefined {
  if (room === 0) return undefined;
  const ways: Grammar[] = [];
  const [from, to] = [Number(low[0] ?? 0), high === undefined ? 9 : Number(high[0] ?? 0)];
  const lowest = low === "" && lowIn ? from : from + 1; // from here on, the lower bound says nothing more
  const highest = high === undefined ? to : to - 1;
  const edges = [...(lowest > from ? [from] : []), ...(highest < to ? [to] : [])].filter((value) => value >= from && value <= to);
  for (const value of new Set(edges)) {
    const [atLow, atHigh] = [value < lowest, value > highest];
    const [below, above] = [atLow ? low.slice(1) : "", atHigh ? (high ?? "").slice(1) : undefined];
    const ended = (!atLow || (below === "" && lowIn)) && (!atHigh || above !== "" || highIn);
    const more = after(below, !atLow || lowIn, above, highIn, room - 1);
    const rest = [...(ended ? [text("")] : []), ...(more ? [more] : [])];
    if (rest.length > 0) ways.push(sequence(digits(value, value), choice(...rest)));
  }
  if (lowest <= highest) ways.push(sequence(digits(lowest, highest), repeat(digit, 0, room - 1)));
  return ways.length > 0 ? choice(...ways) : undefined;
}
