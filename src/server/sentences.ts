import type * as z from "zod";

// What is said of a field that no sentence of its own was written for.

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

function found(input: unknown): string {
  if (input === undefined) return "nothing";
  if (input === null || typeof input === "boolean") return `${input}`;
  return Array.isArray(input) ? "a list" : (kinds[typeof input] ?? typeof input);
}

const or = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(" or ");
const number = (value: number | bigint): string => value.toLocaleString("en");

/** For zod, which asks it where a schema has nothing to say. */
export function wantedSentence(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  const length = typeof input === "string" ? "characters" : "items";
  switch (issue.code) {
    case "invalid_type":
      return `${kinds[issue.expected] ?? issue.expected} is wanted, not ${found(input)}`;
    case "invalid_value":
      return `${or(issue.values)} is wanted, not ${typeof input === "string" ? JSON.stringify(input.slice(0, 40)) : found(input)}`;
    case "too_small":
      return `at least ${number(issue.minimum)} ${length} are wanted`;
    case "too_big":
      return `at most ${number(issue.maximum)} ${length} are wanted`;
    case "invalid_key":
      return issue.issues[0]?.message;
    case "invalid_union":
      return "options" in issue && Array.isArray(issue.options) ? `${or(issue.options)} is wanted` : undefined;
    default:
      return undefined;
  }
}
