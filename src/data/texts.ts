import { createHash } from "node:crypto";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { DataError } from "../base/errors.ts";
import { readBytes, sizeOf } from "../disk/text-files.ts";
import { type TextPlace, textChunks, utf8Length } from "../text/utf8.ts";
import { lastCut } from "../tokens/cut.ts";

// Text of any length, as stretches of files that are read piece by piece.

/** A stretch of a file, in bytes; it never cuts a character. */
export interface FilePart {
  readonly file: string;
  readonly begin: number;
  readonly end: number;
}

/** Text in a file, or text that a recipe made. */
export type TextPart = FilePart | { readonly text: string };

const length = (part: TextPart): number => ("text" in part ? utf8Length(part.text) : part.end - part.begin);

export const bytesOf = (parts: readonly TextPart[]): number => parts.reduce((total, part) => total + length(part), 0);

/** A file of text: its first bytes are trained on, the rest is for validation. */
export interface Document {
  readonly file: string;
  /** Where the part to validate with begins; never within a character. */
  readonly cut: number;
  readonly end: number;
}

/** Files as documents of one text, whose last share is for validation. Nothing is read yet but where a character begins. */
export async function openTexts(files: readonly string[], validFraction: number): Promise<Document[]> {
  const sizes: number[] = [];
  for (const file of files) {
    const bytes = await sizeOf(file);
    if (!statSync(file).isFile()) throw new DataError("not a plain file, and text is read more than once; save it as one first", { file });
    if (bytes === 0) throw new DataError(`${file}: the file is empty; give it some text to learn from`);
    sizes.push(bytes);
  }
  const bytes = sizes.reduce((a, b) => a + b, 0);
  let left = bytes - Math.floor(bytes * validFraction);
  return files.map((file, i) => {
    const end = sizes[i];
    const cut = left >= end ? end : Math.min(end, characterStart(file, Math.max(0, left)));
    left -= end;
    return { file, cut, end };
  });
}

export const trainingParts = (documents: readonly Document[]): FilePart[] =>
  documents.filter(({ cut }) => cut > 0).map(({ file, cut }) => ({ file, begin: 0, end: cut }));

export const validationParts = (documents: readonly Document[]): FilePart[] =>
  documents.filter(({ cut, end }) => cut < end).map(({ file, cut, end }) => ({ file, begin: cut, end }));

/**
 * Reads all of it once: whether it is UTF-8, and its hash, which is given back. On the way the text to train on comes out, in pieces that
 * a tokenizer can learn from.
 */
export async function* inspectTexts(documents: readonly Document[]): AsyncGenerator<string, string> {
  const hash = createHash("sha256");
  const hashed = async function* (file: string, begin: number, end: number) {
    let left = end - begin;
    for await (const chunk of readBytes(file, { start: begin, end: end - 1 })) {
      hash.update(chunk);
      left -= chunk.length;
      yield chunk;
    }
    if (left > 0) throw new DataError(`${file}: the file became shorter while it was read; train on a copy of it`);
  };
  for (const { file, cut, end } of documents) {
    let at: TextPlace = { offset: 0, line: 1 };
    if (cut > 0) at = yield* wholePieces(textChunks(hashed(file, 0, cut), file, at));
    if (cut < end) await drained(textChunks(hashed(file, cut, end), file, at));
    hash.update(`;${end};`);
  }
  return hash.digest("hex");
}

/** Texts in memory as documents of one text, whose last share is for validation, and their hash: as those of files. */
export function divideTexts(texts: readonly string[], validFraction: number): { train: TextPart[]; valid: TextPart[]; sha256: string } {
  const hash = createHash("sha256");
  const sizes = texts.map(utf8Length);
  const bytes = sizes.reduce((a, b) => a + b, 0);
  let left = bytes - Math.floor(bytes * validFraction);
  const [train, valid]: [TextPart[], TextPart[]] = [[], []];
  for (const [i, text] of texts.entries()) {
    hash.update(text).update(`;${sizes[i]};`);
    const cut = left >= sizes[i] ? text.length : placeOfByte(text, Math.max(0, left));
    if (cut > 0) train.push({ text: text.slice(0, cut) });
    if (cut < text.length) valid.push({ text: text.slice(cut) });
    left -= sizes[i];
  }
  return { train, valid, sha256: hash.digest("hex") };
}

/** The first place from a byte on where a character begins. */
function placeOfByte(text: string, byte: number): number {
  let [at, bytes] = [0, 0];
  for (const character of text) {
    if (bytes >= byte) break;
    const point = character.codePointAt(0) as number;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    at += character.length;
  }
  return at;
}

/** Reads to the end of something whose pieces nobody wants. */
export async function drained<Result>(pieces: AsyncGenerator<unknown, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return value;
  }
}

const longestWait = 2 ** 20;

/** The same text, cut only where a tokenizer would cut it too; a million characters without such a place are cut anyway. */
export async function* wholePieces<Result>(pieces: AsyncGenerator<string, Result>): AsyncGenerator<string, Result> {
  let waiting = "";
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) {
      if (waiting !== "") yield waiting;
      return value;
    }
    waiting += value;
    let end = lastCut(waiting);
    if (end === 0 && waiting.length > longestWait) end = waiting.length; // pieces end with a whole character
    if (end === 0) continue;
    yield waiting.slice(0, end);
    waiting = waiting.slice(end);
  }
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

const textPiece = 2 ** 18;

/** A text in memory, in pieces that never cut a character. */
function* piecesOf(text: string): Generator<string> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = Math.min(text.length, from + textPiece);
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to++;
    yield text.slice(from, to);
  }
}

/** The text of a part, in pieces. */
export async function* readPart(part: TextPart): AsyncGenerator<string> {
  if ("text" in part) yield* piecesOf(part.text);
  else yield* textChunks(readBytes(part.file, { start: part.begin, end: part.end - 1 }), part.file);
}
