import { byteRows, common, type Range } from "./code-points.ts";
import { Effort, type Remembered, tooManyWays } from "./effort.ts";
import type { Grammar, Writable } from "./grammar.ts";

// A grammar read byte by byte. A state is the set of all ways to go on; each way is a list of what is still to be written, and lists with
// the same rest share it. States are made when they are first come to, and remembered: inside a string, say, most bytes lead back.

/** A byte of a character or of a text. */
interface ByteItem {
  readonly kind: "byte";
  /** The byte that it is, if it is only one. */
  readonly only?: number;
  /** What comes after this byte, or that it was the last, if it may stand here. */
  lead(byte: number): ByteItem | "done" | undefined;
}
type Item = ByteItem | Grammar;
type Repeat = Grammar & { kind: "repeat" };

/** A byte of a text. The next one is made when it is come to: texts may be long. */
class Literal implements ByteItem {
  readonly kind = "byte";
  readonly only: number;
  readonly #bytes: Uint8Array;
  readonly #at: number;
  #next: Literal | undefined;

  constructor(bytes: Uint8Array, at = 0) {
    this.only = bytes[at];
    this.#bytes = bytes;
    this.#at = at;
  }

  lead(byte: number): Literal | "done" | undefined {
    if (byte !== this.only) return undefined;
    if (this.#at + 1 === this.#bytes.length) return "done";
    this.#next ??= new Literal(this.#bytes, this.#at + 1);
    return this.#next;
  }
}

/** Something to write, and the rest. */
class Way {
  readonly id: number;
  readonly item: Item | undefined;
  readonly rest: Way | undefined;
  static #made = 0;

  constructor(item?: Item, rest?: Way) {
    this.id = Way.#made++;
    this.item = item;
    this.rest = rest;
  }
}

export class State {
  /** Each begins with a byte. */
  readonly ways: readonly Way[];
  /** Whether the text may end here. */
  readonly complete: boolean;
  /** By byte: where it leads to, null for nowhere, undefined for not asked yet. */
  readonly next: (State | null | undefined)[] = new Array(256);
  /** The tokens that may come next, once somebody has found them out. */
  mask: Int32Array | undefined;
  /** By the byte that they are, if they are only one. */
  #sorted: Map<number | undefined, Way[]> | undefined;

  constructor(ways: readonly Way[], complete: boolean) {
    this.ways = ways;
    this.complete = complete;
  }

  /** The ways that this byte may be of. Of hundreds of names or values, most are not looked at. */
  *of(byte: number): Iterable<Way> {
    this.#sorted ??= sortedBy(this.ways, ({ item }) => (item as ByteItem).only);
    yield* this.#sorted.get(undefined) ?? [];
    yield* this.#sorted.get(byte) ?? [];
  }
}

function sortedBy<Key>(ways: readonly Way[], keyOf: (way: Way) => Key): Map<Key, Way[]> {
  const found = new Map<Key, Way[]>();
  for (const way of ways) {
    const group = found.get(keyOf(way)) ?? [];
    group.push(way);
    found.set(keyOf(way), group);
  }
  return found;
}

/** So many ways to go on there may be in one place: as many as a schema has properties and values, several times. */
const mostWays = 10_000;
/** What is made takes so many bytes, about. */
const bytesOf = { node: 200, way: 120, count: 300, state: 2_500, place: 60 };

export class Automaton {
  readonly #root: Grammar;
  readonly #writable: Writable;
  readonly #memory: Remembered;
  readonly #end = new Way();
  readonly #bytesByRows = new Map<string, ByteItem>();
  // From here on, all that is forgotten together.
  readonly #read = new Map<Grammar, ByteItem>();
  readonly #fewer = new Map<Grammar, Map<string, Grammar>>();
  /** The same item before the same rest is the same way. */
  readonly #ways = new Map<Item, Map<Way, Way>>();
  readonly #states = new Map<string, State>();
  readonly #after = new Map<string, State>();
  /** Those that others are known of, or a mask; they may be older than what is remembered. */
  readonly #asked = new Set<State>();
  #start: State | undefined;
  /** Bytes that were not told yet. */
  #made: number;

  constructor(root: Grammar, writable: Writable, memory: Remembered) {
    this.#root = root;
    this.#writable = writable;
    this.#memory = memory;
    this.#made = bytesOf.node * writable.nodes;
  }

  get start(): State {
    this.#start ??= this.#state([this.#way(this.#root, this.#end)], false, new Effort());
    return this.#start;
  }

  /** Where a byte leads to, if it may come next. */
  step(state: State, byte: number, effort: Effort): State | null {
    const known = state.next[byte];
    if (known !== undefined) return known;
    const after: Way[] = [];
    for (const { item, rest } of state.of(byte)) {
      const lead = (item as ByteItem).lead(byte);
      effort.spend(1);
      if (lead && rest) after.push(lead === "done" ? rest : this.#way(lead, rest));
    }
    const found = after.length === 0 ? null : this.#opened(after, effort);
    state.next[byte] = found;
    this.#asked.add(state);
    return found;
  }

  /** Which tokens may come next, for whoever asks again. */
  keep(state: State, mask: Int32Array): void {
    state.mask = mask;
    this.#asked.add(state);
    this.#remember(mask.byteLength);
  }

  forget(): void {
    for (const state of this.#asked) {
      state.next.length = 0;
      state.mask = undefined;
    }
    for (const all of [this.#asked, this.#read, this.#fewer, this.#ways, this.#states, this.#after]) all.clear();
    this.#start = undefined;
  }

  #remember(bytes = 0): void {
    const made = this.#made + bytes;
    this.#made = 0;
    this.#memory.add(this, made);
  }

  #way(item: Item, rest: Way): Way {
    const before = this.#ways.get(item) ?? new Map<Way, Way>();
    if (before.size === 0) this.#ways.set(item, before);
    const known = before.get(rest);
    if (known) return known;
    const made = new Way(item, rest);
    before.set(rest, made);
    this.#made += bytesOf.way;
    return made;
  }

  /** Most bytes of a class lead to the same: what comes after them is found out once. */
  #opened(after: readonly Way[], effort: Effort): State {
    const key = after.map(({ id }) => id).join();
    const known = this.#after.get(key);
    if (known) return known;
    const made = this.#state(after, false, effort);
    this.#after.set(key, made);
    this.#made += bytesOf.place * after.length;
    return made;
  }

  #state(from: readonly Way[], ended: boolean, effort: Effort): State {
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
      effort.spend(1);
      if (seen.size > mostWays) throw tooManyWays();
    }
    const sorted = [...ways].sort((a, b) => a.id - b.id);
    const key = `${complete}${sorted.map(({ id }) => id).join()}`;
    const known = this.#states.get(key);
    if (known) return known;
    const made = new State(sorted, complete);
    this.#states.set(key, made);
    this.#remember(bytesOf.state + bytesOf.place * sorted.length);
    return made;
  }

  /** What an item that is no byte begins with. */
  #open(item: Grammar, rest: Way, into: Way[]): void {
    if (item.kind === "text" || item.kind === "character") {
      if (item.kind === "text" && item.text === "") into.push(rest);
      else into.push(this.#way(this.#bytes(item), rest));
    } else if (item.kind === "sequence") into.push(item.parts.reduceRight((after, part) => this.#way(part, after), rest));
    else if (item.kind === "choice") {
      for (const one of item.among) if (this.#writable.has(one)) into.push(this.#way(one, rest));
    } else if (item.kind === "later") into.push(this.#way(item.node(), rest));
    else {
      if (item.least === 0) into.push(rest);
      if (item.most > 0 && this.#writable.has(item.body)) into.push(this.#way(item.body, this.#way(this.#less(item), rest)));
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
    const found = known.get(key);
    if (found) return found;
    const made: Grammar = { ...item, least, most };
    known.set(key, made);
    this.#made += bytesOf.count;
    return made;
  }

  #bytes(item: Grammar & { kind: "text" | "character" }): ByteItem {
    const known = this.#read.get(item);
    if (known) return known;
    const made =
      item.kind === "text" ? new Literal(encoder.encode(item.text)) : this.#bytesOf(byteRows(common(item.of, this.#writable.characters)));
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
    const made: ByteItem = { kind: "byte", lead: (byte) => leads[byte] };
    this.#bytesByRows.set(key, made);
    return made;
  }

  /**
   * A state as somebody sees it who reads at most so many bytes: what is repeated more often is repeated without end for him. So a string
   * of at most a thousand characters looks the same for most of its length, and what was found out of it need not be found again.
   */
  near(state: State, reach: number, effort: Effort): State {
    const seen = new Map<Way, Way>();
    const nearer = (way: Way): Way => {
      const open: Way[] = [];
      let at = way;
      for (; at.item && at.rest && !seen.has(at); at = at.rest) open.push(at);
      effort.spend(open.length);
      let made = seen.get(at) ?? at;
      for (const one of open.reverse()) {
        made = this.#way(this.#within(one.item as Item, reach), made);
        seen.set(one, made);
      }
      return made;
    };
    const ways = state.ways.map(nearer);
    this.#remember();
    return ways.every((way, i) => way === state.ways[i]) ? state : this.#state(ways, state.complete, effort);
  }

  #within(item: Item, reach: number): Item {
    if (item.kind !== "repeat" || (item.least <= reach && (item.most <= reach || item.most === Number.POSITIVE_INFINITY))) return item;
    return this.#counted(item, Math.min(item.least, reach), item.most > reach ? Number.POSITIVE_INFINITY : item.most);
  }
}

const encoder = new TextEncoder();
