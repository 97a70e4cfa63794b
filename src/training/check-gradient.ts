import { array, elementCount, type FloatType, type HostArray, isFloat } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import { GraphError } from "../base/errors.ts";
import { finiteDifference, gradientGap } from "../gradients/finite-difference.ts";
import { grad } from "../gradients/grad.ts";
import { tensorFunction } from "../graph/graph.ts";
import { constant } from "../graph/leaves.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { concreteShape, tensorType } from "../graph/type.ts";
import { mul } from "../ops/arithmetic.ts";
import { sum } from "../ops/sum.ts";
import { compile, parametersOf } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { initialise } from "../weights/initialise.ts";

export interface GradientCheckOptions {
  /** How far each number is moved; 1e-3 in float64, 0.03 in float32. */
  readonly step?: number;
  /** The largest difference, relative to a gradient's largest entry, that is let through; 1e-6 in float64, 1e-3 in float32. */
  readonly tolerance?: number;
  /** What the numbers of parameters, and of the sum that is differentiated, are drawn from. */
  readonly seed?: number;
  readonly device: Device;
}

type Build<Name extends string> = (p: Scope, inputs: { readonly [K in Name]: Tensor }) => Tensor;

const usual = { float64: { step: 1e-3, tolerance: 1e-6 }, float32: { step: 3e-2, tolerance: 1e-3 } } as const;

/**
 * Compares the gradients of a function of tensors, with respect to its float inputs and its parameters, with finite differences. Gives the
 * largest difference, relative to the largest entry of each gradient; one above the tolerance is thrown as an error that names it. The
 * function's output is made a scalar by a sum with fixed random factors. With float64 inputs all is in float64, as it should be.
 */
export async function checkGradient<Name extends string>(
  build: Build<Name>,
  inputs: { readonly [K in Name]: HostArray },
  options: GradientCheckOptions,
): Promise<number> {
  const names = Object.keys(inputs) as Name[];
  const given = names.map((name) => copied(inputs[name]));
  const float: FloatType = given.some(({ dtype }) => dtype === "float32") ? "float32" : "float64";
  const { step = usual[float].step, tolerance = usual[float].tolerance, seed = 1, device } = options;
  const fn = differentiated(build, names, given, seed);
  const weights = moved(initialise(parametersOf(fn, { float }), chance(seed)), seed);
  const compiled = compile(fn, { device, float });
  try {
    const run = (arrays: readonly HostArray[]) =>
      compiled.run(Object.fromEntries(names.map((name, i) => [name, arrays[i]])), { weights, chance: chance(seed) });
    const analytic: Readonly<Record<string, HostArray>> = await run(given);
    const all = [...given, ...weights.views.values()]; // views: what is moved in them is moved in the weights
    const called = [...names.map((name) => `input "${name}"`), ...[...weights.views.keys()].map((name) => `parameter "${name}"`)];
    let largest = 0;
    for (const [i, x] of all.entries()) {
      if (!isFloat(x.dtype)) continue;
      const numeric = await finiteDifference(async (arrays) => Number((await run(arrays)).loss.data[0]), all, i, step);
      const exact = analytic[`gradient ${i}`].data as Float64Array;
      const gap = gradientGap(exact, numeric);
      if (!(gap <= tolerance)) throw new GraphError(disagreement(called[i], gap, tolerance, exact, numeric));
      largest = Math.max(largest, gap);
    }
    return largest;
  } finally {
    await compiled.release();
  }
}

/** Its scalar, and the gradients by the place of what they are of: inputs first, then parameters. */
function differentiated(build: Build<string>, names: readonly string[], given: readonly HostArray[], seed: number) {
  const types = Object.fromEntries(names.map((name, i) => [name, tensorType(given[i].dtype, given[i].shape)]));
  return tensorFunction(types, (p, tensors): Record<string, Tensor> => {
    const y = build(p, tensors);
    const loss = sum(mul(y, constant(factors(y, seed))));
    const of = [...names.map((name) => tensors[name]), ...p.parameters()].map((x, i) => [x, i] as const).filter(([x]) => isFloat(x.dtype));
    if (of.length === 0)
      throw new GraphError("there is nothing to differentiate by: give an input in float64, or a function with parameters");
    const gradients = grad(
      loss,
      of.map(([x]) => x),
    );
    return { loss, ...Object.fromEntries(of.map(([, i], j) => [`gradient ${i}`, gradients[j]])) };
  });
}

function factors(y: Tensor, seed: number): HostArray {
  const shape = concreteShape(y.type);
  if (!shape || !isFloat(y.dtype)) throw new GraphError(`a gradient is that of floats of known sizes, not of ${y}`);
  const source = chance(seed).fork("factors");
  const numbers = Array.from({ length: elementCount(shape) }, (_, i) => source.normal(i));
  return array(y.dtype, y.dtype === "float64" ? Float64Array.from(numbers) : Float32Array.from(numbers), shape);
}

/** Away from where parameters start: one that is 0 would hide what it is multiplied with. */
function moved(weights: ParameterBuffer, seed: number): ParameterBuffer {
  const source = chance(seed).fork("moved");
  for (let i = 0; i < weights.data.length; i++) weights.data[i] += 0.3 * source.normal(i);
  return weights;
}

const copied = (x: HostArray): HostArray => ({ ...x, data: x.data.slice() as HostArray["data"] });

function disagreement(what: string, gap: number, tolerance: number, exact: ArrayLike<number>, numeric: ArrayLike<number>): string {
  const shown = (values: ArrayLike<number>) =>
    `${Array.from(values, (value) => Number(value.toPrecision(4)))
      .slice(0, 4)
      .join(", ")}${values.length > 4 ? ", …" : ""}`;
  const size = Number(gap.toPrecision(2));
  return `the gradient of the ${what} is [${shown(exact)}], and finite differences give [${shown(numeric)}]: ${size} apart, where at most ${tolerance} is let through; mend the gradient rule`;
}
