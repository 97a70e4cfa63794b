import { AskError } from "../protocol/asking.ts";
import type { GivenPrompt } from "../protocol/messages.ts";

// What a call of a page is given is checked where it is given: types are gone there, and a worker would answer with a sentence of its engine, or never.

/** What was given is not what is wanted. */
export const unwanted = (path: string, message: string): AskError => new AskError({ fault: "asked", code: "config.type", path, message });

export function wantedText(path: string, given: unknown): string {
  if (typeof given === "string") return given;
  throw unwanted(path, `${path}: a text is wanted, not ${shown(given)}`);
}

export function wantedTexts(path: string, given: unknown): readonly string[] {
  if (Array.isArray(given) && given.every((one) => typeof one === "string")) return given;
  throw unwanted(path, `${path}: a list of texts is wanted, such as ["…"], not ${shown(given)}`);
}

const isPrompt = (given: unknown): given is GivenPrompt =>
  typeof given === "string" ||
  (Array.isArray(given) && given.every((one) => typeof one === "number" || (typeof one === "object" && one !== null)));

export function wantedPrompt(given: unknown): GivenPrompt {
  if (isPrompt(given)) return given;
  throw unwanted("prompt", `prompt: a text, token ids or the messages of a conversation are wanted, not ${shown(given)}`);
}

export function wantedPrompts(given: unknown): readonly GivenPrompt[] {
  if (Array.isArray(given) && given.every(isPrompt)) return given;
  throw unwanted("prompts", `prompts: a list of texts is wanted, such as ["…"], not ${shown(given)}`);
}

/** The most texts of one call. */
const mostTexts = 1024;

/** How many texts are wanted of each prompt. */
export function wantedCount(path: string, given: unknown, prompts = 1): number {
  const most = Math.max(1, Math.floor(mostTexts / Math.max(1, prompts)));
  if (Number.isInteger(given) && (given as number) >= 1 && (given as number) <= most) return given as number;
  throw unwanted(path, `${path}: a whole number from 1 to ${most} is wanted, not ${shown(given)}`);
}

export function wantedInteger(path: string, given: unknown): number {
  if (Number.isSafeInteger(given)) return given as number;
  throw unwanted(path, `${path}: a whole number is wanted, not ${shown(given)}`);
}

/** As a sentence names it. */
export function shown(given: unknown): string {
  if (typeof given === "number" || typeof given === "boolean" || given === null || given === undefined) return String(given);
  if (Array.isArray(given)) return "a list of something else";
  return typeof given === "string" ? "a text alone" : typeof given === "function" ? "a function" : "an object";
}
