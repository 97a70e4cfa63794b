import { Dim } from "../graph/dim.ts";
import { tensorFunction } from "../graph/graph.ts";
import { inPart } from "../graph/place.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { dense } from "../layers/linear.ts";
import { add, div, mul } from "../ops/arithmetic.ts";
import { cast, greater, where } from "../ops/compare.ts";
import { fill } from "../ops/fill.ts";
import { concat, reshape, slice } from "../ops/movement.ts";
import { sum } from "../ops/sum.ts";
import { type EncoderConfig, type EncoderInput, encoderConfig, type TransformerConfig } from "./config.ts";
import { type LossOptions, modeOf, scored, separatelyScored } from "./losses.ts";
import { effective, type Mode } from "./mode.ts";
import { embedded, keyMask, realPositions, stack, tokenTable } from "./transformer.ts";

/** Every position sees every real position, [batch, time, width]. */
const encodedStates = layer((p, ids: Tensor, lengths: Tensor, config: TransformerConfig): Tensor => {
  const table = tokenTable(p, "tokens", config.vocab, config);
  const allowed = keyMask(realPositions(lengths, ids));
  return stack(p, embedded(p, table, ids, config), config, () => ({ causal: false, allowed }));
});

/** Scores of labels: [batch, labels] for a whole text, [batch, time, labels] for each position. */
export const encoder = layer((p, ids: Tensor, lengths: Tensor, given: EncoderConfig, mode: Mode = {}): Tensor => {
  const config = effective(given, mode);
  const head = (x: Tensor) => inPart("logits", () => dense(p.at("labels"), x, config.labels));
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
  const count = sum(real, { axis: 1, keep: true }); // [batch, 1]
  return div(total, where(greater(count, 0), count, 1)); // a row without any real position has mean 0
}

/** An encoder's training loss: targets are labels [batch], or [batch, time] for tagging, or 1 and 0 [batch, labels] where texts have several. */
export function encoderLoss(given: EncoderInput, options: LossOptions = {}) {
  const config = encoderConfig(given);
  const several = config.labelling === "several";
  const targets = int32(config.task === "tag" ? ["batch", "time"] : several ? ["batch", config.labels] : ["batch"]);
  const lossOf = several ? separatelyScored : scored;
  return tensorFunction({ ids: int32(["batch", "time"]), lengths: int32(["batch"]), targets }, (p, inputs) =>
    lossOf(encoder(p.at("encoder"), inputs.ids, inputs.lengths, config, modeOf(options)), inputs.targets, options),
  );
}
