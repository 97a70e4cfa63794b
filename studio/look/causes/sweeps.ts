import type { SweepAsk } from "../../../src/protocol/messages.ts";
import type { Tap } from "../map/places.ts";

// What can be swept over: one kind of place through all layers, at each position, or each head.

export interface SweepKind {
  /** As the address names it. */
  readonly key: string;
  readonly label: string;
  readonly over: SweepAsk["over"];
  /** Layer by layer. */
  readonly taps: readonly string[];
  readonly side: "source" | "own";
}

const kinds: readonly { readonly key: string; readonly label: string; readonly over: SweepAsk["over"]; readonly name: RegExp }[] = [
  { key: "stream", label: "residual stream", over: "position", name: /(^|\/)block\.\d+\/output$/ },
  { key: "attention", label: "attention out", over: "position", name: /\/attention\/out$/ },
  { key: "cross", label: "cross-attention out", over: "position", name: /\/cross\/out$/ },
  { key: "feedforward", label: "feed-forward out", over: "position", name: /\/feedforward\/out$/ },
  { key: "states", label: "states", over: "position", name: /(^|\/)layer\.\d+\/output$/ },
  { key: "embedded", label: "embedding", over: "position", name: /(^|\/)embedded$/ },
  { key: "context", label: "context", over: "position", name: /\/context$/ },
  { key: "heads", label: "heads, silenced", over: "head", name: /\/attention\/mixed$/ },
  { key: "cross-heads", label: "heads of cross-attention, silenced", over: "head", name: /\/cross\/mixed$/ },
];

/** Those that a model has, by side. */
export function sweepsOf(taps: readonly Tap[], readsSource: boolean): SweepKind[] {
  const isSource = (name: string) => readsSource && /(^|\/)encoder\//.test(name);
  return kinds.flatMap(({ key, label, over, name }) =>
    (["own", "source"] as const).flatMap((side) => {
      const found = taps.filter((tap) => name.test(tap.name) && (side === "source") === isSource(tap.name)).map((tap) => tap.name);
      if (found.length === 0) return [];
      const words = !readsSource ? label : `${side === "source" ? "encoder" : "decoder"}: ${label}`;
      return [{ key: side === "source" ? `source-${key}` : key, label: words, over, taps: found, side }];
    }),
  );
}

export const measures = ["probability", "loss", "share"] as const;
/** How much likelier the answer becomes; how much its loss −log p falls; how far it goes from this text's answer to the other's. */
export type Measure = (typeof measures)[number];

export interface Ends {
  readonly before: number;
  readonly other?: number;
}

export function measured(measure: Measure, { before, other }: Ends, after: number): number {
  switch (measure) {
    case "probability":
      return after - before;
    case "loss":
      return Math.log(after) - Math.log(before);
    case "share":
      return other === undefined || other === before ? 0 : (after - before) / (other - before);
  }
}
