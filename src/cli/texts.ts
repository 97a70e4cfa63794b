import { ConfigError, DataError } from "../base/errors.ts";
import type { Texts } from "../evaluation/predict.ts";
import { textChunks } from "../text/utf8.ts";
import { type FileFlags, refusePaths } from "./files.ts";

/** Where texts come from: the arguments, or else the lines of standard input. */
export interface GivenTexts {
  /** What one of them is called. */
  readonly unit: "text" | "line";
  readonly texts: Texts;
}

export function givenTexts(texts: readonly string[], input: NodeJS.ReadStream, flags: FileFlags = {}): GivenTexts {
  refusePaths(texts, flags);
  if (texts.length > 0) return { unit: "text", texts };
  if (input.isTTY) throw new ConfigError("no text was given; write it after the run folder, or let the command read lines: … < lines.txt");
  return { unit: "line", texts: someLines(input) };
}

async function* someLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let any = false;
  for await (const line of inputLines(input)) {
    any = true;
    yield line;
  }
  if (!any) throw new DataError("standard input: nothing came; write a text after the run folder, or give lines to read");
}

/** Lines without their ends; what follows the last end is a line if there is something. */
export async function* inputLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of textChunks(input, "standard input")) {
    const found = (rest + chunk).split("\n");
    rest = found.pop() ?? "";
    for (const line of found) yield line.endsWith("\r") ? line.slice(0, -1) : line;
  }
  if (rest !== "") yield rest;
}

/**
 * Answers in the order of the texts, where some have nothing in them: these get no answer but an empty row, and the others are answered as
 * if they stood alone.
 */
export async function* aroundEmpty<Answer, Empty>(
  texts: Texts,
  isEmpty: (text: string) => boolean,
  answers: (texts: AsyncIterable<string>) => AsyncIterable<Answer>,
  empty: (text: string) => Empty,
): AsyncGenerator<Answer | Empty> {
  const waiting: { readonly text: string; readonly empty: boolean }[] = []; // what was read and not yet given
  async function* others(): AsyncGenerator<string> {
    for await (const text of texts) {
      waiting.push({ text, empty: isEmpty(text) });
      if (!isEmpty(text)) yield text;
    }
  }
  function* emptyOnes(): Generator<Empty> {
    while (waiting[0]?.empty) yield empty((waiting.shift() as { text: string }).text);
  }
  for await (const answer of answers(others())) {
    yield* emptyOnes();
    waiting.shift();
    yield answer;
  }
  yield* emptyOnes();
}
