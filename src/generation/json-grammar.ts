import { type CodePoints, codePoints, common, everyCodePoint, hasCodePoint, without } from "./code-points.ts";
import { character, choice, empty, type Grammar, later, optional, repeat, sequence, text } from "./grammar.ts";

// JSON as it is written here: on one line, with at most one space after a comma and a colon. All of JSON can be said so, and a model
// that is unsure cannot write blanks without end.

export const digit = character(codePoints(["0", "9"].map((one) => one.charCodeAt(0)) as [number, number]));
const ordinal = character(codePoints([0x31, 0x39]));
const space = optional(text(" "));
export const comma = sequence(text(","), space);
export const colon = sequence(text(":"), space);

/** The characters that stand in a string as they are. */
export const plainCharacters: CodePoints = without(everyCodePoint, codePoints([0, 0x1f], '"\\'));
export const plainCharacter = character(plainCharacters);

/** The characters that have an escape of their own, and its letter. */
const escapes: Readonly<Record<string, string>> = { '"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t" };

/** One character of a string that is one of these when the string is read. */
export function stringCharacter(of: CodePoints): Grammar {
  const letters = Object.entries(escapes).flatMap(([one, letter]) => (hasCodePoint(of, one.charCodeAt(0)) ? [letter] : []));
  const plain = common(of, plainCharacters);
  const ways = [
    ...(plain.length > 0 ? [character(plain)] : []),
    ...(letters.length > 0 ? [sequence(text("\\"), character(codePoints(...letters)))] : []),
  ];
  return choice(...ways);
}

const hex = character(codePoints("0123456789abcdefABCDEF"));
/** No half of a character: both halves would have to follow each other. */
const code = choice(
  sequence(character(codePoints("0123456789abcefABCEF")), repeat(hex, 3, 3)),
  sequence(character(codePoints("dD")), character(codePoints("01234567")), repeat(hex, 2, 2)),
);
const anyCharacter = choice(plainCharacter, sequence(text("\\"), choice(character(codePoints('"\\/bfnrt')), sequence(text("u"), code))));

export const quoted = (content: Grammar): Grammar => sequence(text('"'), content, text('"'));
export const anyString = quoted(repeat(anyCharacter, 0, Number.POSITIVE_INFINITY));

/** A string of so many characters, as a schema counts them. */
export const stringOfLength = (least: number, most: number): Grammar => quoted(repeat(stringCharacter(everyCodePoint), least, most));

/** Sixteen digits are as many as a number keeps; more would only be read as another number. */
const fewDigits = repeat(digit, 0, 15);
export const anyInteger = choice(text("0"), sequence(optional(text("-")), ordinal, fewDigits));
const exponent = sequence(character(codePoints("eE")), optional(character(codePoints("+-"))), repeat(digit, 1, 2));
export const anyNumber = sequence(
  optional(text("-")),
  choice(text("0"), sequence(ordinal, fewDigits)),
  optional(sequence(text("."), repeat(digit, 1, 16))),
  optional(exponent),
);
export const anyBoolean = choice(text("true"), text("false"));
export const nothing = text("null");

/** Items with commas between them; `least` is 0 or more. */
export function listOf(item: Grammar, least: number, most: number): Grammar {
  if (most === 0) return empty;
  const some = sequence(item, repeat(sequence(comma, item), Math.max(0, least - 1), most - 1));
  return least === 0 ? optional(some) : some;
}

/** Deeper than this nobody reads; without a bound, a model that is unsure would open brackets until its room is full. */
const deepest = 16;

const valuesAtDepth: Grammar[] = [];
const objectsAtDepth: Grammar[] = [];

function valueAt(depth: number): Grammar {
  const inner = () => later(() => valueAt(depth + 1));
  valuesAtDepth[depth] ??= choice(
    anyString,
    anyNumber,
    anyBoolean,
    nothing,
    ...(depth < deepest ? [objectAt(depth), sequence(text("["), listOf(inner(), 0, Number.POSITIVE_INFINITY), text("]"))] : []),
  );
  return valuesAtDepth[depth];
}

function objectAt(depth: number): Grammar {
  objectsAtDepth[depth] ??= sequence(
    text("{"),
    listOf(
      sequence(
        anyString,
        colon,
        later(() => valueAt(depth + 1)),
      ),
      0,
      Number.POSITIVE_INFINITY,
    ),
    text("}"),
  );
  return objectsAtDepth[depth];
}

export const anyValue = valueAt(0);
export const anyObject = objectAt(0);

/** A whole answer. A space may come first: many vocabularies write the first word of a text with one. */
export const answer = (value: Grammar): Grammar => sequence(space, value);

/** One of these values. */
export function oneOf(values: readonly unknown[]): Grammar {
  const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null;
  const texts = new Set(values.filter(isPlain).map((value) => JSON.stringify(value)));
  return choice(...oneText([...texts]), ...values.filter((value) => !isPlain(value)).map(exactly));
}

/** One of these texts. What they begin with alike is written once, so that few of them are gone on with at a time. */
function oneText(texts: readonly string[]): Grammar[] {
  const alike = new Map<string, string[]>();
  for (const one of texts) {
    const [first = ""] = one;
    const group = alike.get(first) ?? [];
    group.push(one);
    alike.set(first, group);
  }
  return [...alike.values()].map((group) => {
    const beginning = group.reduce(sharedText);
    if (group.length === 1) return text(beginning);
    return sequence(text(beginning), choice(...oneText(group.map((one) => one.slice(beginning.length)))));
  });
}

/** What two texts begin with, in whole characters. */
function sharedText(a: string, b: string): string {
  const [own, other] = [Array.from(a), Array.from(b)];
  const at = own.findIndex((one, i) => one !== other[i]);
  return at < 0 ? a : own.slice(0, at).join("");
}

/** A given value, as it is written without choice. */
function exactly(value: unknown): Grammar {
  if (Array.isArray(value)) return sequence(text("["), ...between(value.map(exactly)), text("]"));
  if (typeof value === "object" && value !== null) {
    const pairs = Object.entries(value).map(([key, inner]) => sequence(text(JSON.stringify(key)), colon, exactly(inner)));
    return sequence(text("{"), ...between(pairs), text("}"));
  }
  return text(JSON.stringify(value));
}

const between = (parts: readonly Grammar[]): Grammar[] => parts.flatMap((part, i) => (i === 0 ? [part] : [comma, part]));

/** A name, in quotes, that is none of these. It is written without escapes, which could spell one of them. */
export function otherName(names: readonly string[]): Grammar {
  const rest = repeat(plainCharacter, 0, Number.POSITIVE_INFINITY);
  const after = (left: readonly string[]): Grammar => {
    const firsts = [...new Set(left.flatMap((name) => Array.from(name).slice(0, 1)))].filter(
      (first) => common(codePoints(first), plainCharacters).length > 0,
    );
    const other = character(without(plainCharacters, codePoints(...firsts)));
    const ways = firsts.map((first) =>
      sequence(text(first), after(left.filter((name) => name.startsWith(first)).map((name) => name.slice(first.length)))),
    );
    const on = choice(sequence(other, rest), ...ways);
    return left.includes("") ? on : optional(on);
  };
  return quoted(after(names));
}
