import type { AttentionKind } from "../../../src/inspection/look.ts";
import type { AskedChange } from "../../../src/protocol/messages.ts";
import type { Place } from "../map/places.ts";

// What is changed inside the model, as the address has it: `h.s.0.2!z..decoder/block.1/attention/out!p.3,4.decoder/block.0/output`.

export type Change =
  /** A head is silenced. */
  | { readonly kind: "head"; readonly attention: AttentionKind; readonly layer: number; readonly head: number }
  /** A place is left out, at some positions or at all: it is 0 there. */
  | { readonly kind: "zero"; readonly tap: string; readonly positions?: readonly number[] }
  /** A place has the numbers of the other text, at some positions or at all. */
  | { readonly kind: "swap"; readonly tap: string; readonly positions?: readonly number[] };

const letters: Readonly<Record<AttentionKind, string>> = { self: "s", cross: "c", encoder: "e" };
const kindOf = (letter: string): AttentionKind | undefined =>
  (Object.keys(letters) as AttentionKind[]).find((kind) => letters[kind] === letter);

/** A separator inside a name is written otherwise. */
const packed = (name: string): string => name.replaceAll("%", "%25").replaceAll("!", "%21");
const unpacked = (name: string): string => name.replaceAll("%21", "!").replaceAll("%25", "%");

const writtenChange = (change: Change): string => {
  switch (change.kind) {
    case "head":
      return `h.${letters[change.attention]}.${change.layer}.${change.head}`;
    case "zero":
    case "swap":
      return `${change.kind === "zero" ? "z" : "p"}.${(change.positions ?? []).join(",")}.${packed(change.tap)}`;
  }
};

/** Undefined for none, so that the address has nothing of it. */
export const written = (changes: readonly Change[]): string | undefined =>
  changes.length === 0 ? undefined : changes.map(writtenChange).join("!");

/** What somebody else wrote may be anything; what is no change is left out. */
export function read(text = ""): Change[] {
  return text.split("!").flatMap((one): Change[] => {
    const head = /^h\.(.)\.(\d+)\.(\d+)$/.exec(one);
    const attention = head && kindOf(head[1]);
    if (head && attention) return [{ kind: "head", attention, layer: Number(head[2]), head: Number(head[3]) }];
    const place = /^([zp])\.([\d,]*)\.(.+)$/s.exec(one);
    if (!place) return [];
    const positions = place[2].split(",").filter(Boolean).map(Number);
    return [{ kind: place[1] === "z" ? "zero" : "swap", tap: unpacked(place[3]), ...(positions.length > 0 && { positions }) }];
  });
}

const same = (a: Change, b: Change): boolean => writtenChange(a) === writtenChange(b);

export const has = (changes: readonly Change[], change: Change): boolean => changes.some((one) => same(one, change));

/** Takes a change back, or adds it. */
export const toggled = (changes: readonly Change[], change: Change): Change[] =>
  has(changes, change) ? changes.filter((one) => !same(one, change)) : [...changes, change];

/** As a model is asked. Without another text there is nothing to take numbers from. */
export function asked(changes: readonly Change[], other: { readonly text: string | undefined; readonly target?: string }): AskedChange[] {
  return changes.flatMap((change): AskedChange[] => {
    if (change.kind === "head") return [{ layer: change.layer, head: change.head, attention: change.attention }];
    const { tap, positions } = change;
    if (change.kind === "zero") return [{ tap, value: 0, ...(positions && { positions }) }];
    if (!other.text) return [];
    return [{ tap, from: other.text, ...(other.target !== undefined && { target: other.target }), ...(positions && { positions }) }];
  });
}

/** Whether a change is made at a place of the map; of a head, where its mixture is. */
export const isAt = (
  change: Change,
  { tap, kind, layer = 0, side, sublayer }: Pick<Place, "tap" | "kind" | "layer" | "side" | "sublayer">,
): boolean =>
  change.kind === "head"
    ? kind === "mixed" &&
      change.layer === layer &&
      (change.attention === "cross") === (sublayer === "cross") &&
      (change.attention === "encoder") === (side === "source")
    : change.tap === tap;

export function wordsOf(change: Change, tokenAt: (position: number) => string | undefined = () => undefined): string {
  if (change.kind === "head") {
    const where = { self: "", cross: " of the cross-attention", encoder: " of the encoder" }[change.attention];
    return `head ${change.head} of layer ${change.layer}${where} is silent`;
  }
  const places = change.positions?.map((position) => `${position} (${tokenAt(position) ?? "?"})`).join(", ");
  const at = places === undefined ? "" : ` at ${places}`;
  return change.kind === "zero" ? `${change.tap} is left out${at}` : `${change.tap} is as in the other text${at}`;
}
