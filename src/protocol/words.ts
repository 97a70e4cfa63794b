import { ConfigError, DataError, FormatError, QkvError } from "../base/errors.ts";
import type { Words } from "../base/sentence.ts";
import type { ToldError } from "./messages.ts";

// Errors as they travel. Whoever asks over a wire names settings by the fields of his request.

/** Fields that are not called like their setting. */
const fieldOf: Readonly<Record<string, string>> = {
  tokens: "max_tokens",
  samples: "n",
  bias: "logit_bias",
  ids: "prompt",
};

/** `sampling.topP` is the field top_p. */
export function fieldName(path: string): string {
  const name = path.replace(/^(sampling|config)\./, "");
  return fieldOf[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Where what the library calls by a function is asked for. */
const routes: Readonly<Record<string, string>> = {
  generate: "POST /v1/completions",
  classify: "POST /v1/classify",
  tag: "POST /v1/tag",
  translate: "POST /v1/translate",
  embed: "POST /v1/embeddings",
  fill: "POST /v1/fill",
};

const fieldWords: Words = {
  setting: (name, value) => (value === undefined ? fieldName(name) : `${fieldName(name)}: ${[value].flat().map(quoted).join("|")}`),
  settings: (given) =>
    Object.entries(given)
      .map(([name, value]) => fieldWords.setting(name, value))
      .join(", "),
  call: (name) => routes[name] ?? `${name}, where the server runs`,
};

const quoted = (value: unknown): string => JSON.stringify(value);

/** How an error becomes what travels. */
export type Telling = (error: unknown) => ToldError;

/** Errors of what was asked; all others are faults of whoever computes. */
const asked: readonly unknown[] = [ConfigError, DataError, FormatError];

/** To whoever asks by fields. */
export const toldError: Telling = (error) =>
  told(error, ({ path, complaint, facts }) => ({
    ...(path !== undefined && { path: fieldName(path) }),
    message: `${facts.at === undefined ? "" : `${fieldName(facts.at)}: `}${complaint.in(fieldWords)}`,
  }));

/** To a program, in the library's own words. */
export const plainError: Telling = (error) => told(error, ({ path, message }) => ({ ...(path !== undefined && { path }), message }));

function told(error: unknown, words: (error: QkvError) => Pick<ToldError, "path" | "message">): ToldError {
  if (!(error instanceof QkvError))
    return { fault: "failed", code: "unexpected", message: String(error instanceof Error ? error.message : error) };
  const known = asked.includes(error.constructor);
  const { path, message } = words(error);
  return { fault: known ? "asked" : "failed", code: error.code, ...(known && path !== undefined && { path }), message };
}
