import type { AttentionKind } from "../../../src/inspection/look.ts";
import type { AskedChange } from "../../../src/protocol/messages.ts";

// What is changed inside the model, as the address has it: `h.s.0.2!z.decoder/block.1/attention/out!p.3,4.decoder/block.0/output`.

export type Change =
  /** A head is silenced. */
  | { readonly kind: "head"; readonly attention: AttentionKind; readonly layer: number; readonly head: number }
  /** A place is left out: all of it is 0. */
  | { readonly kind: "zero"; readonly tap: string }
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
      return `z.${packed(change.tap)}`;
    case "swap":
      return `p.${(change.positions ?? []).join(",")}.${packed(change.tap)}`;
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
    const zero = /^z\.(.+)$/s.exec(one);
    if (zero) return [{ kind: "zero", tap: unpacked(zero[1]) }];
    const swap = /^p\.([\d,]*)\.(.+)$/s.exec(one);
    if (!swap) return [];
    const positions = swap[1].split(",").filter(Boolean).map(Number);
    return [{ kind: "swap", tap: unpacked(swap[2]), ...(positions.length > 0 && { positions }) }];
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
    if (change.kind === "zero") return [{ tap: change.tap, value: 0 }];
    if (!other.text) return [];
    const { tap, positions } = change;
    return [{ tap, from: other.text, ...(other.target !== undefined && { target: other.target }), ...(positions && { positions }) }];
  });
}

export function wordsOf(change: Change, tokenAt: (position: number) => string | undefined = () => undefined): string {
  if (change.kind === "head") {
    const where = { self: "", cross: " of the cross-attention", encoder: " of the encoder" }[change.attention];
    return `head ${change.head} of layer ${change.layer}${where} is silent`;
  }
  if (change.kind === "zero") return `${change.tap} is left out`;
  const at = change.positions?.map((position) => `${position} (${tokenAt(position) ?? "?"})`).join(", ");
  return `${change.tap} as in the other text${at === undefined ? "" : ` at ${at}`}`;
}
