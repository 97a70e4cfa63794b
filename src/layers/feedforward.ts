import type { Initialiser } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { gelu, geluTanh, reluSquared, silu } from "../ops/activation.ts";
import { mul } from "../ops/arithmetic.ts";
import { relu } from "../ops/functions.ts";
import { dense } from "./linear.ts";

/** The last three have a gate. */
export const activations = ["relu", "relu2", "gelu", "gelu-tanh", "silu", "swiglu", "geglu", "geglu-tanh"] as const;
export type Activation = (typeof activations)[number];

export interface FeedforwardOptions {
  readonly hidden: number;
  readonly activation: Activation;
  /** Whether the projections have biases; those with a gate never have. */
  readonly bias?: boolean;
  readonly weight?: Initialiser;
  /** How the projection back to the width starts. */
  readonly output?: Initialiser;
}

const functions = { relu, relu2: reluSquared, gelu, "gelu-tanh": geluTanh, silu } as const;
/** What the gate goes through. */
const gates = { swiglu: silu, geglu: gelu, "geglu-tanh": geluTanh } as const;

/** Whether a third matrix is beside the two. */
export const isGated = (activation: Activation): activation is keyof typeof gates => Object.hasOwn(gates, activation);

/** The function itself, without a gate: GELU for GEGLU, SiLU for SwiGLU. */
export const functionOf = (activation: Activation): ((x: Tensor) => Tensor) =>
  isGated(activation) ? gates[activation] : functions[activation];

/** f(x W₁ + b₁) W₂ + b₂, for each position alone. Gated ones, such as SwiGLU, have a gate beside it: (silu(x W₁) ∘ x V) W₂ (Shazeer 2020), without biases. */
export const feedforward = layer("feed-forward", (p, x: Tensor, options: FeedforwardOptions): Tensor => {
  const { hidden, activation, bias = true, weight, output = weight } = options;
  const width = x.shape[x.rank - 1].known;
  if (isGated(activation)) {
    const gate = gates[activation](dense(p.at("gate"), x, hidden, { weight, bias: false }));
    const raised = mul(gate, dense(p.at("expand"), x, hidden, { weight, bias: false }));
    return p.tap("out", dense(p.at("contract"), p.tap("hidden", raised), width, { weight: output, bias: false }));
  }
  const raised = functions[activation](dense(p.at("expand"), x, hidden, { weight, bias })); // [batch, time, hidden]
  return p.tap("out", dense(p.at("contract"), p.tap("hidden", raised), width, { weight: output, bias }));
});
