import { EngineError } from "../base/errors.ts";
import { copyNode } from "../graph/cleanup.ts";
import { type Graph, graphNodes } from "../graph/graph.ts";
import { input, isConstant, isLeaf } from "../graph/leaves.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { showType } from "../graph/type.ts";
import { emitOnnx, operatorsOf } from "../onnx/emit.ts";
import type { Sizes } from "./feeds.ts";
import type { Engine, Session, SessionOptions } from "./session.ts";

// An engine beside the processor gives what it has no kernel for to the CPU, silently. Here that is refused, with the name of what it lacks.

/** For open sizes, these are as good as any: kernels are chosen by types. */
const anySize = 2;

/**
 * A session that leaves nothing to the processor but sizes that are open. Where there are any, the session itself cannot be held to that, since their
 * arithmetic is the host's: the same function with sizes that are known, `bound`, stands for it.
 */
export async function sessionOnDevice(
  engine: Engine,
  model: Uint8Array,
  options: SessionOptions,
  graph: Graph,
  bound: (sizes: Sizes) => Promise<Graph>,
): Promise<Session> {
  if (!engine.host) return engine.createSession(model, options);
  const symbols = new Set([...graph.inputs.values()].flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols)));
  if (symbols.size === 0) return named(engine, graph, () => engine.createSession(model, options));
  const known = await bound(Object.fromEntries([...symbols].map((symbol) => [symbol, anySize])));
  await named(engine, known, async () => (await engine.createSession(emitOnnx(known, { target: engine }))).release());
  return engine.createSession(model, { ...options, openSizes: true });
}

/** Makes a session; if it is refused for an operator that the device lacks, that one is looked for. */
async function named<Result>(engine: Engine, graph: Graph, create: () => Promise<Result>): Promise<Result> {
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof EngineError && error.code === "engine.elsewhere")) throw error;
    const found = await lackingIn(graph, engine);
    if (found.length === 0) throw error;
    throw new EngineError(`${engine.name} cannot compute ${found.join(", nor ")}; it is refused rather than computed elsewhere`, {
      code: "engine.elsewhere",
      cause: error,
    });
  }
}

/** At most so many are named. */
const mostNamed = 4;

/** What of a graph a device has no kernel for: every kind of node is tried by itself. */
async function lackingIn(graph: Graph, engine: Engine): Promise<string[]> {
  const kinds = new Map<string, Node>();
  for (const node of graphNodes(graph)) {
    if (isLeaf(node)) continue;
    const kind = [node.op.name, ...[...node.inputs, ...node.outputs].map(({ type }) => showType(type))].join(" ");
    if (!kinds.has(kind)) kinds.set(kind, node);
  }
  const found: string[] = [];
  for (const node of kinds.values()) {
    const model = emitOnnx(alone(node), { target: engine });
    try {
      await (await engine.createSession(model)).release();
    } catch (error) {
      if (!(error instanceof EngineError && error.code === "engine.elsewhere")) continue;
      const operators = operatorsOf(model);
      const types = node.inputs.map(({ dtype }) => dtype).join(", ");
      found.push(`${node.op.name}(${types})${node.scope ? ` at ${node.scope}` : ""}, which is ${operators.join(", ")} in ONNX`);
      if (found.length === mostNamed) break;
    }
  }
  return found;
}

/** One node as a graph of its own, whose inputs are fed. */
function alone(node: Node): Graph {
  const inputs = new Map<string, Tensor>();
  const fed = node.inputs.map((x, i) => {
    if (isConstant(x)) return x;
    const name = `x${i}`;
    const tensor = input(name, x.type);
    inputs.set(name, tensor);
    return tensor;
  });
  const outputs = new Map(copyNode(node, fed).map((y, i): [string, Tensor] => [`${i}`, y]));
  return { inputs, parameters: new Map(), noise: new Map(), outputs };
}
