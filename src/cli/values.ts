import { InvalidArgumentError } from "commander";

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

export function share(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0 && value < 1)) throw new InvalidArgumentError("a share from 0 to below 1 is wanted.");
  return value;
}

/** Names with commas between them; several flags count together. */
export function scopes(text: string, before: readonly string[] = []): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new InvalidArgumentError("names with commas between them are wanted.");
  return [...before, ...names];
}

/** A number within bounds. */
export const between =
  (from: number, to: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === "" || !(value >= from && value <= to)) throw new InvalidArgumentError(`a number from ${from} to ${to} is wanted.`);
    return value;
  };
