import type { HostArray } from "../base/arrays.ts";
import { FeedError, GraphError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { grad } from "../gradients/grad.ts";
import { cleanUp } from "../graph/cleanup.ts";
import { buildGraph, type Graph, type GraphOptions, type InputTypes, type Outputs, type TensorFunction } from "../graph/graph.ts";
import { type ParameterBuffer, type ParameterLayout, parameterLayout } from "../graph/parameters.ts";
import type { Tensor } from "../graph/tensor.ts";
import { tensorType } from "../graph/type.ts";
import { emitOnnx, outputName, type WeightSource } from "../onnx/emit.ts";
import { Cache } from "./cache.ts";
import { bindFeeds, type Sizes } from "./feeds.ts";
import { refuseNonFinite } from "./finite.ts";
import { foldConstants } from "./fold.ts";
import { nodeEngine } from "./node.ts";
import type { Arrays, Engine, Session, SessionOptions } from "./session.ts";

export interface CompileOptions extends GraphOptions, SessionOptions {
  readonly engine?: Engine;
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
}

interface Compiled {
  readonly graph: Graph;
  readonly session: Session;
}

const gradientName = (parameter: string): string => `gradient of ${parameter}`;

/** A function of tensors that runs. Sessions are made when they are first needed, and kept. */
export class CompiledFunction<I extends InputTypes, O extends Outputs> {
  readonly #fn: TensorFunction<I, O>;
  readonly #options: CompileOptions;
  readonly #engine: Engine;
  readonly #sessions: Cache<Compiled>;

  constructor(fn: TensorFunction<I, O>, options: CompileOptions) {
    this.#fn = fn;
    this.#options = options;
    this.#engine = options.engine ?? nodeEngine;
    this.#sessions = new Cache(options.sessions ?? 8, ({ session }) => session.release());
  }

  /** The graph that runs for these sizes, cleaned up, with gradients. */
  async graph(sizes: Sizes = {}): Promise<Graph> {
    const graph = cleanUp(
      withGradients(buildGraph(this.#fn, { ...this.#options, bind: { ...this.#options.bind, ...sizes } }), this.#options),
    );
    return foldConstants(graph, this.#engine);
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
    { weights, gradients }: RunOptions = {},
  ): Promise<{ [K in keyof O]: HostArray } & Record<string, HostArray>> {
    const { graph, session } = await this.#for(feeds);
    const allFeeds: Record<string, HostArray> = { ...feeds };
    const into: Record<string, HostArray> = {};
    const names = [...graph.outputs.keys()];
    if (!this.#options.weights) feedWeights(graph, weights, allFeeds);
    if (this.#options.gradientOf !== undefined) {
      if (!gradients) throw new FeedError("gradients are computed, but there is no buffer for them; give one as { gradients }");
      for (const name of graph.parameters.keys()) into[outputName(gradientName(name))] = gradients.view(name);
    }
    const results = await session.run(allFeeds, names.map(outputName), into);
    const visible = Object.fromEntries(names.map((name) => [name, results[outputName(name)]]));
    if (this.#options.finite) await refuseNonFinite(graph, visible, allFeeds, this.#engine);
    for (const name of graph.parameters.keys()) delete visible[gradientName(name)];
    return visible as { [K in keyof O]: HostArray } & Record<string, HostArray>;
  }

  endProfiling(): Promise<void> {
    return this.#compiled({}).then(({ session }) => session.endProfiling());
  }

  /** Gives back the memory of all sessions. */
  async release(): Promise<void> {
    await this.#sessions.clear();
  }

  async #for(feeds: Arrays): Promise<Compiled> {
    const { bind = {}, symbols = "bound", patches = [] } = this.#options;
    const patched = Object.fromEntries(Object.entries(feeds).filter(([name]) => patches.includes(name)));
    const own = Object.fromEntries(Object.entries(feeds).filter(([name]) => !patches.includes(name)));
    const sizes = bindFeeds(new Map(Object.entries(this.#fn.inputs)), own, bind);
    const compiled = await this.#compiled(symbols === "bound" ? sizes : {});
    // A patched tap has the type that the graph gives it, known only now.
    const patchTypes = new Map([...compiled.graph.inputs].filter(([name]) => patches.includes(name)).map(([name, x]) => [name, x.type]));
    bindFeeds(patchTypes, patched, sizes);
    return compiled;
  }

  #compiled(sizes: Sizes): Promise<Compiled> {
    const key = Object.entries(sizes).sort().join(";");
    return this.#sessions.get(key, async () => {
      const graph = await this.graph(sizes);
      const { weights, threads, folder, profile } = this.#options;
      const source =
        typeof weights === "object" ? (name: string): WeightSource => ({ kind: "inline", data: weights.view(name).data }) : weights;
      const session = await this.#engine.createSession(emitOnnx(graph, { weights: source }), { threads, folder, profile });
      return { graph, session };
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

function withGradients(graph: Graph, { gradientOf, unused }: CompileOptions): Graph {
  if (gradientOf === undefined) return graph;
  const loss = graph.outputs.get(gradientOf);
  if (!loss) throw new GraphError(`there is no output called "${gradientOf}" to differentiate${suggest(gradientOf, graph.outputs.keys())}`);
  const gradients = grad(loss, [...graph.parameters.values()], { unused });
  const named = [...graph.parameters.keys()].map((name, i): [string, Tensor] => [gradientName(name), gradients[i]]);
  return { ...graph, outputs: new Map([...graph.outputs, ...named]) };
}

function feedWeights(graph: Graph, weights: ParameterBuffer | undefined, feeds: Record<string, HostArray>): void {
  for (const [name, tensor] of graph.parameters) {
    if (!weights) throw new FeedError(`this function has parameters ("${name}", …), but no weights were given; pass them as { weights }`);
    const view = weights.view(name);
    bindFeeds(new Map([[name, tensorType(tensor.dtype, tensor.shape)]]), { [name]: view });
    feeds[name] = view;
  }
}
