import { array, type TypedArray } from "../base/arrays.ts";
import { NonFiniteError } from "../base/errors.ts";
import { copyNode, rewrite } from "../graph/cleanup.ts";
import { type Graph, graphNodes } from "../graph/graph.ts";
import { constant, isParameter, leafName, type Parameter, parameter, zeros } from "../graph/leaves.ts";
import { atPlace } from "../graph/place.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { tensorType } from "../graph/type.ts";
import { add, mul, sub } from "../ops/arithmetic.ts";
import { cast } from "../ops/compare.ts";
import { reshape, slice } from "../ops/movement.ts";
import { isLinear, linear } from "../ops/products.ts";
import { type Bits, blockSize, quantisedLinear } from "../ops/quantised.ts";

/** A matrix [out, in] in few bits. */
export interface Quantised {
  readonly bits: Bits;
  readonly shape: readonly [out: number, from: number];
  /** [out, block, byte] */
  readonly packed: Uint8Array;
  /** [out, block] */
  readonly scales: Float32Array;
}

/** Rounds a matrix [out, in] to whole numbers of 4 or 8 bits, with a scale for every 32 weights of a row. */
export function quantise(weights: Float32Array, [out, from]: readonly [number, number], bits: Bits): Quantised {
  const blocks = Math.ceil(from / blockSize);
  const bytes = (blockSize * bits) / 8;
  const packed = new Uint8Array(out * blocks * bytes).fill(bits === 8 ? 0x80 : 0x88); // what is not there counts as 0
  const scales = new Float32Array(out * blocks);
  for (let block = 0; block < out * blocks; block++) {
    const [row, column] = [Math.floor(block / blocks), (block % blocks) * blockSize];
    const part = weights.subarray(row * from + column, row * from + Math.min(column + blockSize, from));
    scales[block] = scaleOf(part, bits);
    pack(part, scales[block], bits, packed.subarray(block * bytes, (block + 1) * bytes));
  }
  return { bits, shape: [out, from], packed, scales };
}

const half = (bits: Bits): number => 2 ** (bits - 1);

/** The largest weight, with its sign, gets the largest whole number there is: the one below zero. NaN stays NaN, rather than be hidden. */
const scaleOf = (part: Float32Array, bits: Bits): number => largestOf(part) / -half(bits);

function largestOf(part: Float32Array): number {
  let largest = 0;
  for (const weight of part) if (Math.abs(weight) > Math.abs(largest) || Number.isNaN(weight)) largest = weight;
  return largest;
}

function pack(part: Float32Array, scale: number, bits: Bits, into: Uint8Array): void {
  const [middle, most] = [half(bits), 2 * half(bits) - 1];
  for (let i = 0; i < part.length; i++) {
    const q = scale === 0 ? middle : Math.min(most, Math.max(0, Math.round(part[i] / scale) + middle));
    if (bits === 8) into[i] = q;
    else into[i >> 1] = i % 2 === 0 ? (into[i >> 1] & 0xf0) | q : (into[i >> 1] & 0x0f) | (q << 4);
  }
}

/** The matrix that the rounded numbers stand for. */
export function dequantised({ bits, shape: [out, from], packed, scales }: Quantised): Float32Array {
  const blocks = scales.length / out;
  const bytes = packed.length / scales.length;
  return Float32Array.from({ length: out * from }, (_, i) => {
    const [row, column] = [Math.floor(i / from), i % from];
    const block = row * blocks + Math.floor(column / blockSize);
    const place = column % blockSize;
    const byte = packed[block * bytes + (bits === 8 ? place : place >> 1)];
    const q = bits === 8 ? byte : place % 2 === 0 ? byte & 0x0f : byte >> 4;
    return (q - half(bits)) * scales[block];
  });
}

/** Matrices with fewer inputs than this stay as they are: there is nothing to save. */
export const fewestInputs = blockSize;

/** The weight matrix of a product, stored [out, in] as every dense layer and every tied output is. */
function matrixOf(node: Node, [, weight]: readonly Tensor[]) {
  if (!isLinear(node) || !node.attributes.transposed || !isParameter(weight)) return undefined;
  const [out, from] = weight.shape.map((dim) => dim.known);
  return { name: leafName(weight), out, from, scale: node.attributes.scale };
}

/** The weight matrices that a graph multiplies by, and which of them have too few inputs to be rounded, by name. */
export function matricesOf(graph: Graph): { readonly all: readonly string[]; readonly narrow: readonly string[] } {
  const found = graphNodes(graph).flatMap((node) => matrixOf(node, node.inputs) ?? []);
  const names = (some: typeof found) => [...new Set(some.map(({ name }) => name))];
  return { all: names(found), narrow: names(found.filter(({ from }) => from < fewestInputs)) };
}

/** A product with few bits, or one with the 32 bits that the rounded numbers are turned into before: for readers that have no such products. */
export type QuantisedAs = "products" | "numbers";

/**
 * A graph in which the same products read rounded weights that are not there yet: as parameters of their own, told to `later` with what makes
 * their numbers. So a model is rounded matrix by matrix while a session is made, and never in memory as a whole.
 */
export function quantiseLater(
  graph: Graph,
  bits: Bits,
  weightsOf: (name: string) => Float32Array,
  later: (name: string, make: () => TypedArray) => void,
): Graph {
  const made = new Map<string, { packed: Parameter; scales: Parameter }>();
  let last: { readonly key: string; readonly value: Quantised } | undefined; // packed numbers and scales are asked for one after the other
  const declared = (node: Node, { name, out, from, scale }: NonNullable<ReturnType<typeof matrixOf>>) => {
    const key = `${name} × ${scale}`;
    const found = made.get(key);
    if (found) return found;
    const quantised = () => {
      if (last?.key !== key) last = { key, value: quantise(weightsOf(name), [out, from], bits) };
      refuseNonFinite(name, last.value.scales);
      return last.value;
    };
    const blocks = Math.ceil(from / blockSize);
    const types = { packed: tensorType("uint8", [out, blocks, (blockSize * bits) / 8]), scales: tensorType("float32", [out * blocks]) };
    const named = (part: keyof typeof types) => parameter(`${key} (q${bits} ${part})`, types[part], { initialiser: zeros }, node);
    const tensors = { packed: named("packed"), scales: named("scales") };
    later(leafName(tensors.packed), () => quantised().packed);
    later(leafName(tensors.scales), () => (scale === 1 ? quantised().scales : quantised().scales.map((value) => value * scale)));
    made.set(key, tensors);
    return tensors;
  };
  const result = rewrite(graph, (node, inputs) => {
    const matrix = matrixOf(node, inputs);
    if (!matrix || matrix.from < fewestInputs) return copyNode(node, inputs);
    const [x, , bias] = inputs;
    const { packed, scales } = declared(node, matrix);
    return atPlace(node, () => {
      const y = quantisedLinear(x, packed, scales, { bits, from: matrix.from });
      return [bias ? add(y, bias) : y];
    });
  });
  const read = new Set(graphNodes(result).flatMap((node) => (isParameter(node) ? [node.attributes.name] : [])));
  const own = [...made.values()].flatMap(({ packed, scales }) => [packed, scales]).map((one) => [leafName(one), one] as const);
  return { ...result, parameters: new Map([...[...graph.parameters].filter(([name]) => read.has(name)), ...own]) };
}

/** A graph in which every product with a weight matrix reads rounded weights. Tables that are looked up keep their own. */
export function quantiseGraph(graph: Graph, bits: Bits, weightsOf: (name: string) => Float32Array, as: QuantisedAs = "products"): Graph {
  const made = new Map<string, { packed: Tensor; scales: Tensor }>();
  const roundedTo = (name: string, [out, from]: readonly [number, number], scale: number) => {
    const key = `${name} ${scale}`;
    const found = made.get(key);
    if (found) return found;
    const { packed, scales } = quantise(weightsOf(name), [out, from], bits);
    refuseNonFinite(name, scales);
    const factors = scale === 1 ? scales : scales.map((value) => value * scale);
    const blocks = scales.length / out;
    const tensors = {
      packed: constant(array("uint8", packed, [out, blocks, packed.length / scales.length])),
      scales: constant(array("float32", factors)),
    };
    made.set(key, tensors);
    return tensors;
  };
  const done = new Set<string>();
  const result = rewrite(graph, (node, inputs) => {
    const matrix = matrixOf(node, inputs);
    if (!matrix || matrix.from < fewestInputs) return copyNode(node, inputs);
    const [x, , bias] = inputs;
    const { name, out, from, scale } = matrix;
    done.add(name);
    const rounded = roundedTo(name, [out, from], scale);
    return atPlace(node, () => {
      if (as === "numbers") return [linear(x, numbersOf(rounded, [out, from]), bias, { transposed: true })];
      const y = quantisedLinear(x, rounded.packed, rounded.scales, { bits, from });
      return [bias ? add(y, bias) : y];
    });
  });
  for (const name of graph.parameters.keys()) if (!done.has(name)) refuseNonFinite(name, weightsOf(name));
  return result;
}

/** (q − half) · scale in 32 bits, [out, in], from numbers of 8. */
function numbersOf(
  { packed, scales }: { readonly packed: Tensor; readonly scales: Tensor },
  [out, from]: readonly [number, number],
): Tensor {
  const [, blocks, size] = packed.shape;
  const whole = mul(sub(cast(packed, "float32"), half(8)), reshape(scales, [out, blocks, 1]));
  return slice(reshape(whole, [out, blocks.times(size)]), 1, 0, from);
}

/** A product that rounds what it reads would turn NaN and infinity into ordinary numbers, so they are found here or never. */
function refuseNonFinite(name: string, numbers: Float32Array): void {
  if (!numbers.every(Number.isFinite))
    throw new NonFiniteError(`the weights ${name} have NaN or infinity; the file is damaged, or training went wrong`);
}
