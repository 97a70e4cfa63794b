import type { AttentionKind } from "../../../src/inspection/look.ts";
import type { PackedAttention } from "../../../src/views/packed.ts";

// Which attention is shown, and how: all of it is in the address. What an address says that this model does not have is the nearest that it has.

/** A head; the mean of a layer's heads, of all heads; or what reaches each position through all layers up to one. */
export type HeadChoice = number | "mean" | "all" | "rollout";
export type Shape = "lines" | "map" | "neurons";

export interface Choice {
  readonly kind: AttentionKind;
  readonly layer: number;
  readonly head: HeadChoice;
  readonly shape: Shape;
}

/** All kinds that there are, the name of each in an address. */
export const attentionKinds: readonly AttentionKind[] = ["self", "cross", "encoder"];

const shapes: readonly Shape[] = ["lines", "map", "neurons"];

/** The kinds that a model has. An encoder has one under two names. */
export const kindsOf = ({ kinds }: Pick<PackedAttention, "kinds">): readonly AttentionKind[] =>
  kinds.includes("cross") ? kinds : kinds.slice(0, 1);

/** What can stand in the place of one head. */
export function mixturesOf({ kind, sizes: { layers, heads } }: Pick<PackedAttention, "kind" | "sizes">): Exclude<HeadChoice, number>[] {
  return [
    ...(heads > 1 ? (["mean"] as const) : []),
    ...(layers > 1 ? (["all"] as const) : []),
    ...(kind !== "cross" && layers > 1 ? (["rollout"] as const) : []),
  ];
}

const whole = (text: string | undefined): number | undefined => (text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined);

export function choiceOf(params: Readonly<Record<string, string>>, look: Pick<PackedAttention, "kind" | "sizes">): Choice {
  const { kind, sizes } = look;
  const mixture = mixturesOf(look).find((name) => name === params.head);
  const shape = shapes.find((name) => name === params.shape) ?? (kind === "cross" ? "map" : "lines");
  return {
    kind,
    layer: Math.min(sizes.layers - 1, whole(params.layer) ?? 0),
    head: mixture ?? Math.min(sizes.heads - 1, whole(params.head) ?? 0),
    shape: shape === "neurons" && mixture ? "lines" : shape,
  };
}

/** Its name: of a head, a mean or a rollout. */
export function nameOf({ layer, head }: Pick<Choice, "layer" | "head">, { sizes }: Pick<PackedAttention, "sizes">): string {
  switch (head) {
    case "mean":
      return `layer ${layer}, the mean of its ${sizes.heads} heads`;
    case "all":
      return `the mean of all ${sizes.layers * sizes.heads} heads`;
    case "rollout":
      return `rollout to layer ${layer}`;
    default:
      return `layer ${layer}, head ${head}`;
  }
}

export const kindWords = (kind: AttentionKind, model: string): string =>
  kind === "cross" && model === "rnn"
    ? "alignment"
    : { self: "self-attention", cross: "cross-attention", encoder: "self-attention of the encoder" }[kind];
