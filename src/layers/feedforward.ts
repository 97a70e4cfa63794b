import type { Initialiser } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { gelu, geluTanh, silu } from "../ops/activation.ts";
import { mul } from "../ops/arithmetic.ts";
import { relu } from "../ops/functions.ts";
import { dense } from "./linear.ts";

export const activations = ["relu", "gelu", "gelu-tanh", "swiglu"] as const;
export type Activation = (typeof activations)[number];

export interface FeedforwardOptions {
  readonly hidden: number;
  readonly activation: Activation;
  readonly weight?: Initialiser;
  /** How the projection back to the width starts. */
  readonly output?: Initialiser;
}

const functions = { relu, gelu, "gelu-tanh": geluTanh } as const;

/** f(x W₁ + b₁) W₂ + b₂, for each position alone. SwiGLU has a gate beside it: (silu(x W₁) ∘ x V) W₂ (Shazeer 2020), without biases. */
export const feedforward = layer("feed-forward", (p, x: Tensor, options: FeedforwardOptions): Tensor => {
  const { hidden, activation, weight, output = weight } = options;
  const width = x.shape[x.rank - 1].known;
  if (activation === "swiglu") {
    const gate = silu(dense(p.at("gate"), x, hidden, { weight, bias: false }));
    const raised = mul(gate, dense(p.at("expand"), x, hidden, { weight, bias: false }));
    return dense(p.at("contract"), p.tap("hidden", raised), width, { weight: output, bias: false });
  }
  const raised = functions[activation](dense(p.at("expand"), x, hidden, { weight })); // [batch, time, hidden]
  return dense(p.at("contract"), p.tap("hidden", raised), width, { weight: output });
});
