import { GraphError } from "../base/errors.ts";
import { Dim, product } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { byteSize, sameShape, showShape, size, type TensorType, tensorType } from "../graph/type.ts";
import { div, mul } from "./arithmetic.ts";
import { cast, equal, greater, not, where } from "./compare.ts";
import { ids, real } from "./example.ts";
import { extent } from "./fill.ts";
import { exp } from "./functions.ts";
import { reshape } from "./movement.ts";
import { sum } from "./sum.ts";

// Cross-entropy over the last axis, against target ids.

export interface CrossEntropyOptions {
  /** A target that does not count, such as padding. */
  readonly ignore?: number;
  /** ε of label smoothing: the target distribution is 1 − ε on the target plus ε spread evenly over all. */
  readonly smoothing?: number;
}

type Smoothing = { readonly smoothing: number };

function checkTargets([scores, targets]: readonly TensorType[]): void {
  const rows = scores.shape.slice(0, -1);
  if (targets.dtype !== "int32") throw new GraphError(`targets are ids and must be int32, not ${targets.dtype}`);
  if (!sameShape(rows, targets.shape)) {
    throw new GraphError(`the targets ${showShape(targets.shape)} do not fit ${showShape(scores.shape)}: wanted ${showShape(rows)}`);
  }
}

const vocabulary = (x: TensorType): Dim => x.shape[x.shape.length - 1];
const column = (x: TensorType): Dim[] => [...x.shape, Dim.of(1)];

/** −Σ target distribution · log softmax(scores) for each row, and the log-probabilities. */
const crossEntropyOp = defineOp<Smoothing>("crossEntropy", {
  type: (inputs) => {
    checkTargets(inputs);
    return [tensorType(inputs[0].dtype, inputs[1].shape), inputs[0]];
  },
  saved: 1,
  // (softmax(scores) − target distribution) · g
  vjp: ({ g, inputs: [, targets], outputs: [, logProbabilities], attributes }) => [
    mul(reshape(g, column(g.type)), lessTargets(exp(logProbabilities), targets, attributes.smoothing)),
    undefined,
  ],
  onnx(e, [scores, targets], { inputs: [x, t], attributes: { smoothing } }) {
    const last = x.shape.length - 1;
    const logProbabilities = e.node("LogSoftmax", [scores], { axis: -1 });
    const index = e.reshape(targets, t.shape, column(t));
    const picked = e.reshape(e.node("GatherElements", [logProbabilities, index], { axis: last }), column(t), t.shape);
    if (smoothing === 0) return [e.node("Neg", [picked]), logProbabilities];
    const all = e.node("ReduceMean", [logProbabilities, e.integers([last])], { keepdims: 0 });
    const likelihood = e.node("Add", [times(e, picked, 1 - smoothing, x), times(e, all, smoothing, x)]);
    return [e.node("Neg", [likelihood]), logProbabilities];
  },
  cost: ([x, t], _, { smoothing }) => ({
    flops: size(x)
      .times(smoothing === 0 ? 5 : 6)
      .plus(size(t)),
  }),
  examples: (f) => [
    { inputs: [real(f, "a", "v"), ids("v", "a")], attributes: { smoothing: 0 }, nonEmpty: ["v"] },
    { inputs: [real(f, "a", "b", 4), ids(4, "a", "b")], attributes: { smoothing: 0.1 } },
  ],
});

/** −log probability of each target, from log-probabilities that are there already. */
const unlikelihoodOp = defineOp<Record<string, never>>("unlikelihood", {
  type: (inputs) => {
    checkTargets(inputs);
    return tensorType(inputs[0].dtype, inputs[1].shape);
  },
  onnx(e, [logProbabilities, targets], { inputs: [x, t] }) {
    const picked = e.node("GatherElements", [logProbabilities, e.reshape(targets, t.shape, column(t))], { axis: x.shape.length - 1 });
    return e.node("Neg", [e.reshape(picked, column(t), t.shape)]);
  },
  cost: ([, t]) => ({ flops: size(t), bytes: byteSize(t).times(3) }),
  examples: (f) => [
    { inputs: [real(f, "a", "v"), ids("v", "a")], attributes: {}, nonEmpty: ["v"] },
    { inputs: [real(f, "a", "b", 4), ids(4, "a", "b")], attributes: {} },
  ],
});

const times = (e: Emitter, x: Value, factor: number, { dtype }: TensorType): Value => e.node("Mul", [x, e.scalar(dtype, factor)]);

/** Probabilities minus the target distribution, row by row. */
const lessTargetsOp = defineOp<Smoothing>("lessTargets", {
  type: (inputs) => {
    checkTargets(inputs);
    return inputs[0];
  },
  vjp: ({ g }) => [g, undefined],
  onnx(e, [probabilities, targets], { inputs: [x, t], attributes: { smoothing } }) {
    const index = e.reshape(targets, t.shape, column(t));
    const minus = e.node("Expand", [e.scalar(x.dtype, smoothing - 1), e.dims(column(t))]);
    const rest = e.node("ScatterElements", [probabilities, index, minus], { axis: x.shape.length - 1, reduction: "add" });
    if (smoothing === 0) return rest;
    const share = e.node("Div", [e.scalar(x.dtype, smoothing), e.node("Cast", [e.dims([vocabulary(x)])], { to: e.typeNumber(x.dtype) })]);
    return e.node("Sub", [rest, share]);
  },
  cost: ([x, t], _, { smoothing }) => ({ flops: smoothing === 0 ? size(t) : size(x).plus(size(t)) }),
  examples: (f) => [
    { inputs: [real(f, "a", "v"), ids("v", "a")], attributes: { smoothing: 0 }, nonEmpty: ["v"] },
    { inputs: [real(f, "a", "b", "v"), ids("v", "a", "b")], attributes: { smoothing: 0.1 }, nonEmpty: ["v"] },
  ],
});

const lessTargets = (probabilities: Tensor, targets: Tensor, smoothing: number): Tensor =>
  lessTargetsOp.one([probabilities, targets], { smoothing });

/**
 * The mean negative log-likelihood of the targets over all positions that count. With `ignore`, positions with that target
 * count nothing; if there are no others the loss is 0.
 */
export const softmaxCrossEntropy = (scores: Tensor, targets: Tensor, options: CrossEntropyOptions = {}): Tensor =>
  crossEntropies(scores, targets, options).loss;

/** The same and, beside it, the loss without label smoothing: what can be compared with other losses. No gradient passes through that one. */
export function crossEntropies(
  scores: Tensor,
  targets: Tensor,
  { ignore, smoothing = 0 }: CrossEntropyOptions = {},
): { readonly loss: Tensor; readonly plain: Tensor } {
  if (!(smoothing >= 0 && smoothing < 1))
    throw new GraphError(`softmaxCrossEntropy: label smoothing is a share from 0 to below 1, not ${smoothing}`);
  const counted = ignore === undefined ? undefined : cast(not(equal(targets, ignore)), scores.dtype); // 1 where the position counts
  const safe = counted ? mul(targets, cast(counted, "int32")) : targets; // 0 instead of an id that may be outside the vocabulary
  const [losses, logProbabilities] = crossEntropyOp.apply([scores, safe], { smoothing });
  const loss = counted ? meanOfCounted(losses, counted) : meanOfAll(losses);
  if (smoothing === 0) return { loss, plain: loss };
  const unlikely = unlikelihoodOp.one([logProbabilities, safe], {});
  return { loss, plain: counted ? meanOfCounted(unlikely, counted) : meanOfAll(unlikely) };
}

function meanOfAll(losses: Tensor): Tensor {
  const count = product(losses.shape);
  const positions = extent(count, losses.dtype);
  if (count.value === undefined) return div(sum(losses), where(greater(positions, 0), positions, 1));
  return mul(sum(losses), 1 / Math.max(1, count.value)); // an empty batch has loss 0, not NaN
}

function meanOfCounted(losses: Tensor, counted: Tensor): Tensor {
  const count = sum(counted);
  return div(sum(mul(losses, counted)), where(greater(count, 0), count, 1)); // a batch that counts nothing has loss 0, not NaN
}
