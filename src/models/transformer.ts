import type { Dim } from "../graph/dim.ts";
import { type Initialiser, normal } from "../graph/leaves.ts";
import { inPart } from "../graph/place.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type BlockInputs, block } from "../layers/block.ts";
import { drop } from "../layers/dropout.ts";
import { dense } from "../layers/linear.ts";
import { norm } from "../layers/norm.ts";
import { type Places, positioned } from "../layers/positions.ts";
import { mul } from "../ops/arithmetic.ts";
import { cast, less } from "../ops/compare.ts";
import { iota } from "../ops/fill.ts";
import { embedding } from "../ops/lookup.ts";
import { reshape } from "../ops/movement.ts";
import { linear } from "../ops/products.ts";
import type { TransformerConfig } from "./config.ts";

// What decoder, encoder and encoder–decoder share: tokens with positions, and the stack of blocks.

/** A table of tokens. Beside sinusoids, whose numbers are of size 1, the paper scales embeddings up by √width; so they start smaller by as much. */
export const tokenTable = (p: Scope, name: string, vocab: number, { width, positions }: TransformerConfig): Tensor =>
  inPart("embedding", () => p.param(name, [vocab, width], normal(positions === "sinusoidal" ? width ** -0.5 : 0.02)));

/** Embedded tokens that know their place, [batch, time, width]. */
export const embedded = layer("embedding", (p, table: Tensor, ids: Tensor, config: TransformerConfig, places?: Places): Tensor => {
  const { positions: kind, context, joinPositions: join, dropout, width } = config;
  const looked = p.tap("embedded", embedding(table, ids)); // before anything is known of their places
  const tokens = kind === "sinusoidal" ? mul(looked, Math.sqrt(width)) : looked;
  return drop(p.at("embedded"), positioned(p.at("positions"), tokens, { kind, context, join }, places), dropout);
});

/** The scores of every token of a vocabulary: softmax(W h) with the embeddings as W, or with weights of its own. */
export const tokenScores = layer(
  "logits",
  (p, table: Tensor, states: Tensor, config: { readonly tie: boolean; readonly vocab: number }): Tensor =>
    config.tie
      ? linear(states, table, undefined, { transposed: true })
      : dense(p.at("scores"), states, config.vocab, { bias: false, weight: normal(0.02) }),
);

export type StackInputs = Omit<BlockInputs, "weight" | "output">;

/** N blocks, one after the other; with the norm before each sublayer, the last output needs one of its own. */
export const stack = layer((p, x: Tensor, config: TransformerConfig, inputsOf: (layer: number) => StackInputs): Tensor => {
  const start = starts(config, inputsOf(0).memory ? 3 : 2);
  const hidden = config.hidden ?? 4 * config.width;
  let y = x;
  for (let i = 0; i < config.layers; i++) {
    const place = p.at("block", i);
    y = place.tap("output", block(place, y, { ...config, hidden }, { ...inputsOf(i), ...start }));
  }
  return config.normPlace === "pre" ? norm(p.at("norm"), y, { kind: config.norm, affine: config.normAffine }) : y;
});

/**
 * Pre-norm stacks start as GPT-2 does: 0.02, and projections into the residual stream smaller by √branches, so that the sum over all
 * of them starts at the usual size. Others start as the original paper (Glorot): nothing else would keep signals alive in them.
 */
function starts(
  { normPlace, norm: kind, residual, layers }: TransformerConfig,
  branches: number,
): { weight?: Initialiser; output?: Initialiser } {
  const likeGpt = normPlace === "pre" && kind !== "none" && residual;
  return likeGpt ? { weight: normal(0.02), output: normal(0.02 / Math.sqrt(branches * layers)) } : {};
}

/** Which positions of a padded batch are real, from the lengths: bool [batch, time]. */
export const realPositions = (lengths: Tensor, like: Tensor): Tensor => realPlaces(lengths, like.shape[1]);

export const realPlaces = (lengths: Tensor, time: Dim): Tensor =>
  less(reshape(cast(iota(time), "int32"), [1, time]), reshape(lengths, [lengths.shape[0], 1]));

/** The same as a mask over keys: [batch, 1, 1, time]. */
export function keyMask(real: Tensor): Tensor {
  const [batch, time] = real.shape;
  return reshape(real, [batch, 1, 1, time]);
}
