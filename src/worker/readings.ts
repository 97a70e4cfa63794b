import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type { DataRead } from "../runs/read-data.ts";
import { Cache } from "../runtime/cache.ts";
import { type IntakeOptions, stored } from "./intake.ts";
import type { GivenFile } from "./messages.ts";

// What was read of data stays for a while: whoever changes a width, and asks again what would come of it, does not wait for the data again.

/** Data that is kept as ids at the same time. */
const mostKept = 2;
/** Milliseconds in which an address is taken to have what it had. */
const sameFor = 60_000;

interface Going {
  readonly key: string;
  readonly stop: AbortController;
  waiting: number;
  done: boolean;
}

/** Readings by what they follow from. One that nobody waits for any more goes on, as who left may ask again, until other data is wanted. */
export class Readings {
  readonly #kept = new Cache<DataRead>(mostKept, async ({ encoded }) => {
    if (encoded.kind === "text") for (const part of [encoded.train, encoded.valid]) part?.ids.close();
  });
  readonly #going = new Map<string, Going>();
  #count = 0;

  async use<Result>(
    what: string,
    read: (signal: AbortSignal) => Promise<DataRead>,
    signal: AbortSignal,
    body: (read: DataRead) => Promise<Result>,
  ): Promise<Result> {
    for (const [other, { stop, waiting, done }] of this.#going) {
      if (other === what || waiting > 0 || done) continue;
      stop.abort(new DOMException("other data is wanted", "AbortError"));
      this.#going.delete(other);
    }
    const going = this.#going.get(what) ?? { key: `${this.#count++}`, stop: new AbortController(), waiting: 0, done: false };
    this.#going.delete(what); // a Map keeps the order of insertion: put it last
    this.#going.set(what, going);
    for (const [oldest, { done }] of this.#going) if (done && this.#going.size > mostKept) this.#going.delete(oldest); // nor is it kept
    going.waiting++;
    const held = this.#kept.hold(going.key, async () => {
      going.done = false;
      const found = await read(going.stop.signal);
      going.done = true;
      return found;
    });
    try {
      const { value, release } = await left(held, signal);
      try {
        return await body(value);
      } finally {
        await release();
      }
    } finally {
      going.waiting--;
    }
  }
}

/** What comes, unless whoever waits leaves before; then it is let go of when it comes. */
async function left<Held extends { release(): Promise<void> }>(coming: Promise<Held>, signal: AbortSignal): Promise<Held> {
  signal.throwIfAborted();
  let leave = () => {};
  const gone = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([coming, gone]);
  } catch (error) {
    coming.then(
      ({ release }) => release(),
      () => {},
    );
    throw error;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

const places = new Map<string, { readonly path: string; readonly at: number }>();

/** The same as `stored`, without taking in again what was just given. */
export async function storedOnce(given: GivenFile, options: IntakeOptions): Promise<string> {
  const key = `${options.home.data} ${keyOf(given)}`;
  const known = places.get(key);
  const fresh = known && (!("url" in given) || performance.now() - known.at < sameFor);
  if (fresh && existsSync(known.path)) return known.path;
  const path = await stored(given, options);
  places.set(key, { path, at: performance.now() });
  return path;
}

/** What tells a file from another, without reading one that a user has chosen. */
function keyOf(given: GivenFile): string {
  if ("url" in given) return given.url;
  if ("file" in given) return JSON.stringify([given.name ?? given.file.name, given.file.size, given.file.lastModified]);
  const text = "text" in given ? given.text : JSON.stringify(given.rows);
  return `${"text" in given ? (given.name ?? "") : "rows"} ${createHash("sha256").update(text).digest("hex")}`;
}
