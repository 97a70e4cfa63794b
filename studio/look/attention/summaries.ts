import type { PackedAttention, PackedHead } from "../../../src/views/packed.ts";
import { percent } from "../../parts/numbers.ts";

// What heads do, in few words, and the heads in the order of how much they do it.

export type Summary = PackedHead["summary"];

export const orders = [
  { name: "place", label: "layer by layer" },
  { name: "diagonal", label: "who looks at itself" },
  { name: "previous", label: "who looks at the token before" },
  { name: "first", label: "who looks at the first token" },
  { name: "same", label: "who looks at the same token elsewhere" },
  { name: "few", label: "who looks at few tokens" },
  { name: "many", label: "who looks at many tokens" },
  { name: "distance", label: "who looks far away" },
] as const;

export type Order = (typeof orders)[number]["name"];

const shares = { diagonal: "itself", previous: "the token before", first: "the first token", same: "the same token elsewhere" } as const;
type Share = keyof typeof shares;
const names = Object.keys(shares) as Share[];

/** The orders that say something about these heads. */
export const ordersOf = ({ layers }: Pick<PackedAttention, "layers">): (typeof orders)[number][] =>
  orders.filter(
    ({ name }) => name === "place" || layers.some(({ heads }) => heads.some(({ summary }) => measure(summary, name) !== undefined)),
  );

/** What an order goes by. */
export function measure(summary: Summary, order: Exclude<Order, "place">): number | undefined {
  if (order === "few") return summary.effective === undefined ? undefined : -summary.effective;
  return order === "many" ? summary.effective : summary[order];
}

/** The number of an order, as it stands below a head. */
export const measured = (summary: Summary, order: Exclude<Order, "place">): string =>
  order === "few" || order === "many"
    ? (summary.effective?.toFixed(1) ?? "")
    : order === "distance"
      ? (summary.distance?.toFixed(1) ?? "")
      : percent(summary[order] ?? 0);

export interface PlacedHead {
  readonly layer: number;
  readonly head: PackedHead;
}

/** All heads, the one that does it most first. */
export function sorted({ layers }: Pick<PackedAttention, "layers">, order: Exclude<Order, "place">): PlacedHead[] {
  const all = layers.flatMap(({ layer, heads }) => heads.map((head) => ({ layer, head })));
  const by = ({ head }: PlacedHead) => measure(head.summary, order) ?? Number.NEGATIVE_INFINITY;
  return all.toSorted((a, b) => by(b) - by(a));
}

/** More than this of a head's weight is what it does. */
const mostly = 0.5;

/** What a head does, in a few words. */
export function inWords(summary: Summary): string {
  const best = names.reduce((a, b) => ((summary[b] ?? 0) > (summary[a] ?? 0) ? b : a));
  const share = summary[best] ?? 0;
  if (share >= mostly) return `looks mostly at ${shares[best]}`;
  if (summary.effective === undefined) return "";
  return summary.effective < 1.5 ? "looks at one token at a time" : `looks at about ${Math.round(summary.effective)} tokens`;
}

/** All that is known of it. */
export function details(summary: Summary): string {
  const { entropy, effective, distance } = summary;
  const spread = entropy === undefined ? [] : [`entropy ${entropy.toFixed(2)} nats (${effective?.toFixed(1)} tokens)`];
  const told = names.flatMap((name) => (summary[name] === undefined ? [] : [`${shares[name]} ${percent(summary[name])}`]));
  const far = distance === undefined ? [] : [`${distance.toFixed(1)} tokens away`];
  return [...spread, ...far, ...told].join(" · ");
}
