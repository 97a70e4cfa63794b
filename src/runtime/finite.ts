import { type HostArray, isFloat } from "../base/arrays.ts";
import { NonFiniteError } from "../base/errors.ts";
import { type Graph, graphNodes } from "../graph/graph.ts";
import { isConstant } from "../graph/leaves.ts";
import type { Tensor } from "../graph/tensor.ts";
import { showType } from "../graph/type.ts";
import { type EmitOptions, emitOnnx, outputName } from "../onnx/emit.ts";
import { isFill } from "../ops/fill.ts";
import { type Arrays, type Engine, type Feeds, isHeld, type SessionOptions } from "./session.ts";

/** The position of the first NaN or infinity, or -1. */
function firstNonFinite(x: HostArray): number {
  if (!isFloat(x.dtype)) return -1;
  return (x.data as Float32Array).findIndex((value) => !Number.isFinite(value));
}

/** Throws when an output is NaN or infinite, and says where in the graph that began. */
export async function refuseNonFinite(
  graph: Graph,
  outputs: Arrays,
  feeds: Feeds,
  engine: Engine,
  emit: EmitOptions,
  options: SessionOptions,
): Promise<void> {
  const bad = Object.entries(outputs).find(([, x]) => firstNonFinite(x) >= 0);
  if (!bad) return;
  const [name, x] = bad;
  const origin = await whereNonFinite(graph, feeds, engine, emit, options);
  throw new NonFiniteError(`the output "${name}" has ${x.data[firstNonFinite(x)]}${origin ? `; it first appeared ${origin}` : ""}`);
}

/** Runs the graph again with every computed tensor as an output, and names the first that is not finite. */
export async function whereNonFinite(
  graph: Graph,
  feeds: Feeds,
  engine: Engine,
  emit: EmitOptions,
  { folder }: SessionOptions,
): Promise<string | undefined> {
  for (const [name, x] of Object.entries(feeds)) {
    if (!isHeld(x) && firstNonFinite(x) >= 0) return `in what was fed as "${name}"`;
  }
  const computed = graphNodes(graph).filter((node) => !isConstant(node) && !isFill(node)); // a mask may hold −∞ on purpose
  const tensors = computed.flatMap((node) => node.outputs.filter((y) => isFloat(y.dtype)));
  const outputs = new Map(tensors.map((x, i): [string, Tensor] => [`${i}`, x]));
  const session = await engine.createSession(emitOnnx({ ...graph, outputs }, emit), { folder, openSizes: true });
  try {
    const values = await session.run(feeds, [...outputs.keys()].map(outputName));
    for (const [name, { node, type }] of outputs) {
      const value = values[outputName(name)];
      const index = firstNonFinite(value);
      if (index >= 0)
        return `${node.scope ? `at ${node.scope} ` : ""}in ${node.op.name} (${showType(type)}), element ${index}: ${value.data[index]}`;
    }
  } finally {
    await session.release();
  }
  return undefined;
}
