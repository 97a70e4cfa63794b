import { cleanUp } from "../graph/cleanup.ts";
import { nodeShares } from "../graph/cost.ts";
import { buildGraph, graphNodes } from "../graph/graph.ts";
import { isInput, isParameter, leafName } from "../graph/leaves.ts";
import type { Node } from "../graph/tensor.ts";
import { architectureOf, type ModelConfig, modelLoss } from "../models/any.ts";
import { writtenOut } from "../models/rnn.ts";
import { type Formula, recurrentSteps, transformerSteps } from "./path-formulas.ts";
import { taps } from "./taps.ts";

// How far a token is from the one that it influences, and how many steps must wait for each other.

/** A number of steps: what the formula says, and what is counted on the model's graph. */
export interface Steps extends Formula {
  readonly counted: number;
}

export interface PathLength {
  /** Steps from one position to another (an attention, or one step of a recurrence) on the longest way through the model. */
  readonly path: Steps;
  /** Products that wait for each other, however many processors there are. */
  readonly sequential: Steps;
}

/** Path length and sequential steps for a sequence of n tokens (and a source of as many). Attention: a constant for each layer; an RNN: n. */
export function pathLength(given: ModelConfig, n: number): PathLength {
  const model = given.model === "rnn" ? writtenOut(given) : given; // steps of a loop are none that could be counted
  const fn = modelLoss(model, { training: false });
  const mixing = taps(model)
    .map(({ name }) => name)
    .filter((name) => /\/mixed$|^model\/attention\/pattern$/.test(name));
  const sizes = { batch: 1, time: n, sourceTime: n };
  const bind = Object.fromEntries(Object.entries(sizes).filter(([name]) => symbolsOf(fn.inputs).has(name)));
  const graph = cleanUp(buildGraph(fn, { bind, taps: mixing }));
  const attentions = new Set(mixing.map((name) => graph.outputs.get(name)?.node));
  const longest = (steps: (node: Node) => number) => longestChain(graphNodes(graph), steps);
  const known = architectureOf(model, "the path length");
  const formulas = known.model === "rnn" ? recurrentSteps(known, n) : transformerSteps(known);
  return {
    path: { ...formulas.path, counted: longest((node) => (attentions.has(node) || isRecurrence(node) ? 1 : 0)) },
    sequential: { ...formulas.sequential, counted: longest(productsOf) },
  };
}

const symbolsOf = (inputs: ReturnType<typeof modelLoss>["inputs"]): ReadonlySet<string> =>
  new Set(Object.values(inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols)));

/** The most steps on any way from a token to the end. Nodes come in the order in which they are computed. */
function longestChain(nodes: readonly Node[], steps: (node: Node) => number): number {
  const until = new Map<Node, number>();
  for (const node of nodes) {
    const before = node.inputs.flatMap((x) => until.get(x.node) ?? []); // what no token reaches, such as a state before the first, is not there
    if (before.length > 0 || isInput(node)) until.set(node, Math.max(0, ...before) + steps(node));
  }
  return Math.max(0, ...until.values());
}

/** From a state to the next. */
const isRecurrence = ({ inputs }: Node): boolean => inputs.some((x) => isParameter(x) && leafName(x).endsWith("/state/weight"));

/** Attention that nobody looks at is one op with two products, of queries with keys and of the pattern with values. */
const productsOf = (node: Node): number => nodeShares(node).filter(({ products }) => products.value !== 0).length;
