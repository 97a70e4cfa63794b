import { DataError } from "../base/errors.ts";

const newline = 0x0a;

/** The text of a whole file. A byte order mark is dropped; bytes that are not UTF-8 are an error, never U+FFFD. */
export function decodeUtf8(bytes: Uint8Array, file: string): string {
  const text = decode(bytes, { file, offset: 0, line: 1 });
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** How far into a file a place is: bytes before it, and the line that it is in. */
export interface TextPlace {
  readonly offset: number;
  readonly line: number;
}

/**
 * The same, piece by piece: the pieces never cut a character, and together they are the same whatever the chunks were. A stretch of a file
 * begins at a place in it; where it ends is given back.
 */
export async function* textChunks(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  from: TextPlace = { offset: 0, line: 1 },
): AsyncGenerator<string, TextPlace> {
  let rest: Uint8Array = new Uint8Array(0);
  let { offset, line } = from;
  for await (const chunk of chunks) {
    const bytes = concatBytes(rest, chunk);
    const whole = bytes.subarray(0, wholeLength(bytes));
    rest = bytes.slice(whole.length);
    const text = decode(whole, { file, offset, line });
    const piece = offset === 0 && text.startsWith("\uFEFF") ? text.slice(1) : text;
    if (piece !== "") yield piece;
    offset += whole.length;
    line += newlines(whole);
  }
  decode(rest, { file, offset, line });
  return { offset: offset + rest.length, line };
}

interface Place extends TextPlace {
  readonly file: string;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array, { file, offset, line }: Place): string {
  try {
    return strict.decode(bytes);
  } catch (cause) {
    const bad = firstBadByte(bytes);
    if (bad < 0)
      throw new DataError(`${bytes.length} bytes are too many for one text; split the file`, { code: "data.too-much", file, cause });
    const where = `${file}, line ${line + newlines(bytes.subarray(0, bad))}, byte ${offset + bad}`;
    const found = `0x${bytes[bad].toString(16).toUpperCase().padStart(2, "0")}`;
    const wide = offset + bad === 0 && (found === "0xFF" || found === "0xFE"); // the byte order marks of UTF-16
    throw new DataError(
      `${where}: invalid UTF-8 (found ${found}); save the file as UTF-8, for instance with \`iconv -f ${wide ? "utf-16" : "latin1"} -t utf-8\``,
      { code: "data.line", cause },
    );
  }
}

/** How many bytes a character has that begins so; 0 if none does. */
function characterLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Where the first sequence begins that is not a character, or -1. */
function firstBadByte(bytes: Uint8Array): number {
  for (let i = 0; i < bytes.length; ) {
    const length = characterLength(bytes[i]);
    if (length === 0) return i;
    for (let j = 1; j < length; j++) if (!continues(bytes[i + j])) return i;
    const pair = bytes[i] * 256 + (bytes[i + 1] ?? 0);
    const overlong = (pair >= 0xe080 && pair < 0xe0a0) || (pair >= 0xf080 && pair < 0xf090);
    const surrogate = pair >= 0xeda0 && pair < 0xedc0;
    const beyond = pair >= 0xf490 && pair < 0xf4c0; // above U+10FFFF
    if (length > 2 && (overlong || surrogate || beyond)) return i;
    i += length;
  }
  return -1;
}

/** The length without a character that has only begun at the end. */
function wholeLength(bytes: Uint8Array): number {
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && start > 0 && continues(bytes[start])) start--;
  return start >= 0 && start + characterLength(bytes[start]) > bytes.length ? start : bytes.length;
}

function concatBytes(before: Uint8Array, after: Uint8Array): Uint8Array {
  if (before.length === 0) return after;
  const bytes = new Uint8Array(before.length + after.length);
  bytes.set(before);
  bytes.set(after, before.length);
  return bytes;
}

function newlines(bytes: Uint8Array): number {
  let count = 0;
  for (let i = bytes.indexOf(newline); i >= 0; i = bytes.indexOf(newline, i + 1)) count++;
  return count;
}

const pieceUnits = 2 ** 14;
const scratch = new Uint8Array(3 * pieceUnits);
const encoder = new TextEncoder();

/** How many bytes a text has as UTF-8, without making them all; half a character counts as the 3 that stand for it. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = Math.min(text.length, from + pieceUnits);
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to--; // no piece ends within a character
    bytes += encoder.encodeInto(from === 0 && to === text.length ? text : text.slice(from, to), scratch).written;
  }
  return bytes;
}
