import { RunError } from "../../base/errors.ts";
import type { Handle } from "./handle.ts";
import { Hashing } from "./hash.ts";

// What stands where is written down as a whole, in turns into one of two files, with a number that grows and a checksum. The newest whole one counts:
// while one is written, the other is there.

const mark = new TextEncoder().encode("qkv store 1\n"); // 12 bytes
const headBytes = 64; // the mark, 4 of the length, 8 of the number, 32 of the checksum
/** Both files are made this long at once, and twice as long when they must grow: a full disk does not keep an index from being written. */
const firstBytes = 2 ** 16;

export interface Found {
  readonly sequence: number;
  readonly text: string;
}

export class IndexPair {
  readonly #handles: readonly [Handle, Handle];
  /** Which of the two is written next. */
  #next: 0 | 1 = 0;
  #sequence = 0;

  constructor(handles: readonly [Handle, Handle]) {
    this.#handles = handles;
  }

  /**
   * The newest whole one. It may have been written by a worker that ended before it was flushed, so both are flushed now: the other one is about to be
   * written over. Two that are damaged at once were damaged by something else than a crash.
   */
  open(): Found | undefined {
    const found = this.#handles.map(readIndex);
    for (const handle of this.#handles) handle.flush();
    const newest = (found[1]?.sequence ?? 0) > (found[0]?.sequence ?? 0) ? 1 : 0;
    const index = found[newest];
    if (index === undefined) {
      if (!this.#handles.some(isBlank))
        // else it is the very first that was cut short
        throw new RunError(
          "what this page has stored cannot be read: both of its indexes are damaged, and its files are lost; clear the data of this site and begin again",
          { code: "run.damaged" },
        );
      return undefined;
    }
    this.#sequence = index.sequence;
    this.#next = newest === 0 ? 1 : 0;
    return index;
  }

  /** It is on the disk when this returns; if it throws, the one before is. */
  write(text: string): void {
    const handle = this.#handles[this.#next];
    const bytes = encoded(this.#sequence + 1, text);
    this.#sequence++; // a number is used once, also if it is not known whether it came to the disk
    let room = Math.max(firstBytes, handle.size());
    while (room < bytes.length) room *= 2;
    if (handle.size() < room) handle.write(new Uint8Array(room - handle.size()), handle.size());
    handle.write(bytes, 0);
    handle.flush();
    this.#next = this.#next === 0 ? 1 : 0;
  }
}

function encoded(sequence: number, text: string): Uint8Array {
  const body = new TextEncoder().encode(text);
  const bytes = new Uint8Array(headBytes + body.length);
  const head = new DataView(bytes.buffer);
  bytes.set(mark);
  head.setUint32(12, body.length, true);
  head.setFloat64(16, sequence, true);
  bytes.set(body, headBytes);
  bytes.set(checksum(bytes), 24);
  return bytes;
}

/** Of everything but itself. */
const checksum = (bytes: Uint8Array): Uint8Array =>
  new Hashing("sha256").update(bytes.subarray(0, 24)).update(bytes.subarray(headBytes)).digest();

function readIndex(handle: Handle): Found | undefined {
  const start = new Uint8Array(headBytes);
  if (handle.read(start, 0) < headBytes || !mark.every((byte, i) => byte === start[i])) return undefined;
  const head = new DataView(start.buffer);
  const length = head.getUint32(12, true);
  if (headBytes + length > handle.size()) return undefined;
  const bytes = new Uint8Array(headBytes + length);
  handle.read(bytes, 0);
  const sum = checksum(bytes);
  if (!sum.every((byte, i) => byte === bytes[24 + i])) return undefined;
  return { sequence: head.getFloat64(16, true), text: new TextDecoder().decode(bytes.subarray(headBytes)) };
}

/** Nothing was ever written, as far as its beginning tells. */
function isBlank(handle: Handle): boolean {
  const start = new Uint8Array(headBytes);
  return start.subarray(0, handle.read(start, 0)).every((byte) => byte === 0);
}
