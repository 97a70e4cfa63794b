import type { Initialiser } from "../graph/leaves.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add } from "../ops/arithmetic.ts";
import { type AttentionConfig, attention, hasBias, type KeysAndValues, type Past } from "./attention.ts";
import { drop } from "./dropout.ts";
import { type Activation, feedforward } from "./feedforward.ts";
import { type NormKind, norm } from "./norm.ts";

/** Before each sublayer, after it and its residual connection, or before it and after it, inside that connection. */
export const normPlaces = ["pre", "post", "both"] as const;
export type NormPlace = (typeof normPlaces)[number];

/** Whether sublayers work side by side on the same input, each with a norm of its own or all with one. */
export const parallels = ["none", "own-norm", "shared-norm"] as const;
export type Parallel = (typeof parallels)[number];

export interface BlockConfig extends AttentionConfig {
  readonly hidden: number;
  readonly activation: Activation;
  readonly norm: NormKind;
  readonly normPlace: NormPlace;
  readonly normAffine: boolean;
  readonly normBias?: boolean;
  readonly residual: boolean;
  readonly feedforward: boolean;
  readonly parallel?: Parallel;
}

export interface BlockInputs {
  readonly causal: boolean;
  readonly allowed?: Tensor;
  /** Tokens before these, when a sequence goes on. */
  readonly past?: Past;
  /** A table of relative positions that all layers share. */
  readonly relative?: Tensor;
  /** Values of the same tokens in the first layer of the stack, to be mixed with its own. */
  readonly firstValues?: Tensor;
  /** The encoder's last layer, for the cross-attention of a decoder, or the keys and values made of it; and which of its positions are real. */
  readonly memory?: ({ readonly states: Tensor } | { readonly known: KeysAndValues }) & { readonly allowed?: Tensor };
  readonly weight?: Initialiser;
  /** How projections into the residual stream start. */
  readonly output?: Initialiser;
}

/** One part of a block, by its place and by the name of its norm and its dropout. */
interface Sublayer {
  readonly place: string;
  readonly name: string;
  readonly f: (h: Tensor) => Tensor;
}

/**
 * Attention, then feed-forward, each around a residual connection: x + f(norm(x)) before (pre), norm(x + f(x)) after (post), or
 * x + norm(f(norm(x))) (both). In parallel all of them see the same x, and their sum is added to it.
 * Dropout sits where the paper has it: on each sublayer's output and on the attention pattern.
 */
export const block = layer("residuals", (p, x: Tensor, config: BlockConfig, inputs: BlockInputs): Tensor => {
  const { parallel = "none" } = config;
  const all = sublayers(p, config, inputs);
  if (parallel === "none") return all.reduce((y, one) => inSequence(p, one, y, config), x);
  const shared = parallel === "shared-norm" ? normed(p, "norm1", x, config) : undefined;
  const outputs = all.map((one) => branch(p, one, shared ?? normed(p, `norm${one.name}`, x, config), config));
  return (config.residual ? [x, ...outputs] : outputs).reduce((a, b) => add(a, b));
});

function sublayers(p: Scope, config: BlockConfig, inputs: BlockInputs): Sublayer[] {
  const { causal, allowed, past, memory, relative, firstValues, weight, output } = inputs;
  const { hidden, activation } = config;
  const asked = memory && ("known" in memory ? { known: memory.known } : { source: memory.states });
  const given = { ...asked, places: past?.places, allowed: memory?.allowed, weight, output };
  const bias = hasBias(config, "feedforward");
  return [
    {
      place: "attention",
      name: "1",
      f: (h) => attention(p.at("attention"), h, config, { causal, allowed, past, relative, firstValues, weight, output }),
    },
    ...(memory ? [{ place: "cross", name: "cross", f: (h: Tensor) => attention(p.at("cross"), h, config, given) }] : []),
    ...(config.feedforward
      ? [
          {
            place: "feedforward",
            name: "2",
            f: (h: Tensor) => feedforward(p.at("feedforward"), h, { hidden, activation, bias, weight, output }),
          },
        ]
      : []),
  ];
}

function inSequence(p: Scope, one: Sublayer, x: Tensor, config: BlockConfig): Tensor {
  const after = config.normPlace === "post";
  const y = branch(p, one, after ? x : normed(p, `norm${one.name}`, x, config), config);
  const z = config.residual ? p.at(one.place).tap("added", add(x, y)) : y;
  return after ? normed(p, `norm${one.name}`, z, config) : z;
}

/** What a sublayer adds to the residual stream. */
function branch(p: Scope, { name, f }: Sublayer, h: Tensor, config: BlockConfig): Tensor {
  const y = f(h);
  const z = config.normPlace === "both" ? normed(p, `norm${name}-after`, y, config) : y;
  return drop(p.at(`drop${name}`), z, config.dropout);
}

/** A norm as all of a model are. */
export const normed = (p: Scope, name: string, x: Tensor, config: NormSettings): Tensor => {
  const { norm: kind, normAffine: affine, normBias: bias, epsilon } = config;
  const y = norm(p.at(name), x, { kind, affine, bias, epsilon });
  return kind === "none" ? y : p.at(name).tap("normed", y);
};

type NormSettings = Pick<BlockConfig, "norm" | "normAffine" | "normBias" | "epsilon">;
