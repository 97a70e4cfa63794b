import * as z from "zod";
import type { ErrorCode } from "../base/errors.ts";

// Numbers with bounds, which say what was wanted and what was found.

/** Only whole numbers have groups: a broken one is told as it is, and not rounded to a value that would do. */
const grouped = (value: number): string => (Number.isInteger(value) && Math.abs(value) < 1e15 ? value.toLocaleString("en") : `${value}`);

/** What zod says of anything else. It is written when it is said: to write a first number in groups takes 20 ms. */
const wanted = (what: () => string) => ({
  error: ({ input }: { readonly input?: unknown }): string =>
    `${what()} is wanted, not ${typeof input === "number" ? grouped(input) : input === undefined ? "nothing" : `a ${typeof input}`}`,
});

export function whole(from: number, to: number): z.ZodNumber {
  const sentence = wanted(() => `a whole number from ${grouped(from)} to ${grouped(to)}`);
  return z.number(sentence).int(sentence).min(from, sentence).max(to, sentence);
}

export function between(from: number, to: number, last: "included" | "below" = "included"): z.ZodNumber {
  const sentence = wanted(() => `a number from ${grouped(from)} to ${last === "below" ? "below " : ""}${grouped(to)}`);
  const atLeast = z.number(sentence).min(from, sentence);
  return last === "below" ? atLeast.lt(to, sentence) : atLeast.max(to, sentence);
}

export function positive(to: number): z.ZodNumber {
  const sentence = wanted(() => `a number above 0, up to ${grouped(to)}`);
  return z.number(sentence).gt(0, sentence).max(to, sentence);
}

const codes: Readonly<Partial<Record<z.core.$ZodIssue["code"], ErrorCode>>> = {
  unrecognized_keys: "config.unknown-key",
  invalid_type: "config.type",
  invalid_value: "config.choice",
  too_small: "config.range",
  too_big: "config.range",
};

/** What a program is told of an issue. */
export const codeOf = ({ code }: z.core.$ZodIssue): ErrorCode => codes[code] ?? "config";
