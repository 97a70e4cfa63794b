import type { FloatType } from "../base/arrays.ts";
import { isParameter } from "../graph/leaves.ts";
import type { Attributes, Example } from "../graph/op.ts";
import { inPart } from "../graph/place.ts";
import { type Node, type Tensor, topological } from "../graph/tensor.ts";
import { byteSize } from "../graph/type.ts";
import { add, mul } from "./arithmetic.ts";
import { attendGradients, attendInputs, isAttend } from "./attend.ts";
import { type Dropper, type Dropping, dropper } from "./dropout.ts";
import { bytes, flagged, real } from "./example.ts";
import { tanh } from "./functions.ts";
import { reshape } from "./movement.ts";
import { matmul } from "./products.ts";
import { defineScan } from "./scan.ts";
import { softmax } from "./softmax.ts";
import { sum, sumTo } from "./sum.ts";

/*
 * Attention, one example of a batch after the other. The patterns of a whole batch are the largest tensors of a model with long texts: every pass over them goes through
 * memory, and they are kept for the way back. That of one example fits into a cache, so it is computed twice, the same bits, and never kept.
 */

interface EachAttributes extends Attributes, Dropping {
  readonly scale: number;
  readonly cap?: number;
  /** Whether something is added to the scores: the same for all examples, or something of each example's own. */
  readonly bias: "none" | "same" | "own";
  /** Whether that is learned: its gradient is that of the scores, which have to leave the loop then. */
  readonly learns: boolean;
}

/** How many of the inputs go along the examples, beside queries, keys and values. */
const others = ({ bias, threshold }: EachAttributes): number => (bias === "own" ? 1 : 0) + (threshold > 0 ? 1 : 0);

interface Parts {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly bias?: Tensor;
  /** How the pattern is dropped from: where the threshold is above 0, each example has its noise. */
  readonly drop: Dropper;
}

/** One example's inputs by their names; a bias that is the same for all stands behind what goes along. */
function example([q, k, v, ...rest]: readonly Tensor[], fixed: readonly Tensor[], attributes: EachAttributes): Parts {
  const drop = dropper(attributes.threshold > 0 ? rest[rest.length - 1] : undefined, attributes, q.dtype);
  return { q, k, v, bias: attributes.bias === "own" ? rest[0] : fixed[0], drop };
}

/** softmax(cap · tanh(scale · q kᵀ / cap) + bias) [head, query, key] */
function patternOf({ q, k, bias }: Parts, { scale, cap }: EachAttributes): Tensor {
  const scores = inPart("scores", () => {
    const raw = matmul(q, k, { transposeB: true, scale: cap === undefined ? scale : scale / cap });
    return cap === undefined ? raw : mul(tanh(raw), cap);
  });
  return inPart("softmax", () => softmax(bias ? add(scores, bias) : scores));
}

function examplesOf(f: FloatType): Example<EachAttributes>[] {
  const parts = [real(f, "a", "h", "q", "d"), real(f, "a", "h", "k", "d"), real(f, "a", "h", "k", "v")];
  const nonEmpty = ["a", "h", "q", "k", "d", "v"];
  return [
    { inputs: parts, attributes: { scale: 0.5, threshold: 0, by: "bytes", bias: "none", learns: false }, nonEmpty },
    {
      inputs: [...parts, real(f, "q", "k")],
      attributes: { scale: 0.5, cap: 0.8, threshold: 0, by: "bytes", bias: "same", learns: true },
      nonEmpty,
    },
    {
      inputs: [...parts, real(f, "a", 1, "q", "k"), bytes("a", "h", "q", "k")],
      attributes: { scale: 0.3, threshold: 77, by: "bytes", bias: "own", learns: true },
      nonEmpty,
    },
    {
      inputs: [...parts, flagged("a", "h", "q", "k")],
      attributes: { scale: 0.3, threshold: 77, by: "flags", bias: "none", learns: false },
      nonEmpty,
    },
  ];
}

/** q [example, head, query, size], k, v [example, head, key, size] → [example, head, query, size] */
const eachOp = defineScan<EachAttributes>("attendEach", {
  carried: 0,
  scanned: (attributes) => 3 + others(attributes),
  backward: () => false,
  step(_, given, fixed, attributes) {
    const one = example(given, fixed, attributes);
    const pattern = patternOf(one, attributes);
    return { carry: [], outputs: [inPart("weighted sum", () => matmul(one.drop.of(pattern), one.v, { scale: one.drop.scale }))] };
  },
  vjp({ g, inputs, outputs: [o], attributes }) {
    const along = sum(mul(g, o), { axis: -1, keep: true });
    const [dq, dk, dv, ds] = backOp.apply([g, along, ...inputs], attributes);
    const at = attributes.bias === "own" ? 3 : inputs.length - 1;
    return [dq, dk, dv, ...inputs.slice(3).map(({ shape }, i) => (ds && i + 3 === at ? sumTo(ds, shape) : undefined))];
  },
  examples: examplesOf,
});

/** The gradients of queries, keys and values, and of the scores where they are asked for. */
const backOp = defineScan<EachAttributes>("attendEachBack", {
  carried: 0,
  scanned: (attributes) => 5 + others(attributes),
  backward: () => false,
  step(_, [g, along, ...given], fixed, attributes) {
    const one = example(given, fixed, attributes);
    const { scale, cap, learns } = attributes;
    const { ds, dq, dk, dv } = attendGradients({ ...one, scale, cap, g, along, pattern: patternOf(one, attributes) });
    return { carry: [], outputs: [dq, dk, dv, ...(learns ? [ds] : [])] };
  },
  examples: (f) =>
    examplesOf(f).map(({ inputs, ...one }) => ({ ...one, inputs: [real(f, "a", "h", "q", "v"), real(f, "a", "h", "q", 1), ...inputs] })),
});

/** Patterns of fewer bytes stay in a cache anyway, and a loop takes time of its own. */
const manyBytes = 16 * 2 ** 20;

type Expected = Readonly<Record<string, number>>;

const isLarge = (pattern: Tensor, sizes: Expected): boolean => (byteSize(pattern.type).bind(sizes).value ?? 0) >= manyBytes;

/** Whether an `attend` is computed example by example: if its patterns are large, by the sizes that are known or expected, or all are to be computed so. */
export const goesEach = (node: Node, { all = false, sizes = {} }: Pick<EachOptions, "all" | "sizes">): boolean =>
  isAttend(node) && (all || isLarge(node.outputs[1], sizes)) && sameSums(node, sizes);

/** Up to this size of a head a product adds all of its numbers at once. */
const mostAtOnce = 128;

/**
 * Whether an example by itself is computed in the same order of sums, however many threads there are: they may divide the columns of a product that has more columns than
 * rows, and where they get few, the engine adds more numbers at once.
 */
function sameSums({ inputs: [q, , v] }: Node, sizes: Expected): boolean {
  if (q.rank < 3) return false;
  const [rows, size] = q.shape.slice(-2).map((dim) => dim.bind(sizes).value);
  const valueSize = v.shape[v.rank - 1].value;
  if (rows === undefined || size === undefined || valueSize === undefined) return false;
  return Math.max(size, valueSize) <= Math.min(rows, mostAtOnce);
}

/** What attention becomes where its examples are attended to one after the other, which are the same bits. */
export function eachOf(node: Node, inputs: readonly Tensor[], { learned, ...which }: EachOptions): Tensor | undefined {
  if (!goesEach(node, which)) return undefined;
  const { q, k, v, bias, noise, scale, cap, threshold, by } = attendInputs(inputs, node.attributes);
  const own = bias?.rank === q.rank && !bias.shape[0].equals(1);
  const same = bias && !own ? [bias.rank < q.rank ? bias : reshape(bias, bias.shape.slice(1))] : [];
  const going = [q, k, v, ...(bias && own ? [bias] : []), ...(noise ? [noise] : [])];
  const kind = own ? "own" : bias ? "same" : "none";
  const learns = bias !== undefined && topological([bias]).some((one) => isParameter(one) && learned(one.attributes.name));
  return eachOp.apply([...going, ...same], { scale, ...(cap !== undefined && { cap }), threshold, by, bias: kind, learns })[0];
}

export interface EachOptions {
  /** Whether patterns of any size are computed so. */
  readonly all?: boolean;
  /** The sizes that examples have at most, where they are open. */
  readonly sizes?: Expected | undefined;
  /** Which parameters are learned, by their names. */
  learned(name: string): boolean;
}
