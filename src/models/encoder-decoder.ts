import { normal } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { dense } from "../layers/linear.ts";
import { linear } from "../ops/products.ts";
import { type EncoderDecoderConfig, type EncoderDecoderInput, encoderDecoderConfig } from "./config.ts";
import { type LossOptions, modeOf, type Pair, pairLoss } from "./losses.ts";
import { effective, embedded, keyMask, type Mode, realPositions, stack, tokenTable } from "./transformer.ts";

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
  if (!config.tie) return dense(p.at("scores"), written, vocab, { bias: false, weight: normal(0.02) });
  return linear(written, table, undefined, { transposed: true });
});

/** Its training loss: targets are the target tokens shifted by one. */
export function encoderDecoderLoss(given: EncoderDecoderInput, options: LossOptions = {}) {
  const config = encoderDecoderConfig(given);
  return pairLoss((p, pair) => encoderDecoder(p.at("model"), pair, config, modeOf(options)), options);
}
