import { tensorFunction } from "../graph/graph.ts";
import { normal } from "../graph/leaves.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { float32, int32 } from "../graph/type.ts";
import { dense } from "../layers/linear.ts";
import { reshape, slice } from "../ops/movement.ts";
import { linear } from "../ops/products.ts";
import { type EncoderDecoderConfig, type EncoderDecoderInput, encoderDecoderConfig } from "./config.ts";
import { type LossOptions, modeOf, type Pair, pairLoss } from "./losses.ts";
import { effective, embedded, keyMask, type Mode, realPositions, stack, tokenTable } from "./transformer.ts";

const targetTable = (p: Scope, config: EncoderDecoderConfig): Tensor => tokenTable(p, "tokens", config.vocab, config);

/** Source and target share a table unless the source has a vocabulary of its own. */
const sourceTable = (p: Scope, config: EncoderDecoderConfig): Tensor | undefined =>
  config.sourceVocab === undefined ? undefined : tokenTable(p, "source-tokens", config.sourceVocab, config);

/** What the encoder makes of the source, [batch, sourceTime, width]. */
const encodedSource = layer((p, table: Tensor, source: Tensor, lengths: Tensor, config: EncoderDecoderConfig): Tensor => {
  const reader = p.at("encoder");
  const allowed = keyMask(realPositions(lengths, source));
  return stack(reader, embedded(reader, table, source, config), config, { causal: false, allowed });
});

interface Memory {
  readonly states: Tensor;
  readonly lengths: Tensor;
}

/** The decoder's states for the target so far, [batch, time, width]. It sees its own past, and in every layer the encoder's last. */
const writtenStates = layer((p, table: Tensor, { states, lengths }: Memory, target: Tensor, config: EncoderDecoderConfig): Tensor => {
  const writer = p.at("decoder");
  const memory = { states, allowed: keyMask(realPositions(lengths, states)) };
  return stack(writer, embedded(writer, table, target, config), config, { causal: true, memory });
});

const scoresOver = (p: Scope, table: Tensor, written: Tensor, { tie, vocab }: EncoderDecoderConfig): Tensor =>
  tie
    ? linear(written, table, undefined, { transposed: true })
    : dense(p.at("scores"), written, vocab, { bias: false, weight: normal(0.02) });

/** The scores of every next target token, [batch, time, vocab]. */
export const encoderDecoder = layer((p, { source, lengths, target }: Pair, given: EncoderDecoderConfig, mode: Mode = {}): Tensor => {
  const config = effective(given, mode);
  const table = targetTable(p, config);
  const states = encodedSource(p, sourceTable(p, config) ?? table, source, lengths, config);
  return scoresOver(p, table, writtenStates(p, table, { states, lengths }, target, config), config);
});

/** The model in two parts, to decode with: the encoder, which runs once, and the scores of the token after the target so far, [batch, vocab]. */
export function encoderDecoderParts(given: EncoderDecoderInput) {
  const config = encoderDecoderConfig({ ...given, dropout: 0 });
  const lengths = int32(["batch"]);
  return {
    encode: tensorFunction({ source: int32(["batch", "sourceTime"]), lengths }, (root, inputs) => {
      const p = root.at("model");
      const table = sourceTable(p, config) ?? targetTable(p, config);
      return { states: encodedSource(p, table, inputs.source, inputs.lengths, config) };
    }),
    next: tensorFunction(
      { states: float32(["batch", "sourceTime", config.width]), lengths, target: int32(["batch", "time"]) },
      (root, { target, ...memory }) => {
        const p = root.at("model");
        const table = targetTable(p, config);
        const written = writtenStates(p, table, memory, target, config);
        const [batch, time, width] = written.shape;
        const last = reshape(slice(written, 1, time.minus(1), time), [batch, width]);
        return { scores: scoresOver(p, table, last, config) };
      },
    ),
  };
}

/** Its training loss: targets are the target tokens shifted by one. */
export function encoderDecoderLoss(given: EncoderDecoderInput, options: LossOptions = {}) {
  const config = encoderDecoderConfig(given);
  return pairLoss((p, pair) => encoderDecoder(p.at("model"), pair, config, modeOf(options)), options);
}
