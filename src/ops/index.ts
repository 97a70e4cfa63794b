// All ops, in the order in which they build on each other.
export * from "./fill.ts";
export { concat, pad, reshape, slice, split, transpose } from "./movement.ts";
export { expand, type ReduceOptions, sum } from "./sum.ts";
export { add, div, mul, neg, type Operand, square, sub } from "./arithmetic.ts";
export { and, cast, equal, greater, greaterOrEqual, less, lessOrEqual, not, or, where } from "./compare.ts";
export { argmax, max, mean } from "./reduce.ts";
export { abs, cos, erf, exp, log, relu, sigmoid, sin, sqrt, tanh } from "./functions.ts";
export { gelu, geluTanh, silu } from "./activation.ts";
export { linear, type MatmulOptions, matmul, rowsProduct } from "./products.ts";
export { logSoftmax, softmax } from "./softmax.ts";
export { layerNorm, rmsNorm } from "./normalise.ts";
export { embedding, scatterRows } from "./lookup.ts";
export { dropout } from "./dropout.ts";
export { rotary } from "./rotary.ts";
export { causalMask, masked } from "./mask.ts";
export { type CrossEntropyOptions, softmaxCrossEntropy } from "./loss.ts";
