import { tensorFunction } from "../graph/graph.ts";
import { normal } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { dense } from "../layers/linear.ts";
import { type CrossEntropyOptions, softmaxCrossEntropy } from "../ops/loss.ts";
import { linear } from "../ops/products.ts";
import { type DecoderConfig, type DecoderInput, decoderConfig } from "./config.ts";
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
export function decoderLoss(given: DecoderInput, { ignore, ...mode }: Mode & CrossEntropyOptions = { training: true }) {
  const config = decoderConfig(given);
  return tensorFunction({ ids: int32(["batch", "time"]), targets: int32(["batch", "time"]) }, (p, { ids, targets }) => {
    const scores = decoder(p.at("decoder"), ids, config, mode);
    return { loss: softmaxCrossEntropy(scores, targets, { ignore, smoothing: mode.smoothing }), scores };
  });
}
