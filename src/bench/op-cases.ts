import { type FloatType, type HostArray, isFloat } from "../base/arrays.ts";
import { grad } from "../gradients/grad.ts";
import { type TensorFunction, tensorFunction } from "../graph/graph.ts";
import { allOps, type Example, type Op } from "../graph/op.ts";
import { bound, concrete, random, type Sizes, samples, sizeVariants } from "../graph/samples.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { TensorType } from "../graph/type.ts";
import "../ops/index.ts";
import "../ops/quantised.ts";
import { add, mul } from "../ops/arithmetic.ts";
import { sum } from "../ops/sum.ts";
import { compile } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";

// Every example of every op, with its gradients, as something that any device can compute.

type AnyExample = Example<never>;
/** Fed from outside, nothing to compute. */
const leaves = ["input", "parameter", "constant"];

/** The ops that compute something. */
export const computingOps = (): Op[] => [...allOps.values()].filter(({ name }) => !leaves.includes(name));

export interface OpCase {
  readonly op: string;
  /** "mul 0 with sizes of 1, open". */
  readonly name: string;
  compute(device: Device): Promise<Record<string, HostArray>>;
}

/** Examples of an op in ordinary sizes and sizes of 1, known and left open. */
export const opCases = (op: Op): OpCase[] =>
  (op.examples("float32") as readonly AnyExample[]).flatMap((example, index) =>
    sizeVariants(example)
      .slice(0, 2)
      .flatMap(({ name, sizes }) =>
        (["bound", "open"] as const).map((symbols) => ({
          op: op.name,
          name: `${op.name} ${index} with ${name}, ${symbols}`,
          compute: (device: Device) => computeExample(op, index, sizes, symbols, device),
        })),
      ),
  );

async function computeExample(op: Op, index: number, sizes: Sizes, symbols: "bound" | "open", device: Device) {
  const example = () => (op.examples("float32") as readonly AnyExample[])[index]; // made anew, its sizes are those that a graph is built for
  const ready = bound(example(), sizes);
  const inputs = samples(example(), sizes);
  const { fn, probes } = withGradients(op, symbols === "open" ? example : () => ready, ready, inputs);
  return computed(fn, { ...Object.fromEntries(inputs.map((x, i) => [`x${i}`, x])), ...probes }, device, symbols);
}

async function computed(fn: TensorFunction, feeds: Record<string, HostArray>, device: Device, symbols: "bound" | "open") {
  const run = compile(fn, { device, symbols });
  try {
    return (await run.run(feeds)) as Record<string, HostArray>;
  } finally {
    await run.release();
  }
}

/** The op's outputs and, where it has a gradient, those of Σ output · fixed numbers with respect to every input. */
function withGradients(op: Op, given: () => AnyExample, ready: AnyExample, inputs: readonly HostArray[]) {
  const example = given();
  const typesOf = ({ inputs: own, attributes }: AnyExample): readonly TensorType[] => {
    const types = op.type(
      own.map(({ type }) => type),
      attributes,
    );
    return "dtype" in types ? [types] : types;
  };
  const types = Object.fromEntries(example.inputs.map(({ type }, i): [string, TensorType] => [`x${i}`, type]));
  const differentiates = op.vjp !== undefined && inputs.some((x) => isFloat(x.dtype));
  const outputs = typesOf(example);
  const shown = outputs.slice(0, outputs.length - (op.saved ?? 0)).flatMap((type, i) => (isFloat(type.dtype) ? [[i, type] as const] : []));
  const probed = differentiates ? shown : [];
  const shapes = typesOf(ready);
  const probes = Object.fromEntries(probed.map(([i]) => [`r${i}`, random(concrete(shapes[i], {}), 77 + i, shapes[i].dtype as FloatType)]));
  const probeTypes = Object.fromEntries(probed.map(([i, type]): [string, TensorType] => [`r${i}`, type]));
  const fn = tensorFunction({ ...types, ...probeTypes }, (_, tensors): Record<string, Tensor> => {
    const own = Object.keys(types).map((key) => tensors[key]);
    const results = op.apply(own, given().attributes);
    const named = Object.fromEntries(results.map((y, i): [string, Tensor] => [`y${i}`, y]));
    if (probed.length === 0) return named;
    const loss = probed.map(([i]) => sum(mul(results[i], tensors[`r${i}`]))).reduce((a, b) => add(a, b));
    const floats = own.filter((x) => isFloat(x.dtype));
    return { ...named, ...Object.fromEntries(grad(loss, floats).map((d, i): [string, Tensor] => [`d${i}`, d])) };
  });
  return { fn, probes };
}
