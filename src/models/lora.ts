import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { copyNode, rewrite } from "../graph/cleanup.ts";
import { Dim } from "../graph/dim.ts";
import { buildGraph, type Graph, graphNodes, type TensorFunction } from "../graph/graph.ts";
import { isParameter, leafName, uniform, zeros } from "../graph/leaves.ts";
import { type ParameterEntry, type ParameterLayout, parameterLayout } from "../graph/parameters.ts";
import { atPlace } from "../graph/place.ts";
import type { Scope } from "../graph/scope.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { drop } from "../layers/dropout.ts";
import { add, mul } from "../ops/arithmetic.ts";
import { fill } from "../ops/fill.ts";
import { concat, isSplit, isTurned, transpose } from "../ops/movement.ts";
import { isLinear, linear, matmul } from "../ops/products.ts";
import { weightOfRecurrence } from "../ops/recurrence.ts";

// LoRA (Hu et al. 2022): beside a product with a matrix W that stays as it is, one with two narrow matrices that are trained:
// x Wᵀ + (x Aᵀ) Bᵀ · alpha/rank. It is a change of the built graph, so it knows nothing of architectures, and every model with linear layers has it.

export interface Lora {
  /** Rows of A, and columns of B. */
  readonly rank: number;
  /** What is learned counts alpha/rank times. */
  readonly alpha: number;
  /** The share of the inputs of A that is dropped while training. */
  readonly dropout: number;
  /** The matrices that get an adapter, by the last names of their places; `qkv` is one for all three, and q, k and v are parts of it. */
  readonly targets: readonly string[];
}

/** What learns beside some rows of a matrix: A is [rank, in], B [rows, rank]. */
export interface AdaptedPart {
  /** The target that asks for it. */
  readonly target: string;
  /** The first of its rows, and how many. */
  readonly at: number;
  readonly rows: number;
  /** The names of its parameters. */
  readonly a: string;
  readonly b: string;
}

/** A matrix [out, in] with its adapters. */
export interface AdaptedMatrix {
  readonly name: string;
  readonly out: number;
  readonly from: number;
  readonly parts: readonly AdaptedPart[];
}

/** A product with a weight matrix: its place, its size, and the rows of queries, keys and values if these are joined in it. */
interface Matrix {
  readonly name: string;
  readonly place: string;
  readonly out: number;
  readonly from: number;
  readonly inLogits: boolean;
  readonly joined?: readonly [q: number, k: number, v: number];
}

const weightEnd = "/weight";
const joinedNames = ["q", "k", "v"] as const;

/** The name of a parameter that an adapter has: its place, and what it is. */
const isAdapterName = (name: string): boolean => /\/lora\.([a-z]+\.)?[ab]$/.test(name);

const lastOf = (place: string): string => place.slice(place.lastIndexOf("/") + 1);

/** The matrix of a product, stored [out, in] as every dense layer has it. A table of tokens that also scores them is none. */
function matrixOf(node: Node, joined: ReadonlyMap<Node, Matrix["joined"]>): Matrix | undefined {
  const weight = isLinear(node) && node.attributes.transposed ? node.inputs[1] : weightOfRecurrence(node);
  if (!weight || !isParameter(weight)) return undefined;
  const name = leafName(weight);
  if (!name.endsWith(weightEnd)) return undefined;
  const [out, from] = weight.shape.map((dim) => dim.known);
  return { name, place: name.slice(0, -weightEnd.length), out, from, inLogits: node.part === "logits", joined: joined.get(node) };
}

/** The products whose result is cut into queries, keys and values, and how many rows each of them has. */
function joinedProducts(graph: Graph): ReadonlyMap<Node, Matrix["joined"]> {
  const found = new Map<Node, Matrix["joined"]>();
  for (const node of graphNodes(graph)) {
    if (!isSplit(node) || node.outputs.length !== 3) continue;
    let source = node.inputs[0].node;
    while (isTurned(source)) source = source.inputs[0].node;
    if (!isLinear(source)) continue;
    const out = source.outputs[0].shape.at(-1)?.value ?? 0;
    const sizes = node.attributes.sizes.map((size) => size.known);
    const all = sizes.reduce((a, b) => a + b, 0);
    const [q, k, v] = sizes.map((size) => (out * size) / all);
    found.set(source, [q, k, v]);
  }
  return found;
}

function matricesIn(graph: Graph): Matrix[] {
  const joined = joinedProducts(graph);
  const all = graphNodes(graph).flatMap((node) => matrixOf(node, joined) ?? []);
  return [...new Map(all.map((matrix) => [matrix.name, matrix])).values()];
}

/** Every matrix [out, in] that a function multiplies by, other than tables of tokens; `joined` says how queries, keys and values share its rows. */
export const linearMatrices = (fn: TensorFunction): readonly Pick<Matrix, "name" | "out" | "from" | "joined">[] => matricesIn(bound(fn));

/** The names by which a matrix, or a part of it, can be asked for. */
const namesOf = ({ place, joined }: Matrix): string[] => (joined && lastOf(place) === "qkv" ? ["qkv", ...joinedNames] : [lastOf(place)]);

const bound = (fn: TensorFunction): Graph => {
  const symbols = Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols));
  return buildGraph({ inputs: fn.inputs, build: fn.build.bind(fn) }, { bind: Object.fromEntries(symbols.map((symbol) => [symbol, 1])) });
};

/** Queries and values, as the paper has it; where a model has none, all. */
const usualTargets = ["q", "v"];

export interface TargetOptions {
  /** Where queries, keys and values are one matrix: whether they are adapted as one, as their family has it, or each by itself. */
  readonly whole?: boolean;
}

/** The targets that are meant, each by its name: those that were asked for, or queries and values; `all` are those that do not end in scores. */
export function loraTargets(fn: TensorFunction, asked: readonly string[] | undefined, { whole = false }: TargetOptions = {}): string[] {
  const matrices = matricesIn(bound(fn));
  const separate = (names: readonly string[]) => names.filter((name) => (whole ? !joinedNames.includes(name as "q") : name !== "qkv"));
  const ownNames = (matrix: Matrix) => (matrix.joined && namesOf(matrix).length > 1 ? separate(namesOf(matrix)) : namesOf(matrix));
  const inner = [...new Set(matrices.filter(({ inLogits }) => !inLogits).flatMap(ownNames))];
  const known = [...new Set(matrices.flatMap(ownNames))];
  const usual = (whole ? [...usualTargets, "qkv"] : usualTargets).filter((name) => inner.includes(name));
  const wanted = asked === undefined ? (usual.length > 0 ? usual : ["all"]) : asked;
  if (known.length === 0)
    throw new ConfigError(sentence`this model has no linear layers that ${setting("lora")} could stand beside; train it without`, {
      code: "config.conflict",
      path: "training.lora",
    });
  for (const name of wanted) {
    if (name === "all" || known.includes(name)) continue;
    const joined = whole && joinedNames.includes(name as "q") ? "; here queries, keys and values are one matrix, qkv" : "";
    throw new ConfigError(
      sentence`no matrix is called "${name}"${joined || suggest(name, known)}; ${setting("loraTargets")} are all, or some of ${known.join(", ")}`,
      { code: "config.unknown-name", path: "training.lora.targets" },
    );
  }
  return known.filter((name) => wanted.includes(name) || (wanted.includes("all") && inner.includes(name)));
}

/** The matrices of a function that get adapters, and the parameters of these. */
export const adaptedMatrices = (fn: TensorFunction, { targets }: Pick<Lora, "targets">): AdaptedMatrix[] =>
  matricesIn(bound(fn)).flatMap((matrix) => adaptersOf(matrix, targets) ?? []);

function adaptersOf(matrix: Matrix, targets: readonly string[]): AdaptedMatrix | undefined {
  const { name, place, out, from, joined } = matrix;
  const last = lastOf(place);
  const part = (target: string, at: number, rows: number, inner: string): AdaptedPart => ({
    target,
    at,
    rows,
    a: `${place}/lora.${inner}a`,
    b: `${place}/lora.${inner}b`,
  });
  if (targets.includes(last)) return { name, out, from, parts: [part(last, 0, out, "")] };
  if (!joined || last !== "qkv") return undefined;
  const [q, k, v] = joined;
  const all = [part("q", 0, q, "q."), part("k", q, k, "k."), part("v", q + k, v, "v.")];
  const parts = all.filter(({ target }) => targets.includes(target));
  return parts.length > 0 ? { name, out, from, parts } : undefined;
}

/** A function with adapters beside its matrices, which then are more of its parameters. Outside training nothing is dropped. */
export function adapted(fn: TensorFunction, lora: Lora, { training = true }: { readonly training?: boolean } = {}): TensorFunction {
  return { inputs: fn.inputs, build: (p, inputs) => fn.build(p, inputs), rewrite: (p, graph) => withAdapters(p, graph, lora, training) };
}

function withAdapters(p: Scope, graph: Graph, lora: Lora, training: boolean): Graph {
  const joined = joinedProducts(graph);
  const declared = new Map<string, Tensor>();
  const uses = new Map<string, number>();
  const parameter = (name: string, shape: readonly number[], start: Parameters<Scope["param"]>[2]): Tensor => {
    const [, place, last] = /^(.*)\/([^/]*)$/.exec(name) as RegExpExecArray;
    const found = declared.get(name) ?? p.at(place).param(last, shape, start);
    declared.set(name, found);
    return found;
  };
  return rewrite(graph, (node, inputs) => {
    const matrix = matrixOf(node, joined);
    const own = matrix && adaptersOf(matrix, lora.targets);
    if (!own) return copyNode(node, inputs);
    const weight = weightOfRecurrence(node);
    if (weight) {
      // Inside a loop there is nothing beside a matrix, so the matrix itself is changed; what goes into it is not dropped.
      const changed = atPlace(node, () => {
        const changes = own.parts.map(({ at, rows, a, b }) => {
          const inner = parameter(a, [lora.rank, own.from], uniform(own.from ** -0.5));
          return {
            at,
            rows,
            change: transpose(matmul(parameter(b, [rows, lora.rank], zeros), inner, { scale: lora.alpha / lora.rank }), [1, 0]),
          };
        });
        return add(weight, transpose(beside(changes, own.out), [1, 0]));
      });
      return copyNode(
        node,
        inputs.map((x) => (x === weight ? changed : x)),
      );
    }
    const copy = copyNode(node, inputs);
    const use = uses.get(own.name) ?? 0; // an RNN multiplies by the same matrix at every place
    uses.set(own.name, use + 1);
    const changes = atPlace(node, () =>
      own.parts.map(({ at, rows, a, b }) => {
        const x = drop(p.at(a.replace(/a$/, "x"), use), inputs[0], training ? lora.dropout : 0);
        const inner = linear(x, parameter(a, [lora.rank, own.from], uniform(own.from ** -0.5)), undefined, { transposed: true }); // [… rank]
        const change = mul(linear(inner, parameter(b, [rows, lora.rank], zeros), undefined, { transposed: true }), lora.alpha / lora.rank);
        return { at, rows, change }; // [… rows]
      }),
    );
    return [atPlace(node, () => add(copy[0], beside(changes, own.out)))];
  });
}

interface Change {
  readonly at: number;
  readonly rows: number;
  readonly change: Tensor;
}

/** What is added to all outputs of a matrix: the changes of some of its rows, and nothing to the others. */
function beside(changes: readonly Change[], out: number): Tensor {
  const parts: Tensor[] = [];
  let end = 0;
  const nothing = (count: number) => {
    const like = changes[0].change;
    if (count > 0) parts.push(fill(like.dtype, [...like.shape.slice(0, -1), Dim.of(count)], 0));
  };
  for (const { at, rows, change } of changes) {
    nothing(at - end);
    parts.push(change);
    end = at + rows;
  }
  nothing(out - end);
  return parts.length === 1 ? parts[0] : concat(parts, -1);
}

/** The layout of what is trained of an adapted function: the adapters alone. */
export function adapterLayout(fn: TensorFunction): ParameterLayout {
  const symbols = Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols));
  const layout = parameterLayout(buildGraph(fn, { bind: Object.fromEntries(symbols.map((symbol) => [symbol, 1])) }));
  let total = 0;
  const entries = layout.entries
    .filter(({ name }) => isAdapterName(name))
    .map((entry): ParameterEntry => {
      total += entry.length;
      return { ...entry, offset: total - entry.length };
    });
  return { ...layout, entries, total };
}

/** Adds B A · scale to some rows of a matrix [out, in]. */
export function addProduct(
  into: Float32Array,
  from: number,
  { at, rows, a, b, rank, scale }: { at: number; rows: number; a: Float32Array; b: Float32Array; rank: number; scale: number },
): void {
  const sum = new Float64Array(from);
  for (let row = 0; row < rows; row++) {
    sum.fill(0);
    for (let r = 0; r < rank; r++) {
      const factor = b[row * rank + r];
      if (factor === 0) continue;
      for (let i = 0; i < from; i++) sum[i] += factor * a[r * from + i];
    }
    const start = (at + row) * from;
    for (let i = 0; i < from; i++) into[start + i] += scale * sum[i];
  }
}
