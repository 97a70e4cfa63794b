import type { HostArray } from "../base/arrays.ts";
import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { cutGraph, isAcross } from "../graph/cut.ts";
import {
  buildGraph,
  type Graph,
  type GraphOptions,
  graphNodes,
  type InputTypes,
  type Outputs,
  type TensorFunction,
} from "../graph/graph.ts";
import { type ParameterBuffer, type ParameterLayout, parameterLayout } from "../graph/parameters.ts";
import type { Tensor } from "../graph/tensor.ts";
import { byteSize, type TensorType } from "../graph/type.ts";
import { type EmitOptions, emitOnnx, outputName, type WeightSource } from "../onnx/emit.ts";
import { Cache } from "./cache.ts";
import { type Device, targetOn } from "./device.ts";
import { bindFeeds, type Sizes } from "./feeds.ts";
import { refuseNonFinite, whereNonFinite } from "./finite.ts";
import { gradientName, type PipelineOptions, prepareGraph } from "./pipeline.ts";
import { sessionOnDevice } from "./placement.ts";
import { Program, type RunOptions, type Stage } from "./program.ts";
import type { Arrays, Engine, SessionOptions } from "./session.ts";

export interface CompileOptions extends PipelineOptions, Omit<SessionOptions, "threads" | "openSizes"> {
  /** What computes. */
  readonly device: Device;
  /** Open symbols: one session for each set of sizes that is fed (the default), or one session for all of them. */
  readonly symbols?: "bound" | "open";
  /**
   * Weights that are baked in as initializers, as they are when a session is made; these parameters are then no longer fed. A function
   * may know only some of them: the others are fed.
   */
  readonly weights?: ParameterBuffer | ((name: string) => WeightSource | undefined);
  /** Parameters whose gradients come before those of others, stage by stage, each from a session of its own; the rest comes last. The bits are the same. */
  readonly stages?: readonly (readonly string[])[];
  /** Whether all outputs are written into arrays that each run is given as `into`; gradients always are. */
  readonly inPlace?: boolean;
  /** How many sessions to keep, where there is one for each set of sizes. */
  readonly sessions?: number;
  /** Refuse NaN and infinity in any output, naming the node where it first appeared. */
  readonly finite?: boolean;
}

/** Sets of sizes that are remembered; texts of many lengths have as many. */
const mostSizes = 1024;

/** What a run gives: every output and every tap that was asked for, by name. */
export type Results<O extends Outputs, Tap extends string> = { readonly [Name in keyof O | Tap]: HostArray };

/** A function of tensors that runs. Sessions are made when they are first needed, and kept. */
export class CompiledFunction<I extends InputTypes, O extends Outputs, Tap extends string = never> {
  readonly #fn: TensorFunction<I, O>;
  readonly #options: CompileOptions;
  readonly #programs: Cache<Program>;
  readonly #inputTypes: ReadonlyMap<string, TensorType>;
  readonly #symbols: ReadonlySet<string>;
  /** The shapes that were fed before, checked, and the sizes that follow from them: the same come again and again. */
  readonly #sizes = new Map<string, Sizes>();
  /** Whether there are loops that the engine cannot do. */
  #loops: boolean | undefined;

  constructor(fn: TensorFunction<I, O>, options: CompileOptions) {
    const { sessions = 8, bind = {} } = options;
    if (!(sessions >= 1)) throw new ConfigError(`at least one session must be kept, not ${sessions}`);
    this.#fn = fn;
    this.#options = options;
    this.#inputTypes = new Map(Object.entries(fn.inputs));
    this.#symbols = new Set(Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols)));
    this.#programs = new Cache(sessions, (program) => program.release());
    this.#checkSymbols(bind);
  }

  /** The graph that runs for these sizes, cleaned up, with gradients. */
  graph(sizes: Sizes = {}): Promise<Graph> {
    this.#checkSymbols(sizes);
    return prepareGraph(this.#fn, { ...this.#options, bind: { ...this.#options.bind, ...sizes } }, this.#engine, this.#options);
  }

  /** Compiles for these sizes ahead of the first run. */
  async prepare(sizes: Sizes = {}): Promise<void> {
    await this.#use(sizes, async () => {});
  }

  get #engine(): Engine {
    return this.#options.device.engine;
  }

  /** How many sessions are alive. */
  get sessionCount(): number {
    return this.#programs.size;
  }

  async run(feeds: { readonly [K in keyof I]: HostArray } & Arrays, options: RunOptions = {}): Promise<Results<O, Tap>> {
    const sizes = this.#check(feeds);
    return this.#use(sizes, async (program) => {
      this.#checkPatches(program, feeds, sizes);
      program.checkLimits(sizes);
      program.checkMemory(sizes, this.#options.device);
      const all = program.feeds(feeds, sizes, options);
      const results = await program.run(all, options);
      if (this.#options.finite) await refuseNonFinite(program.graph, results, all, this.#engine, this.#emitOptions(), this.#options);
      return results as Results<O, Tap>;
    });
  }

  /** Runs again with everything visible, and says where NaN or infinity first appears; undefined if nowhere. */
  async whereNonFinite(feeds: { readonly [K in keyof I]: HostArray } & Arrays, options: RunOptions = {}): Promise<string | undefined> {
    const sizes = this.#check(feeds);
    return this.#use(sizes, (program) => {
      const all = program.feeds(feeds, sizes, options);
      return whereNonFinite(program.graph, all, this.#engine, this.#emitOptions(), this.#options);
    });
  }

  /** Bytes that stages leave for each other, with what is fed here. */
  async bytesAcross(feeds: { readonly [K in keyof I]: HostArray } & Arrays): Promise<number> {
    const sizes = this.#check(feeds);
    const left = this.#cut(await this.graph(sizes)).flatMap(({ outputs }) => [...outputs].filter(([name]) => isAcross(name)));
    return left.reduce((total, [, { type }]) => total + (byteSize(type).bind(sizes).value ?? 0), 0);
  }

  /** Writes what was recorded of the session for these sizes; see `profile`. */
  async endProfiling(sizes: Sizes = {}): Promise<void> {
    await this.#use(sizes, async ({ stages }) => {
      for (const { session } of stages) session.endProfiling();
    });
  }

  /** Gives back the memory of all sessions. */
  async release(): Promise<void> {
    await this.#programs.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** The sizes that follow from what is fed. */
  #check(feeds: Arrays): Sizes {
    const { bind, patches = [] } = this.#options;
    const own = patches.length === 0 ? feeds : pick(feeds, (name) => !patches.includes(name));
    const kinds = shapesKey(own);
    const known = kinds === undefined ? undefined : this.#sizes.get(kinds);
    if (known) return known;
    const sizes = bindFeeds(this.#inputTypes, own, bind);
    if (this.#sizes.size >= mostSizes) this.#sizes.clear();
    if (kinds !== undefined) this.#sizes.set(kinds, sizes);
    return sizes;
  }

  /** A patched tap has the type that the graph gives it, known only once that is built. */
  #checkPatches({ graph }: Program, feeds: Arrays, sizes: Sizes): void {
    const { patches = [] } = this.#options;
    if (patches.length === 0) return;
    const types = new Map(patches.map((name): [string, TensorType] => [name, (graph.inputs.get(name) as Tensor).type]));
    bindFeeds(
      types,
      pick(feeds, (name) => types.has(name)),
      sizes,
    );
  }

  #checkSymbols(sizes: Sizes): void {
    for (const name of Object.keys(sizes)) {
      if (!this.#symbols.has(name)) throw new ConfigError(`no input has an axis "${name}" to bind${suggest(name, this.#symbols)}`);
    }
  }

  /** Whether one session serves all sizes. Where an engine has no loops they are written out, for a length that must be known. */
  get #open(): boolean {
    if (this.#options.symbols !== "open") return false;
    this.#loops ??= !this.#engine.can("scans") && graphNodes(buildGraph(this.#fn, this.#options)).some(({ op }) => op.scans);
    return !this.#loops;
  }

  #use<Result>(given: Sizes, body: (program: Program) => Promise<Result>): Promise<Result> {
    const sizes = this.#open ? {} : { ...this.#options.bind, ...given };
    const key = Object.entries(sizes).sort().join(";");
    return this.#programs.use(key, () => this.#program(sizes), body);
  }

  async #program(sizes: Sizes): Promise<Program> {
    const graph = await this.graph(sizes);
    const { device, folder, profile, denormals, gradientOf, keeps = "everything", inPlace = false } = this.#options;
    const { threads } = device;
    const differentiates = gradientOf !== undefined;
    const { target, weights } = this.#emitOptions();
    const fed = new Set<string>();
    const source = (name: string) => {
      const found = weights?.(name);
      if (!found) fed.add(name);
      return found;
    };
    const keep = this.#options.keep?.map(outputName);
    const stages: Stage[] = [];
    for (const part of this.#cut(graph)) {
      const model = emitOnnx(part, {
        target,
        weights: source,
        ordered: keeps !== "everything", // what is computed again is wanted late, and gone soon
        sequence: (differentiates || inPlace) && this.#engine.can("outputs-in-place"),
      });
      const session = await sessionOnDevice(this.#engine, model, { threads, folder, profile, denormals, keep }, part, (bind) =>
        prepareGraph(this.#fn, { ...this.#options, bind: { ...this.#options.bind, ...sizes, ...bind } }, this.#engine, {
          ...this.#options,
          folds: false,
        }),
      );
      stages.push({ graph: part, session });
    }
    return new Program(graph, stages, { differentiates, fed: [...fed] });
  }

  /** What is no gradient comes with the first stage. */
  #cut(graph: Graph): readonly Graph[] {
    const [first, ...others] = (this.#options.stages ?? []).map((names) => names.map(gradientName));
    if (!first) return [graph];
    const hidden = new Set([...graph.parameters.keys()].map(gradientName));
    return cutGraph(graph, [[...first, ...[...graph.outputs.keys()].filter((name) => !hidden.has(name))], ...others]);
  }

  #emitOptions(): EmitOptions {
    const { weights } = this.#options;
    return {
      target: targetOn(this.#options.device),
      weights: typeof weights === "object" ? (name) => ({ kind: "inline", data: weights.view(name).data }) : weights,
    };
  }
}

/** Makes a function runnable. */
export function compile<I extends InputTypes, O extends Outputs, const Tap extends string = never>(
  fn: TensorFunction<I, O>,
  options: CompileOptions & { readonly taps?: readonly Tap[] },
): CompiledFunction<I, O, Tap> {
  return new CompiledFunction(fn, options);
}

/** A function's parameters, in one flat layout. Builds the graph, for sizes of 1 where none are given (no parameter depends on them), but no session. */
export function parametersOf(fn: TensorFunction, { bind, ...options }: GraphOptions = {}): ParameterLayout {
  const symbols = Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols));
  return parameterLayout(buildGraph(fn, { ...options, bind: { ...Object.fromEntries(symbols.map((symbol) => [symbol, 1])), ...bind } }));
}

/** What is fed, without the numbers; undefined if something is not an array at all. */
function shapesKey(feeds: Arrays): string | undefined {
  let key = "";
  for (const name in feeds) {
    const x: HostArray | undefined = feeds[name];
    if (!x?.data) return undefined;
    key += `${name} ${x.dtype} ${x.data.constructor.name} ${x.shape};`;
  }
  return key;
}

const pick = (arrays: Arrays, wanted: (name: string) => boolean): Arrays =>
  Object.fromEntries(Object.entries(arrays).filter(([name]) => wanted(name)));
