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
  /** Weights in a file beside the model. */
  | "external-data";

/** Who will read a model: a lowering asks it what it can do, and writes accordingly. */
export interface Target {
  readonly name: string;
  can(feature: Feature): boolean;
}

/** Float64 and external data are part of the ONNX standard; the rest is somebody's own. */
const standard: ReadonlySet<Feature> = new Set(["float64", "external-data"]);

/** Whoever follows the ONNX standard. */
export const anyRuntime: Target = { name: "a runtime with ONNX's own operators only", can: (feature) => standard.has(feature) };
