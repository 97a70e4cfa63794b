import type { Warn } from "../trained/reading.ts";

/** What was said already, without its numbers. */
const said = new Set<string>();

/**
 * Warnings of this process, which Node prints and a program can listen to (`process.on("warning", …)`). A sentence that differs from one
 * before it only in its numbers is not said again: a server would say it with every request.
 */
export const processWarning =
  (name?: string): Warn =>
  (sentence) => {
    const whole = name === undefined ? sentence : `${name}: ${sentence}`;
    const kind = whole.replace(/\d[\d,.]*/g, "#");
    if (said.has(kind)) return;
    said.add(kind);
    process.emitWarning(whole, "QkvWarning");
  };
