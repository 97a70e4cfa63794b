import { Dim } from "../graph/dim.ts";
import { tensorFunction } from "../graph/graph.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { dense } from "../layers/linear.ts";
import { add, div, mul } from "../ops/arithmetic.ts";
import { cast } from "../ops/compare.ts";
import { fill } from "../ops/fill.ts";
import { type CrossEntropyOptions, softmaxCrossEntropy } from "../ops/loss.ts";
import { concat, reshape, slice } from "../ops/movement.ts";
import { sum } from "../ops/sum.ts";
import { type EncoderConfig, type EncoderInput, encoderConfig, type TransformerConfig } from "./config.ts";
import { effective, embedded, keyMask, type Mode, realPositions, stack, tokenTable } from "./transformer.ts";

/** Every position sees every real position, [batch, time, width]. */
export const encodedStates = layer((p, ids: Tensor, lengths: Tensor, config: TransformerConfig): Tensor => {
  const table = tokenTable(p, "tokens", config.vocab, config);
  return stack(p, embedded(p, table, ids, config), config, { causal: false, allowed: keyMask(realPositions(lengths, ids)) });
});

/** Scores of labels: [batch, labels] for a whole text, [batch, time, labels] for each position. */
export const encoder = layer((p, ids: Tensor, lengths: Tensor, given: EncoderConfig, mode: Mode = {}): Tensor => {
  const config = effective(given, mode);
  const head = (x: Tensor) => dense(p.at("labels"), x, config.labels);
  if (config.task === "tag") return head(encodedStates(p, ids, lengths, config));
  if (config.pool === "mean") return head(meanOverReal(encodedStates(p, ids, lengths, config), lengths));
  // A class token in front has the id after the last: what it gathers is what is classified.
  const [batch] = ids.shape;
  const front = fill("int32", [batch, Dim.of(1)], config.vocab);
  const states = encodedStates(p, concat([front, ids], 1), add(lengths, 1), {
    ...config,
    vocab: config.vocab + 1,
    context: config.context + 1,
  });
  return head(reshape(slice(states, 1, 0, 1), [batch, config.width]));
});

/** The mean over the real positions, [batch, width]. */
function meanOverReal(states: Tensor, lengths: Tensor): Tensor {
  const [batch, time] = states.shape;
  const real = cast(realPositions(lengths, states), states.dtype);
  const total = sum(mul(states, reshape(real, [batch, time, 1])), { axis: 1 });
  return div(total, reshape(cast(lengths, states.dtype), [batch, 1]));
}

/** An encoder's training loss: targets are labels [batch], or [batch, time] for tagging with −1 where there is none. */
export function encoderLoss(given: EncoderInput, { smoothing, ...mode }: Mode & CrossEntropyOptions = { training: true }) {
  const config = encoderConfig(given);
  const inputs = { ids: int32(["batch", "time"]), lengths: int32(["batch"]) };
  const loss = (scores: Tensor, targets: Tensor) => ({ loss: softmaxCrossEntropy(scores, targets, { ignore: -1, smoothing }), scores });
  return tensorFunction(
    { ...inputs, targets: int32(config.task === "tag" ? ["batch", "time"] : ["batch"]) },
    (p, { ids, lengths, targets }) => loss(encoder(p.at("encoder"), ids, lengths, config, mode), targets),
  );
}
