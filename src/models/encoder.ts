import { Dim } from "../graph/dim.ts";
import { tensorFunction } from "../graph/graph.ts";
import { inPart } from "../graph/place.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { normed } from "../layers/block.ts";
import { drop } from "../layers/dropout.ts";
import { functionOf } from "../layers/feedforward.ts";
import { dense } from "../layers/linear.ts";
import { add, div, mul, sub } from "../ops/arithmetic.ts";
import { and, cast, equal, greater, not, where } from "../ops/compare.ts";
import { fill, iota } from "../ops/fill.ts";
import { relu, sqrt, tanh } from "../ops/functions.ts";
import { causalMask, masked } from "../ops/mask.ts";
import { concat, reshape, slice } from "../ops/movement.ts";
import { matmul } from "../ops/products.ts";
import { sum } from "../ops/sum.ts";
import { type EncoderConfig, type EncoderInput, encoderConfig, type TransformerConfig } from "./config.ts";
import { lastOf } from "./continuation.ts";
import { type LossOptions, modeOf, scored, separatelyScored } from "./losses.ts";
import { effective, type Mode } from "./mode.ts";
import { embedded, keyMask, realPositions, stack, tokenScores, tokenTable } from "./transformer.ts";

/** What goes with the ids of a text. */
export interface EncoderInputs {
  /** The segment of each token, int32 [batch, time]; the first for all if left out. */
  readonly segments?: Tensor;
  /** Of tokens that are hidden: which positions are scored, bool [batch, picks, time] with one for each; all if left out. */
  readonly picks?: Tensor;
}

/** The last states, [batch, time, width]: every position sees every real position, or in a causal one itself and those before it. */
const encodedStates = layer((p, table: Tensor, ids: Tensor, lengths: Tensor, config: EncoderConfig, inputs: EncoderInputs = {}): Tensor => {
  const { causal, mask } = config;
  const hidden = causal && mask === "before-softmax"; // nobody sees what comes after the end of a row
  const allowed = hidden ? undefined : keyMask(realPositions(lengths, ids));
  return p.tap(
    "states",
    stack(p, embedded(p, table, ids, config, inputs), config, () => ({ causal, allowed })),
  );
});

const tableOf = (p: Scope, config: TransformerConfig): Tensor => tokenTable(p, "tokens", config.vocab, config);

/** The last states of a text without a head, [batch, time, width]. */
export const encoderStates = layer((p, ids: Tensor, lengths: Tensor, given: EncoderConfig, inputs: EncoderInputs = {}): Tensor => {
  const config = effective(given, {});
  return encodedStates(p, tableOf(p, config), ids, lengths, config, inputs);
});

/**
 * What an encoder says: scores of labels, [batch, labels] for a whole text or [batch, time, labels] for each position; the vector of a
 * text, [batch, width]; or scores of tokens for each position, [batch, time, vocab].
 */
export const encoder = layer(
  (p, ids: Tensor, lengths: Tensor, given: EncoderConfig, mode: Mode = {}, inputs: EncoderInputs = {}): Tensor => {
    const config = effective(given, mode);
    const states = () => encodedStates(p, tableOf(p, config), ids, lengths, config, inputs);
    const head = (x: Tensor) => inPart("logits", () => dense(p.at("labels"), x, config.labels));
    switch (config.task) {
      case "tag":
        return head(states());
      case "mlm":
        return hiddenTokens(p, ids, lengths, config, inputs);
      case "classify":
        return head(gathered(p, ids, lengths, config, inputs));
      case "embed": {
        const vectors = gathered(p, ids, lengths, config, inputs);
        return config.normalise ? unit(vectors) : vectors;
      }
    }
  },
);

/** A text as one vector, [batch, width]. */
function gathered(p: Scope, ids: Tensor, lengths: Tensor, config: EncoderConfig, inputs: EncoderInputs): Tensor {
  const { pooler, dropout } = config;
  const pooled = p.tap("pooled", pooledStates(p, ids, lengths, config, inputs));
  if (pooler === "none") return pooled;
  const f = { tanh, relu }[pooler];
  return drop(
    p.at("pooler"),
    inPart("logits", () => f(dense(p.at("pooler"), pooled, config.width))),
    dropout,
  );
}

function pooledStates(p: Scope, ids: Tensor, lengths: Tensor, config: EncoderConfig, inputs: EncoderInputs): Tensor {
  const [batch] = ids.shape;
  const states = () => encodedStates(p, tableOf(p, config), ids, lengths, config, inputs);
  const firstOf = (x: Tensor) => reshape(slice(x, 1, 0, 1), [batch, config.width]);
  switch (config.pool) {
    case "mean":
      return meanOverReal(states(), lengths);
    case "first":
      return firstOf(states());
    case "last":
      return lastOf(p, states(), sub(lengths, 1));
    case "class": {
      // A class token in front has the id after the last: what it gathers is what is classified.
      const front = fill("int32", [batch, Dim.of(1)], config.vocab);
      const wider = { ...config, vocab: config.vocab + 1, context: config.context + 1 };
      const segments = inputs.segments && concat([fill("int32", [batch, Dim.of(1)], 0), inputs.segments], 1);
      return firstOf(encodedStates(p, tableOf(p, wider), concat([front, ids], 1), add(lengths, 1), wider, { segments }));
    }
  }
}

/** What stands at each position, hidden or not, or at those that are picked: scores of tokens, after a layer of their own. */
function hiddenTokens(p: Scope, ids: Tensor, lengths: Tensor, config: EncoderConfig, inputs: EncoderInputs): Tensor {
  const table = tableOf(p, config);
  const all = encodedStates(p, table, ids, lengths, config, inputs);
  const states = inputs.picks ? inPart("logits", () => matmul(cast(inputs.picks as Tensor, all.dtype), all)) : all;
  const place = p.at("head");
  const transformed = () => normed(place, "norm", functionOf(config.activation)(dense(place, states, config.width)), config);
  return tokenScores(p, table, config.headTransform ? inPart("logits", transformed) : states, config);
}

/** Vectors of length 1. */
const unit = (x: Tensor): Tensor => div(x, sqrt(add(sum(mul(x, x), { axis: -1, keep: true }), 1e-24)));

/** The mean over the real positions, [batch, width]. */
function meanOverReal(states: Tensor, lengths: Tensor): Tensor {
  const [batch, time] = states.shape;
  const real = cast(realPositions(lengths, states), states.dtype);
  const total = sum(mul(states, reshape(real, [batch, time, 1])), { axis: 1 });
  const count = sum(real, { axis: 1, keep: true }); // [batch, 1]
  return div(total, where(greater(count, 0), count, 1)); // a row without any real position has mean 0
}

/** What is to be said of a batch: labels [batch], or 1 and 0 [batch, labels] where texts have several; tags and hidden tokens [batch, time]. */
function targetsOf({ task, labels, labelling }: EncoderConfig) {
  if (task === "tag" || task === "mlm") return int32(["batch", "time"]);
  return int32(labelling === "several" ? ["batch", labels] : ["batch"]);
}

/**
 * An encoder's training loss: targets are labels, tags, or hidden tokens. For vectors of texts they are rows of the batch: each text is to
 * be more like the one of its target than like all others, by cosine (van den Oord et al. 2018).
 */
export function encoderLoss(given: EncoderInput, options: LossOptions = {}) {
  const config = encoderConfig(given);
  const lossOf = config.task === "embed" ? contrasted : config.labelling === "several" ? separatelyScored : scored;
  const types = { ids: int32(["batch", "time"]), lengths: int32(["batch"]), targets: targetsOf(config) };
  return tensorFunction(types, (p, { ids, lengths, targets }) => {
    const of = (inputs: EncoderInputs) => encoder(p.at("encoder"), ids, lengths, config, modeOf(options), inputs);
    if (config.task !== "mlm" || options.most === undefined) return lossOf(of({}), targets, options);
    const picked = inPart("logits", () => pickedTargets(targets, options.most as number, options.ignore ?? -1));
    return lossOf(of({ picks: picked.picks }), picked.targets, options);
  });
}

/**
 * The first `most` positions of each row that have a target, and their targets, [batch, most]; what a row has too few of is ignored. So tokens are scored where one is
 * hidden alone, about one position of seven. A product picks them, and its gradient puts them back.
 */
function pickedTargets(targets: Tensor, most: number, ignore: number): { picks: Tensor; targets: Tensor } {
  const [batch, time] = targets.shape;
  const there = not(equal(targets, ignore));
  const before = matmul(cast(there, "float32"), cast(causalMask(time, time), "float32"), { transposeB: true }); // how many there are up to here
  const numbers = cast(add(iota(Dim.of(most)), 1), "float32");
  const row = (x: Tensor) => reshape(x, [batch, 1, time]);
  const picks = and(row(there), equal(row(before), reshape(numbers, [1, most, 1])));
  const found = sum(mul(cast(picks, "float32"), row(cast(sub(targets, ignore), "float32"))), { axis: 2 });
  return { picks, targets: add(cast(found, "int32"), ignore) };
}

/** How much cosines differ before the softmax. */
const sharpness = 20;

function contrasted(vectors: Tensor, targets: Tensor, options: LossOptions): { loss: Tensor; scores: Tensor } {
  const [batch] = vectors.shape;
  const each = unit(vectors);
  const alike = matmul(each, each, { transposeB: true, scale: sharpness }); // [batch, batch]
  const others = not(equal(reshape(iota(batch), [batch, 1]), reshape(iota(batch), [1, batch])));
  return { ...scored(masked(alike, others), targets, options), scores: vectors };
}
