import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Spot } from "../../../page/state.ts";
import type { AttentionKind } from "../../../src/inspection/look.ts";
import { count, put } from "../../address.ts";
import { pointed, pointedSource } from "../../parts/token-strip.tsx";

// What is pointed at and what is pinned: a query, a key, or the cell where the two meet. Pointing lights up the same token in the strips above,
// and pointing at a token there lights it up here.

export interface Spots {
  /** What is pointed at, here or in a strip, or else what is pinned; nothing chosen is {}. */
  readonly spot: ReadonlySignal<Spot>;
  readonly pinned: ReadonlySignal<Spot>;
  hover(spot: Spot | undefined): void;
  /** Keeps a spot when the pointer leaves; the same spot again lets it go. */
  pin(spot: Spot): void;
}

type Strip = Signal<number | undefined>;

/** The strips in which queries and keys stand. */
export function stripsOf(kind: AttentionKind, readsSource: boolean): { readonly query: Strip; readonly key: Strip } {
  if (kind === "cross") return { query: pointed, key: pointedSource };
  const own = kind === "encoder" && readsSource ? pointedSource : pointed;
  return { query: own, key: own };
}

/** Pins of queries are those of the strip; an encoder beside a decoder has its own. */
const queryParam = (strip: Strip): "pin" | "source" => (strip === pointed ? "pin" : "source");

export const sameSpot = (a: Spot, b: Spot): boolean => a.query === b.query && a.key === b.key;

export function spotsOf(kind: AttentionKind, readsSource: boolean, queries: number, keys: number): Spots {
  const strips = stripsOf(kind, readsSource);
  const param = queryParam(strips.query);
  const hovered = signal<Spot | undefined>(undefined);
  const within = (place: number | undefined, size: number) => (place !== undefined && place < size ? place : undefined);
  const pinned = computed<Spot>(() => spotOf(within(count(param), queries), within(count("key"), keys)));
  const inStrips = computed<Spot>(() => {
    const query = within(strips.query.value, queries);
    return query === undefined ? spotOf(undefined, within(strips.key.value, keys)) : { query };
  });
  const spot = computed<Spot>(() => hovered.value ?? (sameSpot(inStrips.value, {}) ? pinned.value : inStrips.value));
  return {
    spot,
    pinned,
    hover(next) {
      if (next && hovered.value && sameSpot(next, hovered.value)) return;
      batch(() => {
        hovered.value = next;
        strips.key.value = next?.key;
        if (strips.query !== strips.key || next?.query !== undefined) strips.query.value = next?.query;
      });
    },
    pin(next) {
      const { query, key } = sameSpot(next, pinned.value) ? {} : next;
      put({ [param]: query, key });
    },
  };
}

const spotOf = (query: number | undefined, key: number | undefined): Spot => ({
  ...(query !== undefined && { query }),
  ...(key !== undefined && { key }),
});
