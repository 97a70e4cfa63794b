import { normal } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { dense } from "../layers/linear.ts";
import { linear } from "../ops/products.ts";
import { type DecoderConfig, type DecoderInput, decoderConfig } from "./config.ts";
import { type LossOptions, modeOf, nextTokenLoss } from "./losses.ts";
import { effective, embedded, type Mode, stack, tokenTable } from "./transformer.ts";

/** The scores of every next token, [batch, time, vocab]: each position sees itself and what came before. */
export const decoder = layer((p, ids: Tensor, given: DecoderConfig, mode: Mode = {}): Tensor => {
  const config = effective(given, mode);
  const table = tokenTable(p, "tokens", config.vocab, config);
  const states = stack(p, embedded(p, table, ids, config), config, { causal: true }); // [batch, time, width]
  if (!config.tie) return dense(p.at("scores"), states, config.vocab, { bias: false, weight: normal(0.02) });
  return linear(states, table, undefined, { transposed: true }); // softmax(W h) with the embeddings as W
});

/** A decoder's training loss: the mean negative log-likelihood of the next tokens. */
export function decoderLoss(given: DecoderInput, options: LossOptions = {}) {
  const config = decoderConfig(given);
  return nextTokenLoss((p, ids) => decoder(p.at("decoder"), ids, config, modeOf(options)), options);
}
