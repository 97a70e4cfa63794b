// All ops that people call.

export { gelu, geluTanh, reluSquared, silu } from "./activation.ts";
export * from "./after.ts";
export { after } from "./after.ts";
export { add, div, mul, neg, type Operand, square, sub } from "./arithmetic.ts";
export { attend } from "./attend.ts";
export { and, cast, equal, greater, greaterOrEqual, less, lessOrEqual, not, or, where } from "./compare.ts";
export { dropout } from "./dropout.ts";
export { fill, iota, onesLike, zerosLike } from "./fill.ts";
export { abs, cos, erf, exp, log, relu, sigmoid, sin, sqrt, tanh } from "./functions.ts";
export { embedding } from "./lookup.ts";
export { type CrossEntropyOptions, sigmoidCrossEntropy, softmaxCrossEntropy } from "./loss.ts";
export { causalMask, lowest, masked } from "./mask.ts";
export { concat, pad, reshape, slice, split, transpose } from "./movement.ts";
export { layerNorm, rmsNorm } from "./normalise.ts";
export { linear, type MatmulOptions, matmul } from "./products.ts";
export { argmax, max, mean } from "./reduce.ts";
export { rotary } from "./rotary.ts";
export { logSoftmax, softmax } from "./softmax.ts";
export { expand, type ReduceOptions, sum } from "./sum.ts";
