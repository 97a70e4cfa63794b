import { ConfigError } from "../base/errors.ts";
import { byteRows, common, type Range } from "./code-points.ts";
import type { Grammar, Writable } from "./grammar.ts";

// A grammar read byte by byte. A state is the set of all ways to go on; each way is a list of what is still to be written, and lists with
// the same rest share it. States are made when they are first come to, and remembered: inside a string, say, most bytes lead back.

/** A byte of a character: by byte, what comes after it, or that it was the last. */
interface ByteItem {
  readonly kind: "byte";
  readonly leads: readonly (ByteItem | "done" | undefined)[];
}
type Item = ByteItem | Grammar;
type Repeat = Grammar & { kind: "repeat" };

/** Something to write, and the rest; the same item before the same rest is the same way. */
class Way {
  readonly id: number;
  readonly item: Item | undefined;
  readonly rest: Way | undefined;
  readonly #before = new Map<Item, Way>();
  static #made = 0;

  constructor(item?: Item, rest?: Way) {
    this.id = Way.#made++;
    this.item = item;
    this.rest = rest;
  }

  with(item: Item): Way {
    const known = this.#before.get(item) ?? new Way(item, this);
    this.#before.set(item, known);
    return known;
  }
}

export class State {
  /** Each begins with a byte. */
  readonly ways: readonly Way[];
  /** Whether the text may end here. */
  readonly complete: boolean;
  /** By byte: where it leads to, null for nowhere, undefined for not asked yet. */
  readonly next: (State | null | undefined)[] = new Array(256);

  constructor(ways: readonly Way[], complete: boolean) {
    this.ways = ways;
    this.complete = complete;
  }
}

/** So many states are remembered; then all are forgotten but those that somebody stands in. */
const mostStates = 2_000;
/** So many ways are looked at, at the most, to find out what may come next once: some tenths of a second. */
const mostWork = 750_000;

export class Automaton {
  readonly #root: Grammar;
  readonly #writable: Writable;
  readonly #read = new Map<Grammar, ByteItem>();
  readonly #bytesByRows = new Map<string, ByteItem>();
  readonly #fewer = new Map<Grammar, Map<string, Grammar>>();
  readonly #states = new Map<string, State>();
  readonly #after = new Map<string, State>();

  #start: State | undefined;
  #work = 0;

  constructor(root: Grammar, writable: Writable) {
    this.#root = root;
    this.#writable = writable;
  }

  get start(): State {
    this.#start ??= this.#state([new Way().with(this.#root)]);
    return this.#start;
  }

  /** From here on, work is counted anew: forms come from strangers, and one that takes long keeps others waiting. */
  rested(): void {
    this.#work = 0;
  }

  /** Where a byte leads to, if it may come next. */
  step(state: State, byte: number): State | null {
    const known = state.next[byte];
    if (known !== undefined) return known;
    const after: Way[] = [];
    this.#work += state.ways.length;
    for (const { item, rest } of state.ways) {
      const lead = (item as ByteItem).leads[byte];
      if (lead && rest) after.push(lead === "done" ? rest : rest.with(lead));
    }
    const found = after.length === 0 ? null : this.#opened(after);
    state.next[byte] = found;
    return found;
  }

  /** Most bytes of a class lead to the same: what comes after them is found out once. */
  #opened(after: readonly Way[]): State {
    const key = after.map(({ id }) => id).join();
    const known = this.#after.get(key);
    if (known) return known;
    const made = this.#state(after);
    this.#after.set(key, made);
    return made;
  }

  #state(from: readonly Way[], ended = false): State {
    const ways = new Set<Way>();
    const seen = new Set<Way>();
    let complete = ended;
    const open = [...from].reverse();
    for (let way = open.pop(); way; way = open.pop()) {
      if (seen.has(way)) continue;
      seen.add(way);
      if (!way.item) complete = true;
      else if (way.item.kind === "byte") ways.add(way);
      else this.#open(way.item, way.rest as Way, open);
      this.#work++;
      if (this.#work > mostWork)
        throw new ConfigError("this form can go on in too many ways at once; make its patterns or its choices simpler", {
          path: "response_format",
        });
    }
    const sorted = [...ways].sort((a, b) => a.id - b.id);
    const key = `${complete}${sorted.map(({ id }) => id).join()}`;
    const known = this.#states.get(key);
    if (known) return known;
    if (this.#states.size >= mostStates) {
      for (const state of this.#states.values()) state.next.length = 0;
      this.#states.clear();
      this.#fewer.clear();
      this.#after.clear();
      this.#start = undefined; // with it go the ways that begin there
    }
    const made = new State(sorted, complete);
    this.#states.set(key, made);
    return made;
  }

  /** What an item that is no byte begins with. */
  #open(item: Grammar, rest: Way, into: Way[]): void {
    if (item.kind === "text" || item.kind === "character") {
      if (item.kind === "text" && item.text === "") into.push(rest);
      else into.push(rest.with(this.#bytes(item)));
    } else if (item.kind === "sequence") into.push(item.parts.reduceRight((after, part) => after.with(part), rest));
    else if (item.kind === "choice") {
      for (const one of item.among) if (this.#writable.has(one)) into.push(rest.with(one));
    } else if (item.kind === "later") into.push(rest.with(item.node()));
    else {
      if (item.least === 0) into.push(rest);
      if (item.most > 0 && this.#writable.has(item.body)) into.push(rest.with(this.#less(item)).with(item.body));
    }
  }

  /** A repetition of which one was written. */
  #less(item: Repeat): Grammar {
    return this.#counted(item, Math.max(0, item.least - 1), item.most - 1);
  }

  /** The same repetition with other counts; the same counts make the same node. */
  #counted(item: Repeat, least: number, most: number): Grammar {
    if (least === item.least && most === item.most) return item;
    const known = this.#fewer.get(item.body) ?? new Map<string, Grammar>();
    this.#fewer.set(item.body, known);
    const key = `${least} ${most}`;
    const made = known.get(key) ?? { ...item, least, most };
    known.set(key, made);
    return made;
  }

  #bytes(item: Grammar & { kind: "text" | "character" }): ByteItem {
    const known = this.#read.get(item);
    if (known) return known;
    const rows =
      item.kind === "text"
        ? [Array.from(encoder.encode(item.text), (byte): Range => [byte, byte])]
        : byteRows(common(item.of, this.#writable.characters));
    const made = this.#bytesOf(rows);
    this.#read.set(item, made);
    return made;
  }

  /** Rows of byte ranges as one item, so that a character is one way to go on, however many ranges it may be from. */
  #bytesOf(rows: readonly (readonly Range[])[]): ByteItem {
    const key = rows.map((row) => row.join(" ")).join(";");
    const known = this.#bytesByRows.get(key);
    if (known) return known;
    const leads = Array.from({ length: 256 }, (_, byte) => {
      const tails = rows.filter(([[low, high]]) => low <= byte && byte <= high).map((row) => row.slice(1));
      if (tails.length === 0) return undefined;
      return tails[0].length === 0 ? ("done" as const) : this.#bytesOf(tails); // UTF-8 says by the first byte how many follow
    });
    const made: ByteItem = { kind: "byte", leads };
    this.#bytesByRows.set(key, made);
    return made;
  }

  /**
   * A state as somebody sees it who reads at most so many bytes: what is repeated more often is repeated without end for him. So a string
   * of at most a thousand characters looks the same for most of its length, and what was found out of it need not be found again.
   */
  near(state: State, reach: number): State {
    const seen = new Map<Way, Way>();
    const nearer = (way: Way): Way => {
      const known = seen.get(way);
      if (known) return known;
      const open: Way[] = [];
      let at = way;
      for (; at.item && at.rest && !seen.has(at); at = at.rest) open.push(at);
      let made = seen.get(at) ?? at;
      for (const one of open.reverse()) {
        made = made.with(this.#within(one.item as Item, reach));
        seen.set(one, made);
      }
      return made;
    };
    const ways = state.ways.map(nearer);
    return ways.every((way, i) => way === state.ways[i]) ? state : this.#state(ways, state.complete);
  }

  #within(item: Item, reach: number): Item {
    if (item.kind !== "repeat" || (item.least <= reach && (item.most <= reach || item.most === Number.POSITIVE_INFINITY))) return item;
    return this.#counted(item, Math.min(item.least, reach), item.most > reach ? Number.POSITIVE_INFINITY : item.most);
  }
}

const encoder = new TextEncoder();
