import type { TokenBytes } from "../tokens/token-bytes.ts";
import type { Automaton, State } from "./automaton.ts";
import { type CodePoints, codePoints, everyCodePoint, type Range } from "./code-points.ts";
import type { Effort } from "./effort.ts";

// Which tokens of a vocabulary may come next. Tokens stand in the order of their bytes, so what two of them have in common is read once,
// and where a byte leads nowhere all tokens that begin with it are passed over.

export class TokenMasks {
  /** The characters that can be written wherever they may be: as a token, or by the tokens of their bytes. */
  readonly characters: CodePoints;
  readonly #words: number;
  readonly #bytes: TokenBytes;
  /** The tokens in order; and how many first bytes each has in common with the one before. */
  readonly #ids: readonly number[];
  readonly #shared: Int32Array;
  readonly #longest: number;

  constructor(bytes: TokenBytes, rows: number) {
    this.#bytes = bytes;
    this.#words = Math.ceil(rows / 32);
    const single = new Set<number>();
    for (const part of bytes) if (part?.length === 1) single.add(part[0]);
    const trailing = Array.from({ length: 64 }, (_, i) => 0x80 + i).every((byte) => single.has(byte));
    const points = bytes.map((part) => (part ? whole(part) : undefined));
    // A token that ends inside a character is of no use where not every character can be ended.
    const used = [...bytes.keys()].filter((id) => (bytes[id]?.length ?? 0) > 0 && id < rows && (trailing || points[id]));
    this.#ids = used.sort((a, b) => compared(bytes[a] as Uint8Array, bytes[b] as Uint8Array));
    this.#shared = Int32Array.from(this.#ids, (id, i) =>
      i === 0 ? 0 : inCommon(bytes[this.#ids[i - 1]] as Uint8Array, bytes[id] as Uint8Array),
    );
    this.#longest = this.#ids.reduce((most, id) => Math.max(most, bytes[id]?.length ?? 0), 0);
    this.characters = written(points, single, trailing);
  }

  /** A bit for each token that may come next; the caller does not change it. */
  of(given: State, automaton: Automaton, effort: Effort): Int32Array {
    const state = automaton.near(given, this.#longest, effort);
    if (state.mask) return state.mask;
    const mask = this.#walk(state, automaton, effort);
    automaton.keep(state, mask);
    return mask;
  }

  after(state: State, token: number, automaton: Automaton, effort: Effort): State | null {
    const bytes = this.#bytes[token];
    if (!bytes || bytes.length === 0) return null;
    let at: State | null = state;
    for (const byte of bytes) {
      at = automaton.step(at, byte, effort);
      if (!at) return null;
    }
    return at;
  }

  #walk(from: State, automaton: Automaton, effort: Effort): Int32Array {
    const mask = new Int32Array(this.#words);
    const [ids, shared] = [this.#ids, this.#shared];
    const path: State[] = [from];
    for (let i = 0; i < ids.length; ) {
      const id = ids[i];
      const bytes = this.#bytes[id] as Uint8Array;
      let at = shared[i];
      for (; at < bytes.length; at++) {
        const here = path[at];
        const known = here.next[bytes[at]];
        const next = known === undefined ? automaton.step(here, bytes[at], effort) : known;
        if (next === null) break;
        path[at + 1] = next;
      }
      i++;
      if (at === bytes.length) mask[id >> 5] |= 1 << (id & 31);
      else while (i < ids.length && shared[i] > at) i++;
    }
    return mask;
  }
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of bytes that are whole characters. */
function whole(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}

function written(points: readonly (string | undefined)[], single: ReadonlySet<number>, trailing: boolean): CodePoints {
  if (single.size === 256) return everyCodePoint;
  const own = points.flatMap((text) =>
    text !== undefined && text !== "" && text.length <= 2 && Array.from(text).length === 1 ? [text] : [],
  );
  const ranges: Range[] = [];
  // The first bytes of characters of two, three and four; the few that no character begins with do no harm.
  if (trailing && Array.from({ length: 0xf5 - 0xc2 }, (_, i) => 0xc2 + i).every((byte) => single.has(byte)))
    ranges.push([0x80, 0xd7ff], [0xe000, 0x10ffff]);
  return codePoints(...own, ...ranges);
}

function inCommon(a: Uint8Array, b: Uint8Array): number {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return same;
}

function compared(a: Uint8Array, b: Uint8Array): number {
  const same = inCommon(a, b);
  return (a[same] ?? -1) - (b[same] ?? -1);
}
