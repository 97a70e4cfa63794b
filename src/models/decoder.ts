import { tensorFunction } from "../graph/graph.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { type DecoderConfig, type DecoderInput, decoderConfig } from "./config.ts";
import { continued, final, lastOf, nextToken, stepInputs } from "./continuation.ts";
import { type LossOptions, modeOf, nextTokenLoss } from "./losses.ts";
import { effective, type Mode } from "./mode.ts";
import { embedded, stack, tokenScores, tokenTable } from "./transformer.ts";

/** The scores of every next token, [batch, time, vocab]: each position sees itself and what came before. */
export const decoder = layer((p, ids: Tensor, given: DecoderConfig, mode: Mode = {}): Tensor => {
  const config = effective(given, mode);
  const table = tokenTable(p, "tokens", config.vocab, config);
  const states = stack(p, embedded(p, table, ids, config), config, () => ({ causal: true })); // [batch, time, width]
  return tokenScores(p, table, states, config);
});

/** The decoder as it is used: it goes on after tokens whose keys and values are kept, and scores the one that comes next, [batch, vocab]. */
export function decoderStep(given: DecoderInput) {
  const config = decoderConfig({ ...given, dropout: 0 });
  return tensorFunction(stepInputs(config, "decoder"), (root, inputs) => {
    const p = root.at("decoder");
    const table = tokenTable(p, "tokens", config.vocab, config);
    const pasts = continued(p, inputs, config);
    const states = stack(p, embedded(p, table, inputs.ids, config, { places: pasts[0].places }), config, (i) => ({
      causal: true,
      past: pasts[i],
    }));
    return nextToken(tokenScores(p, table, lastOf(p, states, inputs.last), config));
  });
}

/** The same from all tokens at once, for a decoder that cannot keep anything of those before; the rows are equally long. */
export function decoderWhole(given: DecoderInput) {
  const config = decoderConfig({ ...given, dropout: 0 });
  return tensorFunction({ ids: int32(["batch", "time"]) }, (p, { ids }) => nextToken(final(decoder(p.at("decoder"), ids, config))));
}

/** A decoder's training loss: the mean negative log-likelihood of the next tokens. */
export function decoderLoss(given: DecoderInput, options: LossOptions = {}) {
  const config = decoderConfig(given);
  return nextTokenLoss((p, ids) => decoder(p.at("decoder"), ids, config, modeOf(options)), options);
}
