import type { Dim } from "../graph/dim.ts";
import { type Initialiser, normal, zeros } from "../graph/leaves.ts";
import { inPart } from "../graph/place.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { softCapped } from "../layers/attention.ts";
import { type BlockConfig, type BlockInputs, block, normed } from "../layers/block.ts";
import { drop } from "../layers/dropout.ts";
import { dense } from "../layers/linear.ts";
import { type Places, positioned, relativeTable } from "../layers/positions.ts";
import { add, mul } from "../ops/arithmetic.ts";
import { cast, less } from "../ops/compare.ts";
import { iota } from "../ops/fill.ts";
import { embedding } from "../ops/lookup.ts";
import { reshape, slice } from "../ops/movement.ts";
import { linear } from "../ops/products.ts";
import { type ScoreConfig, type TransformerConfig, windowAt } from "./config.ts";

// What decoder, encoder and encoder–decoder share: tokens with positions, and the stack of blocks.

/** A table of tokens. Beside sinusoids, whose numbers are of size 1, the paper scales embeddings up by √width; so they start smaller by as much. */
export const tokenTable = (p: Scope, name: string, vocab: number, { width, positions }: TransformerConfig): Tensor =>
  inPart("embedding", () => p.param(name, [vocab, width], normal(positions === "sinusoidal" ? width ** -0.5 : 0.02)));

/** What is known of tokens besides their order. */
export interface TokenFacts {
  /** Where they stand, when they go on after others. */
  readonly places?: Places;
  /** The segment of each, int32 [batch, time]; the first for all if left out. */
  readonly segments?: Tensor;
}

/** Embedded tokens that know their place, [batch, time, width]. */
export const embedded = layer("embedding", (p, table: Tensor, ids: Tensor, config: TransformerConfig, facts: TokenFacts = {}): Tensor => {
  const { positions: kind, context, joinPositions: join, dropout, width } = config;
  const looked = p.tap("embedded", embedding(table, ids)); // before anything is known of their places
  const scale = config.embeddingScale ?? (kind === "sinusoidal" ? Math.sqrt(width) : 1);
  const tokens = scale === 1 ? looked : mul(looked, scale);
  const placed = positioned(p.at("positions"), tokens, { kind, context, join }, facts.places);
  const told = config.segments === 0 ? placed : add(placed, segmentRows(p.at("segments"), config, facts.segments));
  const known = told === looked ? told : p.tap("positioned", told);
  return drop(p.at("embedded"), config.embeddingNorm ? normed(p, "embedding-norm", known, config) : known, dropout);
});

/** The row of each token's segment; that of the first for all, unless segments are given. */
function segmentRows(p: Scope, config: TransformerConfig, segments?: Tensor): Tensor {
  const table = p.param("table", [config.segments, config.width], normal(0.02));
  return segments ? embedding(table, segments) : slice(table, 0, 0, 1); // [1, width]
}

/** The scores of every token of a vocabulary: softmax(W h) with the embeddings as W, or with weights of its own. */
export const tokenScores = layer("logits", (p, table: Tensor, states: Tensor, config: ScoreConfig): Tensor => {
  const { tie, vocab, zeroInit, scoresScale, scoresBias, scoresCap } = config;
  const scaled = scoresScale === undefined ? states : mul(states, scoresScale);
  const place = p.at("scores");
  const tied = () => linear(scaled, table, scoresBias ? place.param("bias", [vocab], zeros) : undefined, { transposed: true });
  return softCapped(tie ? tied() : dense(place, scaled, vocab, { bias: scoresBias, weight: zeroInit ? zeros : normal(0.02) }), scoresCap);
});

export type StackInputs = Omit<BlockInputs, "weight" | "output" | "relative" | "firstValues">;

/** N blocks, one after the other; with the norm before each sublayer, the last output needs one of its own. */
export const stack = layer((p, x: Tensor, config: TransformerConfig, inputsOf: (layer: number) => StackInputs): Tensor => {
  const start = starts(config, inputsOf(0).memory ? 3 : 2);
  const relative = config.positions === "relative" && config.relativeShared ? relativeTable(p, config.heads, config) : undefined;
  let y = x;
  for (let i = 0; i < config.layers; i++) {
    const place = p.at("block", i);
    const firstValues = config.valueResidual && i > 0 ? p.tapped(`${p.at("block", 0).at("attention").path}/v`) : undefined;
    y = place.tap("output", block(place, y, blockConfig(config, i), { ...inputsOf(i), relative, firstValues, ...start }));
  }
  return config.normPlace === "post" ? y : normed(p, "norm", y, config);
});

/** What one layer is made by: those with a window may have rotary positions of their own. */
export function blockConfig(config: TransformerConfig, layer: number): BlockConfig {
  const { ropeBase, ropeLocalBase, ropeScaling, width, hidden = 4 * width } = config;
  const window = windowAt(config, layer);
  const local = window !== undefined && ropeLocalBase !== undefined;
  return { ...config, hidden, window, ropeBase: local ? ropeLocalBase : ropeBase, ropeScaling: local ? "none" : ropeScaling };
}

/**
 * Stacks with a norm before each sublayer start as GPT-2 does: 0.02, and projections into the residual stream smaller by √branches, so that the sum over all
 * of them starts at the usual size. Others start as the original paper (Glorot): nothing else would keep signals alive in them. Blocks that start at 0 add nothing at first.
 */
function starts(
  { normPlace, norm: kind, residual, layers, zeroInit }: TransformerConfig,
  branches: number,
): { weight?: Initialiser; output?: Initialiser } {
  const likeGpt = normPlace !== "post" && kind !== "none" && residual;
  const start = likeGpt ? { weight: normal(0.02), output: normal(0.02 / Math.sqrt(branches * layers)) } : {};
  return zeroInit ? { ...start, output: zeros } : start;
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
