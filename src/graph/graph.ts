import { GraphError } from "../base/errors.ts";
import { withSizes } from "./dim.ts";
import { input, leafName, type Parameter } from "./leaves.ts";
import { checkNames } from "./names.ts";
import { Scope, Trace, type TraceOptions } from "./scope.ts";
import { type Node, Tensor, topological } from "./tensor.ts";
import type { TensorType } from "./type.ts";

export type InputTypes = Readonly<Record<string, TensorType>>;
export type InputTensors<I extends InputTypes> = { readonly [K in keyof I]: Tensor };
export type Outputs = Readonly<Record<string, Tensor>>;

/** A function of tensors: the types it takes, and how it builds its outputs. Open symbols are bound when it is compiled or run. */
export interface TensorFunction<I extends InputTypes = InputTypes, O extends Outputs = Outputs> {
  readonly inputs: I;
  build(p: Scope, inputs: InputTensors<I>): O;
  /** A change to what was built, taps included: something beside it, with parameters of its own. */
  rewrite?(p: Scope, graph: Graph): Graph;
}

/** Keeps the types of a function's inputs and outputs while writing it. */
export const tensorFunction = <I extends InputTypes, O extends Outputs>(
  inputs: I,
  build: (p: Scope, inputs: InputTensors<I>) => O,
): TensorFunction<I, O> => ({ inputs, build });

/** A built graph: what goes in, what is trained, what comes out. */
export interface Graph {
  readonly inputs: ReadonlyMap<string, Tensor>;
  readonly parameters: ReadonlyMap<string, Parameter>;
  /** Random bytes, or flags made of them, that it wants, also among the inputs. */
  readonly noise: ReadonlyMap<string, Tensor>;
  readonly outputs: ReadonlyMap<string, Tensor>;
}

export interface GraphOptions extends TraceOptions {
  /** Sizes for symbols; symbols that are not here stay open. */
  readonly bind?: Readonly<Record<string, number>>;
}

/** Builds a function's graph. */
export function buildGraph<I extends InputTypes, O extends Outputs>(fn: TensorFunction<I, O>, options: GraphOptions = {}): Graph {
  const trace = new Trace(options);
  const inputs = new Map<string, Tensor>();
  for (const [name, type] of Object.entries(fn.inputs)) {
    inputs.set(name, input(name, { dtype: type.dtype, shape: type.shape.map((dim) => dim.bind(options.bind ?? {})) }));
  }
  const built = withSizes(options.bind ?? {}, () => fn.build(new Scope(trace), Object.fromEntries(inputs) as InputTensors<I>));
  trace.finish();
  const outputs = new Map<string, Tensor>(Object.entries(built));
  if (outputs.size === 0) throw new GraphError("a function needs at least one output");
  for (const [name, y] of outputs) {
    if (!(y instanceof Tensor)) throw new GraphError(`the output "${name}" is not a tensor but ${y === undefined ? "missing" : typeof y}`);
  }
  checkNames([...outputs.keys()].map((name) => ["an output", name] as const));
  for (const name of new Set(options.taps)) {
    if (outputs.has(name)) throw new GraphError(`the tap "${name}" has the name of an output; rename one of them`);
    outputs.set(name, trace.taps.get(name) as Tensor);
  }
  for (const [name, tensor] of trace.patches) {
    if (inputs.has(name)) throw new GraphError(`the patched tap "${name}" has the name of an input; rename one of them`);
    inputs.set(name, tensor);
  }
  const { outputs: results } = fn.rewrite?.(new Scope(trace), { inputs, parameters: trace.parameters, noise: trace.noise, outputs }) ?? {
    outputs,
  };
  checkNames([
    ...[...inputs.keys()].map((name) => ["an input", name] as const),
    ...[...trace.parameters.keys()].map((name) => ["a parameter", name] as const),
  ]);
  for (const tensor of trace.noise.values()) inputs.set(leafName(tensor), tensor);
  return { inputs, parameters: trace.parameters, noise: trace.noise, outputs: results };
}

export const graphNodes = (graph: Graph): Node[] => topological([...graph.outputs.values()]);
