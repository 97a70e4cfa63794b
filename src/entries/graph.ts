// Graphs of tensors: ops, gradients, layers, models, what makes them run, and numbers for their parameters.

export { array, type DType, type FloatType, type HostArray, type TypedArray } from "../base/arrays.ts";
export { type Chance, chance } from "../base/chance.ts";
export { type CheckOptions, checkDevice, type DeviceCheck } from "../bench/check-device.ts";
export { type GradOptions, grad } from "../gradients/grad.ts";
export { cleanUp } from "../graph/cleanup.ts";
export { graphCost, nodeCost } from "../graph/cost.ts";
export { Dim, type DimLike } from "../graph/dim.ts";
export type { Emitter, NodeOptions, OnnxAttribute, Value } from "../graph/emitter.ts";
export {
  buildGraph,
  type Graph,
  type GraphOptions,
  graphNodes,
  type InputTensors,
  type InputTypes,
  type Outputs,
  type TensorFunction,
  tensorFunction,
} from "../graph/graph.ts";
export { constant, filled, type Initialiser, normal, ones, scalar, uniform, zeros } from "../graph/leaves.ts";
export {
  type Attribute,
  type Attributes,
  type Backward,
  type Cost,
  type Domain,
  defineOp,
  type Example,
  type Lowering,
  type Op,
  type OpDefinition,
  type Simplification,
} from "../graph/op.ts";
export { ParameterBuffer, type ParameterEntry, type ParameterLayout } from "../graph/parameters.ts";
export { inPart, type Part, type Place, partNames } from "../graph/place.ts";
export { printGraph } from "../graph/print.ts";
export { layer, type Scope, type TraceOptions } from "../graph/scope.ts";
export { anyRuntime, type Feature, type Target } from "../graph/target.ts";
export type { Node, Tensor } from "../graph/tensor.ts";
export { type AxisRef, bool, float32, float64, int32, int64, type TensorType, uint8 } from "../graph/type.ts";
export * from "../layers/index.ts";
export { checkGradient } from "../library/here.ts";
export * from "../models/index.ts";
export { compile, type NodeCompileOptions, nodeDevice } from "../node/device.ts";
export { type DeviceReport, deviceNamed, devices } from "../node/devices.ts";
export { nodeEngine } from "../node/engine.ts";
export { type EmitOptions, emitOnnx, type WeightSource } from "../onnx/emit.ts";
export * from "../ops/index.ts";
export { type CompiledFunction, type CompileOptions, parametersOf, type Results } from "../runtime/compile.ts";
export type { Device, Precision } from "../runtime/device.ts";
export type { Sizes } from "../runtime/feeds.ts";
export type { PipelineOptions } from "../runtime/pipeline.ts";
export type { RunOptions } from "../runtime/program.ts";
export type { DeviceChoice, DeviceName } from "../runtime/provider.ts";
export type { Arrays, Engine, Session, SessionOptions } from "../runtime/session.ts";
export type { GradientCheckOptions } from "../training/check-gradient.ts";
export { countParameters, type PartCount } from "../weights/count.ts";
export { initialise } from "../weights/initialise.ts";
export { loadParameters, parametersAsTensors } from "../weights/load.ts";
export { dequantised, type Quantised, quantise } from "../weights/quantise.ts";
export { readSafetensors, type Safetensors, safetensorsParts } from "../weights/safetensors.ts";
