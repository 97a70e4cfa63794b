import { ConfigError, DataError } from "../base/errors.ts";
import { textChunks } from "../text/utf8.ts";

/** Where texts come from: the arguments, or else the lines of standard input. */
export interface GivenTexts {
  /** What one of them is called. */
  readonly unit: "text" | "line";
  readonly texts: Iterable<string> | AsyncIterable<string>;
}

export function givenTexts(texts: readonly string[], input: NodeJS.ReadStream): GivenTexts {
  if (texts.length > 0) return { unit: "text", texts };
  if (input.isTTY) throw new ConfigError("no text was given; write it after the run folder, or let the command read lines: … < lines.txt");
  return { unit: "line", texts: inputLines(input) };
}

async function* inputLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let any = false;
  for await (const line of lines(textChunks(input, "standard input"))) {
    any = true;
    yield line;
  }
  if (!any) throw new DataError("standard input: nothing came; write a text after the run folder, or give lines to read");
}

/** Lines without their ends; what follows the last end is a line if there is something. */
async function* lines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of chunks) {
    const found = (rest + chunk).split("\n");
    rest = found.pop() ?? "";
    for (const line of found) yield line.endsWith("\r") ? line.slice(0, -1) : line;
  }
  if (rest !== "") yield rest;
}
