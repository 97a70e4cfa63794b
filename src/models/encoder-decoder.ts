import { tensorFunction } from "../graph/graph.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { dense } from "../layers/linear.ts";
import { type CrossEntropyOptions, softmaxCrossEntropy } from "../ops/loss.ts";
import { linear } from "../ops/products.ts";
import { type EncoderDecoderConfig, type EncoderDecoderInput, encoderDecoderConfig } from "./config.ts";
import { effective, embedded, keyMask, type Mode, realPositions, stack, tokenTable } from "./transformer.ts";

/** What an encoder–decoder reads: the source with its lengths, and the target so far. */
export interface Pair {
  readonly source: Tensor;
  readonly lengths: Tensor;
  readonly target: Tensor;
}

/** The scores of every next target token, [batch, time, vocab]. The decoder sees its own past, and in every layer the encoder's last. */
export const encoderDecoder = layer((p, { source, lengths, target }: Pair, given: EncoderDecoderConfig, mode: Mode = {}): Tensor => {
  const config = effective(given, mode);
  const { vocab, sourceVocab } = config;
  const table = tokenTable(p, "tokens", vocab, config);
  const sourceTable = sourceVocab === undefined ? table : tokenTable(p, "source-tokens", sourceVocab, config);
  const real = keyMask(realPositions(lengths, source));
  const [reader, writer] = [p.at("encoder"), p.at("decoder")];
  const states = stack(reader, embedded(reader, sourceTable, source, config), config, { causal: false, allowed: real });
  const written = stack(writer, embedded(writer, table, target, config), config, { causal: true, memory: { states, allowed: real } });
  if (!config.tie) return dense(p.at("scores"), written, vocab, { bias: false });
  return linear(written, table, undefined, { transposed: true });
});

/** Its training loss: targets are the target tokens shifted by one, −1 where there is none. */
export function encoderDecoderLoss(given: EncoderDecoderInput, { smoothing, ...mode }: Mode & CrossEntropyOptions = { training: true }) {
  const config = encoderDecoderConfig(given);
  const target = int32(["batch", "time"]);
  return tensorFunction(
    { source: int32(["batch", "sourceTime"]), lengths: int32(["batch"]), target, targets: target },
    (p, { targets, ...pair }) => {
      const scores = encoderDecoder(p.at("model"), pair, config, mode);
      return { loss: softmaxCrossEntropy(scores, targets, { ignore: -1, smoothing }), scores };
    },
  );
}
