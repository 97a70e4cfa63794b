import { InvalidArgumentError } from "commander";
import type { ClassWeights } from "../runs/class-weights.ts";

// Values of flags: a wrong one is a sentence that says what was wanted.

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError("a whole number from 1 on is wanted.");
  return value;
}

export function countFromZero(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError("a whole number from 0 on is wanted.");
  return value;
}

export function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw new InvalidArgumentError("a number from 0 on is wanted.");
  return value;
}

export function aboveZero(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value <= 0) throw new InvalidArgumentError("a number above 0 is wanted.");
  return value;
}

export function share(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0 && value < 1)) throw new InvalidArgumentError("a share from 0 to below 1 is wanted.");
  return value;
}

/** Several values with commas between them. */
export const listOf =
  <Value>(parse: (text: string) => Value) =>
  (text: string): Value[] =>
    text.split(",").map((one) => parse(one));

/** Names with commas between them; several flags count together. */
export function scopes(text: string, before: readonly string[] = []): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new InvalidArgumentError("names with commas between them are wanted.");
  return [...before, ...names];
}

/** One more of several. */
export const several = (text: string, before: readonly string[] = []): string[] => [...before, text];

const units: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, g: 1e9, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30 };

/** `6GB`, `512MiB`, or a number of bytes. */
export function bytes(text: string): number {
  const [, number = "", unit = "?"] = /^(\d+(?:\.\d+)?) *([kmg]?i?)b?$/i.exec(text.trim()) ?? [];
  const value = Number(number) * (units[unit.toLowerCase()] ?? Number.NaN);
  if (!(value > 0)) throw new InvalidArgumentError("a size such as 6GB or 512MiB is wanted.");
  return Math.round(value);
}

/** A number within bounds. */
export const between =
  (from: number, to: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === "" || !(value >= from && value <= to)) throw new InvalidArgumentError(`a number from ${from} to ${to} is wanted.`);
    return value;
  };

/** `balanced`, `none`, or a weight for some labels: `urgent=5,spam=0.5`. */
export function classWeights(text: string): ClassWeights {
  if (text === "balanced" || text === "none") return text;
  const pairs = text.split(",").map((pair) => {
    const [label, weight] = [pair.slice(0, pair.lastIndexOf("=")), Number(pair.slice(pair.lastIndexOf("=") + 1) || "?")];
    if (label === "" || !(weight > 0))
      throw new InvalidArgumentError("balanced, none, or labels with weights above 0 are wanted, such as urgent=5,spam=0.5.");
    return [label, weight] as const;
  });
  return Object.fromEntries(pairs);
}
