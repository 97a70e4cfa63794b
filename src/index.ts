// The public list, in the order of the way: numbers, graphs, ops, gradients, models that run.
export { array, type DType, type HostArray, type TypedArray } from "./base/arrays.ts";
export { type Chance, chance } from "./base/chance.ts";
export { ConfigError, EngineError, FeedError, GraphError, NonFiniteError, QkvError } from "./base/errors.ts";
export { grad } from "./gradients/grad.ts";
export { Dim, type DimLike } from "./graph/dim.ts";
export { buildGraph, type Graph, type TensorFunction, tensorFunction } from "./graph/graph.ts";
export { constant, type Initialiser, iota, normal, ones, scalar, uniform, zeros } from "./graph/leaves.ts";
export { defineOp } from "./graph/op.ts";
export { ParameterBuffer, type ParameterLayout } from "./graph/parameters.ts";
export { layer, type Scope } from "./graph/scope.ts";
export type { Tensor } from "./graph/tensor.ts";
export { bool, float32, float64, int32, int64, type TensorType, uint8 } from "./graph/type.ts";
export { emitOnnx } from "./onnx/emit.ts";
export * from "./ops/index.ts";
export { type CompiledFunction, type CompileOptions, compile, parametersOf } from "./runtime/compile.ts";
export { nodeEngine } from "./runtime/node.ts";
export type { Engine, Session, SessionOptions } from "./runtime/session.ts";
