import { elementCount, emptyArray, type HostArray } from "../base/arrays.ts";
import type { Chance } from "../base/chance.ts";
import { FeedError, GraphError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { grad } from "../gradients/grad.ts";
import { cleanUp } from "../graph/cleanup.ts";
import { buildGraph, type Graph, type GraphOptions, type InputTypes, type Outputs, type TensorFunction } from "../graph/graph.ts";
import { leafName } from "../graph/leaves.ts";
import { type ParameterBuffer, type ParameterLayout, parameterLayout } from "../graph/parameters.ts";
import type { Tensor } from "../graph/tensor.ts";
import { concreteShape, type TensorType } from "../graph/type.ts";
import { emitOnnx, outputName, type WeightSource } from "../onnx/emit.ts";
import { flattenRows } from "../onnx/flatten.ts";
import { Cache } from "./cache.ts";
import { bindFeeds, type Sizes } from "./feeds.ts";
import { refuseNonFinite } from "./finite.ts";
import { foldConstants } from "./fold.ts";
import { nodeEngine } from "./node.ts";
import type { Arrays, Engine, Session, SessionOptions } from "./session.ts";

export interface CompileOptions extends GraphOptions, SessionOptions {
  readonly engine?: Engine;
  /** The outputs to compute, with the taps; all of them if left out. A training step has no use for a model's scores. */
  readonly outputs?: readonly string[];
  /** An output, a scalar, whose gradients with respect to all parameters are computed too. */
  readonly gradientOf?: string;
  /** What a parameter that the loss does not depend on gets: an error that names it, or zeros. */
  readonly unused?: "error" | "zero";
  /** Open symbols: one session for each set of sizes that is fed (the default), or one session for all of them. */
  readonly symbols?: "bound" | "open";
  /** Weights that are baked in as initializers; parameters are then no longer fed. */
  readonly weights?: ParameterBuffer | ((name: string) => WeightSource);
  /** How many sessions to keep, where there is one for each set of sizes. */
  readonly sessions?: number;
  /** Refuse NaN and infinity in any output, naming the node where it first appeared. */
  readonly finite?: boolean;
}

export interface RunOptions {
  /** The numbers of the parameters, read in place. */
  readonly weights?: ParameterBuffer;
  /** Filled with the gradients. */
  readonly gradients?: ParameterBuffer;
  /** Where random bytes come from, for a function with dropout: another one for each step. */
  readonly chance?: Chance;
}

interface Compiled {
  readonly graph: Graph;
  readonly session: Session;
  /** The names of all outputs inside the model, and those that the caller sees. */
  readonly outputs: { readonly all: readonly string[]; readonly visible: readonly string[] };
  /** Feeds and fetches made from a buffer before: checking and naming them again would cost more than a small run. */
  readonly seen: WeakMap<ParameterBuffer, Record<string, HostArray>>;
}

const gradientName = (parameter: string): string => `gradient of ${parameter}`;

/** A function of tensors that runs. Sessions are made when they are first needed, and kept. */
export class CompiledFunction<I extends InputTypes, O extends Outputs> {
  readonly #fn: TensorFunction<I, O>;
  readonly #options: CompileOptions;
  readonly #engine: Engine;
  readonly #sessions: Cache<Compiled>;
  readonly #inputTypes: ReadonlyMap<string, TensorType>;
  /** The shapes that were fed last, checked, and the sizes that follow from them: training feeds the same again and again. */
  #last: { kinds: string; sizes: Sizes } = { kinds: "none", sizes: {} };

  constructor(fn: TensorFunction<I, O>, options: CompileOptions) {
    this.#fn = fn;
    this.#options = options;
    this.#engine = options.engine ?? nodeEngine;
    this.#inputTypes = new Map(Object.entries(fn.inputs));
    this.#sessions = new Cache(options.sessions ?? 8, ({ session }) => session.release());
  }

  /** The graph that runs for these sizes, cleaned up, with gradients. */
  async graph(sizes: Sizes = {}): Promise<Graph> {
    const built = buildGraph(this.#fn, { ...this.#options, bind: { ...this.#options.bind, ...sizes } });
    const whole = cleanUp(withGradients(chosen(built, this.#options), this.#options));
    return foldConstants(cleanUp(flattenRows(whole)), this.#engine);
  }

  /** Compiles for these sizes ahead of the first run. */
  async prepare(sizes: Sizes = {}): Promise<void> {
    await this.#compiled(sizes);
  }

  /** How many sessions are alive. */
  get sessionCount(): number {
    return this.#sessions.size;
  }

  async run(
    feeds: { readonly [K in keyof I]: HostArray } & Arrays,
    { weights, gradients, chance }: RunOptions = {},
  ): Promise<{ [K in keyof O]: HostArray } & Record<string, HostArray>> {
    const compiled = await this.#for(feeds);
    const { graph, session, outputs } = compiled;
    const allFeeds: Record<string, HostArray> = this.#options.weights ? { ...feeds } : Object.assign(weightFeeds(compiled, weights), feeds);
    if (graph.noise.size > 0) Object.assign(allFeeds, drawNoise(compiled, this.#last.sizes, chance));
    const into =
      this.#options.gradientOf === undefined ? undefined : Object.assign(gradientPlaces(compiled, gradients), resultPlaces(compiled));
    const results = await session.run(allFeeds, outputs.all, into);
    if (this.#options.finite) await refuseNonFinite(graph, results, allFeeds, this.#engine);
    return Object.fromEntries(outputs.visible.map((name) => [name, results[outputName(name)]])) as { [K in keyof O]: HostArray };
  }

  /** Writes what was recorded of the session for these sizes; see `profile`. */
  async endProfiling(sizes: Sizes = {}): Promise<void> {
    (await this.#compiled(sizes)).session.endProfiling();
  }

  /** Gives back the memory of all sessions. */
  async release(): Promise<void> {
    await this.#sessions.clear();
  }

  async #for(feeds: Arrays): Promise<Compiled> {
    const { bind = {}, symbols = "bound", patches = [] } = this.#options;
    const own = patches.length === 0 ? feeds : pick(feeds, (name) => !patches.includes(name));
    const kinds = shapesKey(own);
    if (kinds !== this.#last.kinds) this.#last = { kinds, sizes: bindFeeds(this.#inputTypes, own, bind) };
    const { sizes } = this.#last;
    const compiled = await this.#compiled(symbols === "bound" ? sizes : {});
    if (patches.length > 0) {
      // A patched tap has the type that the graph gives it, known only now.
      const types = new Map(patches.map((name): [string, TensorType] => [name, (compiled.graph.inputs.get(name) as Tensor).type]));
      bindFeeds(
        types,
        pick(feeds, (name) => patches.includes(name)),
        sizes,
      );
    }
    return compiled;
  }

  #compiled(sizes: Sizes): Promise<Compiled> {
    const key = Object.entries(sizes).sort().join(";");
    return this.#sessions.get(key, async () => {
      const graph = await this.graph(sizes);
      const { weights, threads, folder, profile, gradientOf } = this.#options;
      const source =
        typeof weights === "object" ? (name: string): WeightSource => ({ kind: "inline", data: weights.view(name).data }) : weights;
      const session = await this.#engine.createSession(emitOnnx(graph, { weights: source, sequence: gradientOf !== undefined }), {
        threads,
        folder,
        profile,
      });
      return { graph, session, outputs: outputNames(graph, gradientOf), seen: new WeakMap() };
    });
  }
}

/** Makes a function runnable. */
export function compile<I extends InputTypes, O extends Outputs>(
  fn: TensorFunction<I, O>,
  options: CompileOptions = {},
): CompiledFunction<I, O> {
  return new CompiledFunction(fn, options);
}

/** A function's parameters, in one flat layout. Builds the graph, but no session. */
export function parametersOf(fn: TensorFunction, options: GraphOptions = {}): ParameterLayout {
  return parameterLayout(buildGraph(fn, options));
}

/** What is fed, without the numbers. */
function shapesKey(feeds: Arrays): string {
  let key = "";
  for (const name in feeds) key += `${name} ${feeds[name].dtype} ${feeds[name].shape};`;
  return key;
}

const pick = (arrays: Arrays, wanted: (name: string) => boolean): Arrays =>
  Object.fromEntries(Object.entries(arrays).filter(([name]) => wanted(name)));

/** Only the outputs that are wanted. */
function chosen(graph: Graph, { outputs, taps = [] }: CompileOptions): Graph {
  if (!outputs) return graph;
  for (const name of outputs) {
    if (!graph.outputs.has(name)) throw new GraphError(`there is no output called "${name}"${suggest(name, graph.outputs.keys())}`);
  }
  return { ...graph, outputs: new Map([...graph.outputs].filter(([name]) => outputs.includes(name) || taps.includes(name))) };
}

function withGradients(graph: Graph, { gradientOf, unused }: CompileOptions): Graph {
  if (gradientOf === undefined) return graph;
  const loss = graph.outputs.get(gradientOf);
  if (!loss) throw new GraphError(`there is no output called "${gradientOf}" to differentiate${suggest(gradientOf, graph.outputs.keys())}`);
  const gradients = grad(loss, [...graph.parameters.values()], { unused });
  const named = [...graph.parameters.keys()].map((name, i): [string, Tensor] => [gradientName(name), withoutViews(gradients[i])]);
  return { ...graph, outputs: new Map([...graph.outputs, ...named]) };
}

/** A gradient goes to a flat buffer, so its shape does not matter and a reshape at its end is left out. */
function withoutViews(x: Tensor): Tensor {
  return x.node.op.name === "reshape" ? withoutViews(x.node.inputs[0]) : x;
}

function weightFeeds({ graph, seen }: Compiled, weights: ParameterBuffer | undefined): Record<string, HostArray> {
  const before = weights && seen.get(weights);
  if (before) return before;
  const feeds: Record<string, HostArray> = {};
  for (const [name, tensor] of graph.parameters) {
    if (!weights) throw new FeedError(`this function has parameters ("${name}", …), but no weights were given; pass them as { weights }`);
    feeds[name] = weights.view(name);
    bindFeeds(new Map([[name, tensor.type]]), { [name]: feeds[name] });
  }
  if (weights) seen.set(weights, feeds);
  return feeds;
}

/** New random bytes for every place that wants them, each from its own name. */
function drawNoise({ graph }: Compiled, sizes: Sizes, chance: Chance | undefined): Arrays {
  if (!chance)
    throw new FeedError(
      "this function draws random bytes (dropout), but no chance was given; pass one as { chance }, another for each step",
    );
  const drawn: Record<string, HostArray> = {};
  for (const [name, tensor] of graph.noise) {
    const shape = tensor.shape.map((dim) => dim.bind(sizes).value as number);
    drawn[leafName(tensor)] = { dtype: "uint8", shape, data: chance.fork(name).bytes(new Uint8Array(elementCount(shape))) };
  }
  return drawn;
}

/** The names of the outputs: a loss first, and gradients hidden. */
function outputNames(graph: Graph, gradientOf: string | undefined): Compiled["outputs"] {
  const hidden = new Set([...graph.parameters.keys()].map(gradientName));
  const names = [...graph.outputs.keys()].sort((a, b) => Number(b === gradientOf) - Number(a === gradientOf));
  return { all: names.map(outputName), visible: names.filter((name) => gradientOf === undefined || !hidden.has(name)) };
}

/** New arrays for the outputs whose sizes are known, so that the engine can write into them. */
function resultPlaces({ graph, outputs }: Compiled): Arrays {
  const places: Record<string, HostArray> = {};
  for (const name of outputs.visible) {
    const { type } = graph.outputs.get(name) as Tensor;
    const shape = concreteShape(type);
    if (shape) places[outputName(name)] = { dtype: type.dtype, shape, data: emptyArray(type.dtype, elementCount(shape)) };
  }
  return places;
}

function gradientPlaces({ graph, seen }: Compiled, gradients: ParameterBuffer | undefined): Record<string, HostArray> {
  if (!gradients) throw new FeedError("gradients are computed, but there is no buffer for them; give one as { gradients }");
  const before = seen.get(gradients);
  if (before) return before;
  const places: Record<string, HostArray> = {};
  for (const name of graph.parameters.keys()) {
    const { type } = graph.outputs.get(gradientName(name)) as Tensor;
    const shape = concreteShape(type);
    places[outputName(gradientName(name))] = { ...gradients.view(name), ...(shape && { shape }) };
  }
  seen.set(gradients, places);
  return places;
}
