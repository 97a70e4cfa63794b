import { tensorFunction } from "../graph/graph.ts";
import { normal } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { attention } from "../layers/attention.ts";
import { dense } from "../layers/linear.ts";
import { norm } from "../layers/norm.ts";
import { gelu } from "../ops/activation.ts";
import { add } from "../ops/arithmetic.ts";
import { embedding } from "../ops/lookup.ts";
import { softmaxCrossEntropy } from "../ops/loss.ts";
import { slice } from "../ops/movement.ts";
import { linear } from "../ops/products.ts";

export interface DecoderConfig {
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly context: number;
  readonly vocab: number;
}

/** x + attention(norm(x)), then x + feedforward(norm(x)): the pre-norm block. */
const block = layer((p, x: Tensor, { heads, layers, width }: DecoderConfig): Tensor => {
  const output = normal(0.02 / Math.sqrt(2 * layers)); // so that the sum over all residual branches starts at the usual size
  const attended = add(x, attention(p.at("attention"), norm(p.at("norm1"), x), { heads, output }));
  const hidden = gelu(dense(p.at("expand"), norm(p.at("norm2"), attended), 4 * width));
  return add(attended, dense(p.at("contract"), hidden, width, output));
});

/** The scores of every next token, [batch, time, vocab]. */
export const decoder = layer((p, ids: Tensor, config: DecoderConfig): Tensor => {
  const { layers, width, context, vocab } = config;
  const table = p.param("tokens", [vocab, width]);
  const positions = p.param("positions", [context, width]);
  let x = add(embedding(table, ids), slice(positions, 0, 0, ids.shape[1])); // [batch, time, width]
  for (let i = 0; i < layers; i++) x = block(p.at("block", i), x, config);
  return linear(norm(p.at("norm"), x), table, undefined, { transposed: true }); // the output layer shares the table
});

/** A decoder's training loss: the mean negative log-likelihood of the next tokens. */
export const decoderLoss = (config: DecoderConfig) =>
  tensorFunction({ ids: int32(["batch", "time"]), targets: int32(["batch", "time"]) }, (p, { ids, targets }) => ({
    loss: softmaxCrossEntropy(decoder(p.at("decoder"), ids, config), targets),
  }));
