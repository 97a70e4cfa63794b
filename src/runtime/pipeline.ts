import { GraphError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { pause } from "../base/turns.ts";
import { type GradOptions, grad } from "../gradients/grad.ts";
import { cleanUp, copyNode, rewrite } from "../graph/cleanup.ts";
import { buildGraph, type Graph, type GraphOptions, graphNodes, type TensorFunction } from "../graph/graph.ts";
import { prefixes } from "../graph/names.ts";
import { atPlace } from "../graph/place.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { isAttend } from "../ops/attend.ts";
import { eachOf } from "../ops/attend-each.ts";
import { flattenRows } from "../ops/flatten.ts";
import { isView } from "../ops/movement.ts";
import { foldConstants } from "./fold.ts";
import type { Engine, SessionOptions } from "./session.ts";

export interface PipelineOptions extends GraphOptions {
  /** The outputs to compute, with the taps; all of them if left out. A training step has no use for a model's scores. */
  readonly outputs?: readonly string[];
  /** An output, a scalar, whose gradients with respect to all parameters are computed too. */
  readonly gradientOf?: string;
  /** The parameters that get a gradient; all of them if left out. What only the others need is not computed. */
  readonly gradientsFor?: readonly string[];
  /** What is kept of the forward pass for the gradients: everything, or only what goes into each block, which is then computed again. */
  readonly keeps?: Keeps;
  /** Sizes that examples have at most, where they are left open: what is large then is computed in pieces. */
  readonly expected?: Readonly<Record<string, number>>;
  /** A last change to the graph that runs, such as matrices with fewer bits. */
  readonly rewrite?: (graph: Graph) => Graph;
  /** What a parameter that the loss does not depend on gets: an error that names it, or zeros. */
  readonly unused?: "error" | "zero";
}

/** The name of a parameter's gradient among the outputs. */
export const gradientName = (parameter: string): string => `${prefixes.gradient}${parameter}`;

/** From a function to the graph that runs: built, differentiated, cleaned up, flattened, folded. */
export async function prepareGraph(
  fn: TensorFunction,
  options: PipelineOptions,
  engine: Engine,
  session: SessionOptions & { readonly folds?: boolean },
): Promise<Graph> {
  const built = chosen(buildGraph(fn, options), options);
  await pause(); // graphs of large models take a while, and others share the thread
  const whole = withGradients(engine.can("scans") ? inPieces(built, options) : built, options);
  await pause();
  const flat = flattenRows(cleanUp(whole));
  await pause();
  const clean = cleanUp(flat);
  const folded = session.folds === false ? clean : await foldConstants(clean, engine.host ?? engine, session);
  await pause();
  return options.rewrite?.(folded) ?? folded;
}

/** Only the outputs that are wanted. */
function chosen(graph: Graph, { outputs, taps = [] }: PipelineOptions): Graph {
  if (!outputs) return graph;
  for (const name of outputs) {
    if (!graph.outputs.has(name)) throw new GraphError(`there is no output called "${name}"${suggest(name, graph.outputs.keys())}`);
  }
  return { ...graph, outputs: new Map([...graph.outputs].filter(([name]) => outputs.includes(name) || taps.includes(name))) };
}

/** Where gradients are wanted, large patterns of attention that nobody looks at are computed example by example, twice, and never kept: the same bits. */
function inPieces(graph: Graph, { gradientOf, gradientsFor, keeps, expected: sizes }: PipelineOptions): Graph {
  if (gradientOf === undefined) return graph;
  const used = new Set([...graphNodes(graph).flatMap(({ inputs }) => inputs), ...graph.outputs.values()]);
  const all = keeps === "all but patterns";
  const learned = (name: string) => gradientsFor === undefined || gradientsFor.includes(name);
  return rewrite(graph, (node, inputs) => {
    const mixed = isAttend(node) && !used.has(node.outputs[1]) && atPlace(node, () => eachOf(node, inputs, { all, sizes, learned }));
    return mixed ? [mixed] : copyNode(node, inputs);
  });
}

function withGradients(graph: Graph, { gradientOf, gradientsFor, unused, keeps }: PipelineOptions): Graph {
  if (gradientOf === undefined) return graph;
  const loss = graph.outputs.get(gradientOf);
  if (!loss) throw new GraphError(`there is no output called "${gradientOf}" to differentiate${suggest(gradientOf, graph.outputs.keys())}`);
  const names = gradientsFor ?? [...graph.parameters.keys()];
  const gradients = grad(
    loss,
    names.map((name) => parameterOf(graph, name)),
    { unused, ...againOf(keeps) },
  );
  const named = names.map((name, i): [string, Tensor] => [gradientName(name), withoutViews(gradients[i])]);
  return { ...graph, outputs: new Map([[gradientOf, loss], ...graph.outputs, ...named]) }; // the loss first
}

/** Everything is kept for the way back; or the patterns of attention are computed again; or all of every block is. */
export const keepKinds = ["everything", "all but patterns", "block inputs"] as const;
export type Keeps = (typeof keepKinds)[number];

/** What of a training is kept, by its settings: where blocks are computed again, so are their patterns. */
export const keepsOf = ({ checkpointBlocks = false, recomputePattern = false }: Recomputing): Keeps =>
  checkpointBlocks ? "block inputs" : recomputePattern ? "all but patterns" : "everything";

export interface Recomputing {
  /** Whether what blocks compute is computed again for the gradients, rather than kept: less memory for more time. */
  readonly checkpointBlocks?: boolean | undefined;
  /** Whether the patterns of attention alone are: one product more, and nothing of time × time stays. */
  readonly recomputePattern?: boolean | undefined;
}

export const againOf = (keeps: Keeps = "everything"): Pick<GradOptions, "again" | "savesAgain"> => ({
  ...(keeps === "block inputs" && { again: blockOf }),
  ...(keeps === "all but patterns" && { savesAgain: isAttend }),
});

/** The block of a stack that a node is of. */
export const blockOf = ({ scope }: Node): string | undefined => /^(.*?\bblock\.\d+)(\/|$)/.exec(scope)?.[1];

function parameterOf({ parameters }: Graph, name: string): Tensor {
  const found = parameters.get(name);
  if (!found) throw new GraphError(`no parameter is called "${name}"${suggest(name, parameters.keys())}`);
  return found;
}

/** A gradient goes to a flat buffer, so its shape does not matter and a reshape at its end is left out. */
function withoutViews(x: Tensor): Tensor {
  return isView(x) ? withoutViews(x.node.inputs[0]) : x;
}
