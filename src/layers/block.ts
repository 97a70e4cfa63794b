import type { Initialiser } from "../graph/leaves.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add } from "../ops/arithmetic.ts";
import { type AttentionConfig, attention, type KeysAndValues, type Past } from "./attention.ts";
import { drop } from "./dropout.ts";
import { type Activation, feedforward } from "./feedforward.ts";
import { type NormKind, norm } from "./norm.ts";

/** Before each sublayer, or after it. */
export const normPlaces = ["pre", "post"] as const;
export type NormPlace = (typeof normPlaces)[number];

export interface BlockConfig extends AttentionConfig {
  readonly hidden: number;
  readonly activation: Activation;
  readonly norm: NormKind;
  readonly normPlace: NormPlace;
  readonly normAffine: boolean;
  readonly residual: boolean;
  readonly feedforward: boolean;
}

export interface BlockInputs {
  readonly causal: boolean;
  readonly allowed?: Tensor;
  /** Tokens before these, when a sequence goes on. */
  readonly past?: Past;
  /** The encoder's last layer, for the cross-attention of a decoder, or the keys and values made of it; and which of its positions are real. */
  readonly memory?: ({ readonly states: Tensor } | { readonly known: KeysAndValues }) & { readonly allowed?: Tensor };
  readonly weight?: Initialiser;
  /** How projections into the residual stream start. */
  readonly output?: Initialiser;
}

/**
 * Attention, then feed-forward, each around a residual connection: x + f(norm(x)) before (pre), or norm(x + f(x)) after (post).
 * Dropout sits where the paper has it: on each sublayer's output and on the attention pattern.
 */
export const block = layer("residuals", (p, x: Tensor, config: BlockConfig, inputs: BlockInputs): Tensor => {
  const { causal, allowed, past, memory, weight, output } = inputs;
  let y = sublayer(p, "1", x, config, (h) => attention(p.at("attention"), h, config, { causal, allowed, past, weight, output }));
  if (memory) {
    const from = "known" in memory ? { known: memory.known } : { source: memory.states };
    const given = { ...from, allowed: memory.allowed, weight, output };
    y = sublayer(p, "cross", y, config, (h) => attention(p.at("cross"), h, config, given));
  }
  if (!config.feedforward) return y;
  const { hidden, activation } = config;
  return sublayer(p, "2", y, config, (h) => feedforward(p.at("feedforward"), h, { hidden, activation, weight, output }));
});

function sublayer(
  p: Scope,
  name: string,
  x: Tensor,
  { norm: kind, normAffine: affine, normPlace, residual, dropout }: BlockConfig,
  f: (h: Tensor) => Tensor,
): Tensor {
  const normed = (h: Tensor) => norm(p.at(`norm${name}`), h, { kind, affine });
  const y = drop(p.at(`drop${name}`), f(normPlace === "pre" ? normed(x) : x), dropout);
  const z = residual ? add(x, y) : y;
  return normPlace === "post" ? normed(z) : z;
}
