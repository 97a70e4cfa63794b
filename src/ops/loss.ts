import { array } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { Dim, product } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { constant } from "../graph/leaves.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { byteSize, sameShape, showShape, size, type TensorType, tensorType } from "../graph/type.ts";
import { add, div, mul, neg, sub } from "./arithmetic.ts";
import { cast, equal, greater, not, where } from "./compare.ts";
import { ids, real } from "./example.ts";
import { extent } from "./fill.ts";
import { exp, sigmoid } from "./functions.ts";
import { embedding } from "./lookup.ts";
import { reshape } from "./movement.ts";
import { lowerLogSoftmax } from "./softmax.ts";
import { sum } from "./sum.ts";

// Cross-entropy over the last axis, against target ids; and of labels that do not exclude each other, against a truth for each.

export interface CrossEntropyOptions {
  /** A target that does not count, such as padding. */
  readonly ignore?: number;
  /** ε of label smoothing: the target distribution is 1 − ε on the target plus ε spread evenly over all. */
  readonly smoothing?: number;
  /** How much each class counts: the loss of a target is multiplied by its class's weight, and the sum divided by the number of targets. */
  readonly weights?: readonly number[];
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
    const logProbabilities = lowerLogSoftmax(e, scores, last);
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
    return e.node("Sub", [rest, evenShare(e, smoothing, x)]);
  },
  cost: ([x, t], _, { smoothing }) => ({ flops: smoothing === 0 ? size(t) : size(x).plus(size(t)) }),
  examples: (f) => [
    { inputs: [real(f, "a", "v"), ids("v", "a")], attributes: { smoothing: 0 }, nonEmpty: ["v"] },
    { inputs: [real(f, "a", "b", "v"), ids("v", "a", "b")], attributes: { smoothing: 0.1 }, nonEmpty: ["v"] },
  ],
});

/** What label smoothing gives to each entry of the vocabulary. */
function evenShare(e: Emitter, smoothing: number, x: TensorType): Value {
  const entries = vocabulary(x);
  if (entries.value !== undefined) return e.scalar(x.dtype, (array(x.dtype, smoothing).data[0] as number) / entries.value);
  return e.node("Div", [e.scalar(x.dtype, smoothing), e.node("Cast", [e.dims([entries])], { to: e.typeNumber(x.dtype) })]);
}

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
  options: CrossEntropyOptions = {},
): { readonly loss: Tensor; readonly plain: Tensor } {
  const { ignore, smoothing = 0, weights } = options;
  checkOptions("softmaxCrossEntropy", scores, options);
  const counted = ignore === undefined ? undefined : cast(not(equal(targets, ignore)), scores.dtype); // 1 where the position counts
  const safe = counted ? mul(targets, cast(counted, "int32")) : targets; // 0 instead of an id that may be outside the vocabulary
  const [losses, logProbabilities] = crossEntropyOp.apply([scores, safe], { smoothing });
  const meanOf = (found: Tensor): Tensor => {
    const weighted = weights === undefined ? found : mul(found, weightOf(safe, weights, scores));
    return counted ? meanOfCounted(weighted, counted) : meanOfAll(weighted);
  };
  const loss = meanOf(losses);
  return { loss, plain: smoothing === 0 ? loss : meanOf(unlikelihoodOp.one([logProbabilities, safe], {})) };
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

function checkOptions(name: string, scores: Tensor, { smoothing = 0, weights }: CrossEntropyOptions): void {
  if (!(smoothing >= 0 && smoothing < 1)) throw new GraphError(`${name}: label smoothing is a share from 0 to below 1, not ${smoothing}`);
  const classes = vocabulary(scores.type);
  if (weights !== undefined && classes.value !== weights.length)
    throw new GraphError(`${name}: ${weights.length} weights for ${classes} classes; give one for each`);
}

/** The weight of each target's class. */
function weightOf(ids: Tensor, weights: readonly number[], { dtype }: Tensor): Tensor {
  const table = constant(array(dtype, weights, [weights.length, 1]));
  return reshape(embedding(table, ids), ids.shape);
}

/** −t·log σ(x) − (1 − t)·log(1 − σ(x)) = max(x, 0) − t·x + log(1 + exp(−|x|)), number by number: no exp can overflow. */
const binaryCrossEntropyOp = defineOp<Record<string, never>>("binaryCrossEntropy", {
  type: ([x, t]) => {
    if (x.dtype !== t.dtype || !sameShape(x.shape, t.shape))
      throw new GraphError(`the targets ${t.dtype} ${showShape(t.shape)} do not fit the scores ${x.dtype} ${showShape(x.shape)}`);
    return x;
  },
  // σ(x) − t, and −x
  vjp: ({ g, inputs: [x, t] }) => [mul(g, sub(sigmoid(x), t)), neg(mul(g, x))],
  onnx(e, [scores, targets], { inputs: [x] }) {
    const tail = e.node("Exp", [e.node("Neg", [e.node("Abs", [scores])])]);
    const soft = e.node("Log", [e.node("Add", [tail, e.scalar(x.dtype, 1)])]);
    const corner = e.node("Sub", [e.node("Relu", [scores]), e.node("Mul", [scores, targets])]);
    return e.node("Add", [corner, soft]);
  },
  cost: ([x]) => ({ flops: size(x).times(9) }),
  examples: (f) => [{ inputs: [real(f, "a", "b"), real(f, "a", "b")], attributes: {} }],
});

/**
 * The mean negative log-likelihood of labels that do not exclude each other, over all rows and labels that count. Targets are 1 and 0 in the
 * shape of the scores. `weights` is how much it counts that a label is there (what is called pos_weight elsewhere); `smoothing` ε makes
 * targets of 1 − ε/2 and ε/2.
 */
export function sigmoidCrossEntropy(scores: Tensor, targets: Tensor, options: CrossEntropyOptions = {}): Tensor {
  const { ignore = -1, smoothing = 0, weights } = options;
  checkOptions("sigmoidCrossEntropy", scores, options);
  const counted = cast(not(equal(targets, ignore)), scores.dtype);
  const truth = mul(cast(targets, scores.dtype), counted);
  const soft = smoothing === 0 ? truth : add(mul(truth, 1 - smoothing), smoothing / 2);
  const losses = mul(binaryCrossEntropyOp.one([scores, soft], {}), counted);
  const count = sum(counted);
  if (weights === undefined) return div(sum(losses), where(greater(count, 0), count, 1));
  const more = array(
    scores.dtype,
    weights.map((weight) => weight - 1),
  );
  const weighted = mul(losses, add(mul(truth, constant(more)), 1)); // 1 where a label is not there, its weight where it is
  return div(sum(weighted), where(greater(count, 0), count, 1));
}
