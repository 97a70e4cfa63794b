import { createHash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import { DataError } from "../base/errors.ts";
import { readBytes } from "../disk/text-files.ts";
import { textChunks } from "../text/utf8.ts";

// Text of any length, as stretches of files that are read piece by piece.

/** A stretch of a file, in bytes; it never cuts a character. */
export interface FilePart {
  readonly file: string;
  readonly begin: number;
  readonly end: number;
}

/** Text in a file, or text that a recipe made. */
export type TextPart = FilePart | { readonly text: string };

const length = (part: TextPart): number => ("text" in part ? Buffer.byteLength(part.text) : part.end - part.begin);

export const bytesOf = (parts: readonly TextPart[]): number => parts.reduce((total, part) => total + length(part), 0);

/** Reads all of it once: whether it is UTF-8, how long it is, and its hash. */
export async function inspectTexts(files: readonly string[]): Promise<{ parts: FilePart[]; sha256: string }> {
  const hash = createHash("sha256");
  const parts: FilePart[] = [];
  for (const file of files) {
    let end = 0;
    const hashed = async function* () {
      for await (const chunk of readBytes(file)) {
        hash.update(chunk);
        end += chunk.length;
        yield chunk;
      }
    };
    for await (const piece of textChunks(hashed(), file)) void piece;
    if (end === 0) throw new DataError(`${file}: the file is empty; give it some text to learn from`);
    hash.update(`;${end};`);
    parts.push({ file, begin: 0, end });
  }
  return { parts, sha256: hash.digest("hex") };
}

/** The last share of the text is for validation; the rest is trained on. */
export function splitTexts(parts: readonly FilePart[], fraction: number): { train: FilePart[]; valid: FilePart[] } {
  let left = bytesOf(parts) - Math.floor(bytesOf(parts) * fraction);
  const [train, valid]: [FilePart[], FilePart[]] = [[], []];
  for (const part of parts) {
    const bytes = length(part);
    const cut = left >= bytes ? part.end : Math.min(part.end, characterStart(part.file, part.begin + Math.max(0, left)));
    if (cut > part.begin) train.push({ ...part, end: cut });
    if (cut < part.end) valid.push({ ...part, begin: cut });
    left -= bytes;
  }
  return { train, valid };
}

/** The first place from `at` on where a character begins. */
function characterStart(file: string, at: number): number {
  const descriptor = openSync(file, "r");
  try {
    const bytes = new Uint8Array(4);
    const count = readSync(descriptor, bytes, 0, 4, at);
    const start = bytes.subarray(0, count).findIndex((byte) => (byte & 0xc0) !== 0x80);
    return at + (start < 0 ? count : start);
  } finally {
    closeSync(descriptor);
  }
}

/** The text of a part, in pieces. */
export async function* readPart(part: TextPart): AsyncGenerator<string> {
  if ("text" in part) yield part.text;
  else yield* textChunks(readBytes(part.file, { start: part.begin, end: part.end - 1 }), part.file);
}
