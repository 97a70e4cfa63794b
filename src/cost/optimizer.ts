import { graphNodes } from "../graph/graph.ts";
import { isLeaf } from "../graph/leaves.ts";
import type { ParameterLayout } from "../graph/parameters.ts";
import { compile } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { muonProducts, numbersInMatrices } from "../training/muon.ts";
import type { OptimizerName } from "../training/optimizers.ts";
import { type Amount, type NodeCost, nodeCosts, nothing, plus } from "./nodes.ts";

// What a step of the optimizer costs, once for each batch.

/** FLOPs and bytes that AdamW with clipping takes for one parameter: the norm reads 4 bytes, the update reads 16 and writes 12. */
export const adamw = { flops: 17, bytes: 32 } as const;

/** The same of a number in a matrix that Muon moves, beside the products: after the norm, momentum reads 8 bytes and writes 8, the update reads 8 and writes 4. */
const muon = { flops: 9, bytes: 32 } as const;

/** Adam and SGD count as AdamW: all of them are bound by memory, and read it alike. */
export async function optimizerCosts(name: OptimizerName, layout: ParameterLayout, device: Device): Promise<NodeCost[]> {
  const matrices = name === "muon" ? numbersInMatrices(layout) : 0;
  const rest = layout.total - matrices;
  const alone = step("adamw", { flops: adamw.flops * rest, products: 0, bytes: adamw.bytes * rest });
  if (matrices === 0) return [alone];
  const passes: Amount = { flops: muon.flops * matrices, products: 0, bytes: muon.bytes * matrices };
  const products = await Promise.all(muonProducts(layout).map(({ fn, n }) => costOf(fn, n, device)));
  return [step("muon", products.reduce(plus, passes)), ...(rest > 0 ? [alone] : [])];
}

const step = (operation: string, amount: Amount): NodeCost => ({ part: "optimizer", operation, layer: undefined, ...amount });

/** Of n matrices at once, by the graph that runs. */
async function costOf(fn: ReturnType<typeof muonProducts>[number]["fn"], n: number, device: Device): Promise<Amount> {
  const nodes = graphNodes(await compile(fn, { device }).graph({ n })).filter((node) => !isLeaf(node));
  return nodes.flatMap((node) => nodeCosts(node, { n })).reduce<Amount>(plus, nothing);
}
