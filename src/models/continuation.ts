import type { InputTypes } from "../graph/graph.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { float32, int32 } from "../graph/type.ts";
import type { Past } from "../layers/attention.ts";
import { headSize } from "../layers/heads.ts";
import type { Places } from "../layers/positions.ts";
import { add, sub } from "../ops/arithmetic.ts";
import { and, cast, equal, less } from "../ops/compare.ts";
import { iota } from "../ops/fill.ts";
import { causalMask } from "../ops/mask.ts";
import { concat, reshape, slice } from "../ops/movement.ts";
import { matmul } from "../ops/products.ts";
import { logSoftmax } from "../ops/softmax.ts";
import { expand } from "../ops/sum.ts";
import { kvHeadsOf, type TransformerConfig, windowAt } from "./config.ts";

// Going on with sequences whose keys and values are kept: what a step takes, what it gives, and what its tokens may see.

/**
 * Whether a token's keys and values stay what they are when others follow. Without a causal mask, or with one after the softmax (whose
 * denominator sees the future), they do not, and nothing can be kept.
 */
export const keepsPast = ({ mask, attention }: TransformerConfig): boolean =>
  mask === "before-softmax" || (mask === "after-softmax" && attention === "linear");

/** The sizes of a head's keys and values. */
export function headSizes({ width, heads, multiHead, keySize, valueSize, attention }: TransformerConfig): { key: number; value: number } {
  if (attention === "free") return { key: width / heads, value: width / heads };
  return { key: keySize ?? headSize(width, heads, multiHead), value: valueSize ?? headSize(width, heads, multiHead) };
}

/** What is kept for one layer: the input that takes it (all tokens so far), and the tap that gives it for the new ones. */
export interface Kept {
  readonly input: string;
  readonly tap: string;
  /** Numbers for each head and token. */
  readonly size: number;
}

/** The keys and values of all layers of the stack at a place. */
export function keptOf(config: TransformerConfig, place: string): Kept[] {
  const { key, value } = headSizes(config);
  return Array.from({ length: config.layers }, (_, i) => [
    { input: `keys.${i}`, tap: `${place}/block.${i}/attention/k`, size: key },
    { input: `values.${i}`, tap: `${place}/block.${i}/attention/v`, size: value },
  ]).flat();
}

/** The inputs of a step: the new tokens, how many each row has seen before, which of the new ones is its last, and what is kept. */
export const stepInputs = (config: TransformerConfig, place: string) => ({
  ids: int32(["batch", "time"]),
  before: int32(["batch"]),
  last: int32(["batch"]),
  ...keptInputs(keptOf(config, place), kvHeadsOf(config), "past"),
});

export const keptInputs = (kept: readonly { readonly input: string; readonly size: number }[], heads: number, axis: string): InputTypes =>
  Object.fromEntries(kept.map(({ input, size }) => [input, float32(["batch", heads, axis, size])]));

/** For each layer, what the new tokens see: themselves causally, and as much of the past as their row has. */
export const continued = layer((_, inputs: Readonly<Record<string, Tensor>>, config: TransformerConfig): Past[] => {
  const { ids, before } = inputs;
  const [batch, time] = ids.shape;
  const past = inputs["keys.0"].shape[2];
  const at = add(reshape(before, [batch, 1]), reshape(cast(iota(time), "int32"), [1, time]));
  const seen = less(reshape(cast(iota(past), "int32"), [1, 1, 1, past]), reshape(before, [batch, 1, 1, 1]));
  const own = expand(reshape(causalMask(time, time), [1, 1, time, time]), [batch, 1, time, time]);
  const allowed = concat([expand(seen, [batch, 1, time, past]), own], 3);
  const near = config.window === undefined ? allowed : and(allowed, withinWindow({ at, past }, config.window));
  return Array.from({ length: config.layers }, (_, i) => ({
    k: inputs[`keys.${i}`],
    v: inputs[`values.${i}`],
    places: { at, past },
    allowed: windowAt(config, i) === undefined ? allowed : near,
  }));
});

/** Which of [past…, new…] lie fewer than `window` places back: [batch, 1, time, past + time]. */
function withinWindow({ at, past }: Places, window: number): Tensor {
  const [batch, time] = at.shape;
  const before = expand(reshape(cast(iota(past), "int32"), [1, past]), [batch, past]);
  const keys = reshape(concat([before, at], 1), [batch, 1, 1, past.plus(time)]);
  return less(reshape(at, [batch, 1, time, 1]), add(keys, window));
}

/** The state of each row's last new token, [batch, width]; what comes after it is padding. */
export const lastOf = layer((_, states: Tensor, last: Tensor): Tensor => {
  const [batch, time, width] = states.shape;
  const chosen = equal(reshape(cast(iota(time), "int32"), [1, time]), reshape(last, [batch, 1]));
  return reshape(matmul(reshape(cast(chosen, states.dtype), [batch, 1, time]), states), [batch, width]);
});

/** What comes after the last token of rows that are equally long: [batch, time, vocab] → [batch, vocab]. */
export function final(scores: Tensor): Tensor {
  const [batch, time, vocab] = scores.shape;
  return reshape(slice(scores, 1, time.minus(1), time), [batch, vocab]);
}

/** The scores of the next token, [batch, vocab], and log Σ exp of them, [batch]: taken off a score, it leaves a log-probability. */
export function nextToken(scores: Tensor): { scores: Tensor; total: Tensor } {
  const first = (x: Tensor) => slice(x, 1, 0, 1); // the difference is the same for every token
  return { scores, total: reshape(sub(first(scores), first(logSoftmax(scores))), [scores.shape[0]]) };
}
