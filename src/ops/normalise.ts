import { GraphError } from "../base/errors.ts";
import { Dim } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { type Backward, defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { byteSize, showShape, size, type TensorType, tensorType } from "../graph/type.ts";
import { add, mul, sub, wantFloat } from "./arithmetic.ts";
import { real } from "./example.ts";
import { reshape } from "./movement.ts";
import { linear, rowsProduct, sumRows } from "./products.ts";
import { mean } from "./reduce.ts";

// Normalisation of the last axis. The mean and 1/σ of each row are kept for the gradient.

type Norm = { readonly epsilon: number };

const perRow = (x: TensorType): TensorType => tensorType(x.dtype, [...x.shape.slice(0, -1), Dim.of(1)]);
const width = (x: TensorType): Dim => x.shape[x.shape.length - 1];

/** mean(x · scale) over the last axis, kept with size 1. */
function scaledMean(x: Tensor, scale: Tensor | undefined): Tensor {
  const columns = width(x.type);
  if (!scale || columns.value === undefined) return mean(scale ? mul(x, scale) : x, { axis: -1, keep: true });
  return mul(linear(x, reshape(scale, [columns, 1])), 1 / columns.value);
}

function checkAffine([x, ...affine]: readonly TensorType[]): void {
  wantFloat(x);
  if (x.shape.length === 0) throw new GraphError("normalises the last axis, and a scalar has none");
  for (const vector of affine) {
    if (vector.dtype !== x.dtype) throw new GraphError(`${x.dtype} meets ${vector.dtype}; cast one of them`);
    if (vector.shape.length !== 1 || !vector.shape[0].equals(width(x))) {
      throw new GraphError(`the scale or bias ${showShape(vector.shape)} does not fit the last axis ${width(x)}`);
    }
  }
}

/** ONNX wants a scale; without one of our own it is ones. */
function scaleOrOnes(e: Emitter, scale: Value | undefined, x: TensorType): Value {
  if (scale !== undefined) return scale;
  const ones = new Array(width(x).knownFor("normalising without a scale")).fill(1);
  return e.constant(x.dtype, [ones.length], x.dtype === "float64" ? Float64Array.from(ones) : Float32Array.from(ones));
}

/** ONNX's LayerNormalization gives the mean and 1/σ in float32 only, so float64 is spelled out. */
function layerNormByHand(e: Emitter, [x, scale, bias]: readonly (Value | undefined)[], type: TensorType, epsilon: number): Value[] {
  const last = e.integers([type.shape.length - 1]);
  const average = (value: Value) => e.node("ReduceMean", [value, last], { keepdims: 1 });
  const mu = average(x as Value);
  const centred = e.node("Sub", [x as Value, mu]);
  const inverse = inverseRoot(e, average(e.node("Mul", [centred, centred])), type, epsilon);
  let y = e.node("Mul", [centred, inverse]);
  if (scale !== undefined) y = e.node("Mul", [y, scale]);
  if (bias !== undefined) y = e.node("Add", [y, bias]);
  return [y, mu, inverse];
}

const inverseRoot = (e: Emitter, x: Value, { dtype }: TensorType, epsilon: number): Value =>
  e.node("Reciprocal", [e.node("Sqrt", [e.node("Add", [x, e.scalar(dtype, epsilon)])])]);

/**
 * With c = x − μ, i = 1/σ, h = scale · g:  dx = i · (h − mean(h) − c · i² · mean(h · c)).
 * The means are products with the scale as a column, which is faster than a reduction.
 */
const layerNormOp = defineOp<Norm>("layerNorm", {
  type: (inputs) => {
    checkAffine(inputs);
    return [inputs[0], perRow(inputs[0]), perRow(inputs[0])];
  },
  saved: 2,
  rowwise: { inputs: 1, when: "always" },
  vjp({ g, inputs: [x, scale, bias], outputs: [, mu, inverse] }: Backward<Norm>) {
    const centred = sub(x, mu);
    const gc = mul(g, centred);
    const slope = mul(scaledMean(gc, scale), mul(inverse, inverse));
    const dx = mul(sub(scale ? mul(g, scale) : g, add(mul(centred, slope), scaledMean(g, scale))), inverse);
    return [dx, scale && reshape(rowsProduct(inverse, gc), scale.shape), bias && sumRows(g)];
  },
  onnx(e, [x, scale, bias], { inputs: [type], attributes: { epsilon } }) {
    if (type.dtype === "float64") return layerNormByHand(e, [x, scale, bias], type, epsilon);
    const inputs = [x, scaleOrOnes(e, scale, type), ...(bias === undefined ? [] : [bias])];
    return e.nodes("LayerNormalization", inputs, { axis: -1, epsilon: { float: epsilon } }, { outputs: 3 });
  },
  cost: ([x, ...affine]) => ({ flops: size(x).times(7 + affine.length) }),
  examples: (f) => [
    { inputs: [real(f, "a", "b", 5), real(f, 5), real(f, 5)], attributes: { epsilon: 1e-5 } },
    { inputs: [real(f, "a", 4)], attributes: { epsilon: 1e-5 } },
    { inputs: [real(f, "a", 4), real(f, 4)], attributes: { epsilon: 1e-5 } },
  ],
});

/** (x − μ)/√(σ² + ε) · scale + bias over the last axis; scale and bias may be left out. */
export function layerNorm(x: Tensor, scale?: Tensor, bias?: Tensor, { epsilon = 1e-5 }: { epsilon?: number } = {}): Tensor {
  const affine = [scale, bias].filter((vector) => vector !== undefined);
  if (bias && !scale) throw new GraphError("layerNorm: a bias needs a scale beside it");
  return layerNormOp.apply([x, ...affine], { epsilon })[0];
}

const rmsNormOp = defineOp<Norm>("rmsNorm", {
  type: (inputs) => {
    checkAffine(inputs);
    return [inputs[0], perRow(inputs[0])];
  },
  saved: 1,
  rowwise: { inputs: 1, when: "always" },
  vjp({ g, inputs: [x, scale], outputs: [, inverse] }: Backward<Norm>) {
    const gx = mul(g, x);
    const slope = mul(scaledMean(gx, scale), mul(inverse, inverse));
    const dx = mul(sub(scale ? mul(g, scale) : g, mul(x, slope)), inverse);
    return [dx, scale && reshape(rowsProduct(inverse, gx), scale.shape)];
  },
  onnx(e, [x, scale], { inputs: [type], attributes: { epsilon } }) {
    const squares = e.node("ReduceMean", [e.node("Mul", [x, x]), e.integers([type.shape.length - 1])], { keepdims: 1 });
    const inverse = inverseRoot(e, squares, type, epsilon);
    const normal = e.node("Mul", [x, inverse]);
    return [scale === undefined ? normal : e.node("Mul", [normal, scale]), inverse];
  },
  cost: ([x, ...affine]) => ({
    flops: size(x).times(4 + affine.length),
    bytes: byteSize(x).times(5 + 2 * affine.length), // squares, their mean, x/rms, and the scale: a pass each
  }),
  examples: (f) => [
    { inputs: [real(f, "a", "b", 5), real(f, 5)], attributes: { epsilon: 1e-5 } },
    { inputs: [real(f, "a", 4)], attributes: { epsilon: 1e-5 } },
  ],
});

/** x/√(mean(x²) + ε) · scale over the last axis. */
export function rmsNorm(x: Tensor, scale?: Tensor, { epsilon = 1e-6 }: { epsilon?: number } = {}): Tensor {
  return rmsNormOp.apply(scale ? [x, scale] : [x], { epsilon })[0];
}
