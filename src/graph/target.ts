/** What some runtimes have and others do not. */
export type Feature =
  /** Products that transpose their operands and scale their result on the way (com.microsoft.FusedMatMul). */
  | "fused-products"
  /** Products with weights of 4 or 8 bits (com.microsoft.MatMulNBits). */
  | "few-bit-products"
  /** Outputs that stay in the buffers that were given for them, when a sequence stands in front of them. */
  | "outputs-in-place"
  /** Numbers of 64 bits. */
  | "float64"
  /** Whole numbers of 64 bits, other than sizes; where there are none, those of 32 take their place. */
  | "int64"
  /** LogSoftmax as one operator. */
  | "log-softmax"
  /** Bytes that are compared as they are. */
  | "byte-comparisons"
  /** Bytes times numbers in one pass, which one thread makes: DequantizeLinear with a scale for each byte (operator set 21). */
  | "byte-scales"
  /** Tensors that are cut into any number of parts by one operator. */
  | "many-parts"
  /** Truths that are cut, joined, turned and filled up like numbers. */
  | "truths-moved"
  /** Or of truths. */
  | "logical-or"
  /** Loops over an axis of any length, as one operator (Scan); where there is none, the steps are written one after the other. */
  | "scans"
  /** Nodes that are put into an order of the runtime's own, and sizes that are read for nothing, by which they can be kept in ours. */
  | "order-kept"
  /** Weights in a file beside the model. */
  | "external-data";

/** Who will read a model: a lowering asks it what it can do, and writes accordingly. */
export interface Target {
  readonly name: string;
  /** The operator set that models are written in; the newest that qkv knows if left out. */
  readonly opset?: number;
  can(feature: Feature): boolean;
}

/** Part of the ONNX standard; the rest is somebody's own. */
export const standardFeatures: ReadonlySet<Feature> = new Set([
  "float64",
  "int64",
  "external-data",
  "log-softmax",
  "byte-comparisons",
  "logical-or",
  "many-parts",
  "truths-moved",
  "scans",
]);

/** Whoever follows the ONNX standard. */
export const anyRuntime: Target = { name: "a runtime with ONNX's own operators only", can: (feature) => standardFeatures.has(feature) };
