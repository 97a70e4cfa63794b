import { codePoints } from "./code-points.ts";
import { character, choice, empty, type Grammar, optional, repeat, sequence, text } from "./grammar.ts";
import { digit } from "./json-grammar.ts";

// Numbers between bounds, digit by digit.

/** So many digits after the point, if there are numbers of so many; a model that is unsure would go on with more. */
const usualDigits = 15;
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
  if (from === "") return empty;
  const [low, high] = [Number(from[0]), Number(to[0])];
  const left = from.length - 1;
  const [any, none] = [nines(left), "0".repeat(left)];
  const free = left === 0 ? empty : repeat(digit, left, left);
  if (from.slice(1) === none && to.slice(1) === any) return sequence(digits(low, high), free);
  if (low === high) return sequence(digits(low, low), sameLength(from.slice(1), to.slice(1)));
  return choice(
    sequence(digits(low, low), sameLength(from.slice(1), any)),
    ...(low + 1 < high ? [sequence(digits(low + 1, high - 1), free)] : []),
    sequence(digits(high, high), sameLength(none, to.slice(1))),
  );
}

/** The number next to another: all that is above 3, say, is this and more. */
export function beside(value: number, side: "above" | "below"): number {
  if (value === 0) return side === "above" ? Number.MIN_VALUE : -Number.MIN_VALUE;
  const bits = new BigInt64Array(Float64Array.of(value).buffer);
  bits[0] += value > 0 === (side === "above") ? 1n : -1n;
  return new Float64Array(bits.buffer)[0];
}

/**
 * Numbers between two, both included and below 1e15, without exponents. What is written is compared with the bounds digit by digit, as
 * they are written themselves: to read is to round, which never changes an order, so what is read is between them too.
 */
export function numbersBetween(low: number, high: number): Grammar {
  const usual = signed(low, high, usualDigits);
  const needed = Math.max(decimal(low).part.length, decimal(high).part.length);
  return choice(...(usual.length > 0 ? usual : signed(low, high, needed)));
}

function signed(low: number, high: number, room: number): Grammar[] {
  // -0 is 0; what is below it is enough here.
  const below = low < 0 ? positives(Math.max(-high, Number.MIN_VALUE), -low, room) : [];
  return [...before("-", below), ...(high >= 0 ? positives(Math.max(low, 0), high, room) : [])];
}

const before = (beginning: string, ways: readonly Grammar[]): Grammar[] =>
  ways.length > 0 ? [sequence(text(beginning), choice(...ways))] : [];

function positives(low: number, high: number, room: number): Grammar[] {
  const [from, to] = [decimal(low), decimal(high)];
  const [least, most] = [Number(from.whole), Number(to.whole)];
  if (least === most) return before(from.whole, fraction(from.part, to.part, room));
  const anything = optional(sequence(text("."), repeat(digit, 1, room)));
  return [
    ...before(from.whole, fraction(from.part, undefined, room)),
    ...(least + 1 < most ? [sequence(naturals(least + 1, most - 1), anything)] : []),
    ...before(to.whole, fraction("", to.part, room)),
  ];
}

/** The digits before and after the point, without a sign; those of 1.5e-7 are 0 and 00000015. */
function decimal(value: number): { readonly whole: string; readonly part: string } {
  const [digits, exponent = "0"] = String(Math.abs(value)).split("e");
  const [whole, part = ""] = digits.split(".");
  const moved = -Number(exponent); // there are no large ones
  return moved === 0 ? { whole, part } : { whole: "0", part: "0".repeat(moved - 1) + whole + part };
}

/** What may stand after the whole part: nothing, or a point and digits, from one bound to the other. No upper one means all of them. */
function fraction(low: string, high: string | undefined, room: number): Grammar[] {
  return [...(low === "" ? [empty] : []), ...before(".", after(low, high, room))];
}

/** One digit or more between two rows of digits, which go on in zeros; nothing if there are none. */
function after(low: string, high: string | undefined, room: number): Grammar[] {
  if (room === 0) return [];
  const ways: Grammar[] = [];
  const [from, to] = [Number(low[0] ?? 0), high === undefined ? 9 : Number(high[0] ?? 0)];
  const lowest = low === "" ? from : from + 1; // from here on, the lower bound says nothing more
  const highest = high === undefined ? to : to - 1;
  for (const value of new Set([...(lowest > from ? [from] : []), ...(highest < to ? [to] : [])])) {
    const below = value < lowest ? low.slice(1) : "";
    const above = value > highest ? (high ?? "").slice(1) : undefined;
    const rest = [...(below === "" ? [empty] : []), ...after(below, above, room - 1)];
    if (rest.length > 0) ways.push(sequence(digits(value, value), choice(...rest)));
  }
  if (lowest <= highest) ways.push(sequence(digits(lowest, highest), repeat(digit, 0, room - 1)));
  return ways;
}
