import { create } from "@bufbuild/protobuf";
import type { Value } from "../graph/emitter.ts";
import { prefixes } from "../graph/names.ts";
import { attributeProto, bodyProto } from "./messages.ts";
import { type AttributeProto, GraphProtoSchema, type NodeProto, NodeProtoSchema, type ValueInfoProto } from "./onnx_pb.ts";

// Nodes of a model that is being written: those that something reads, and their form in the file.

/** A node that is being written. */
export interface Written {
  name?: string;
  opType: string;
  domain: string;
  input: readonly Value[];
  output: Value[];
  attribute: AttributeProto[];
  /** What a loop repeats. Its nodes also read values from outside. */
  body?: Body;
}

interface Body {
  readonly inputs: readonly ValueInfoProto[];
  outputs: readonly ValueInfoProto[];
  nodes: Written[];
  /** So many of the outputs are carried, and must stay. */
  readonly carried: number;
}

/** The nodes that something reads. A loop gives nothing that nobody reads either, beside what it carries. */
export function livingNodes(nodes: readonly Written[], outputs: readonly Value[]): Written[] {
  const read = new Set(outputs);
  const living = nodes.toReversed().filter((node) => {
    if (!node.output.some((value) => read.has(value))) return false;
    const { body } = node;
    if (body) {
      const stays = node.output.map((value, i) => i < body.carried || read.has(value));
      node.output = node.output.filter((_, i) => stays[i]);
      const count = stays.slice(body.carried).filter(Boolean).length;
      node.attribute = node.attribute.map((one) =>
        one.name === "scan_output_directions" ? attributeProto(one.name, one.ints.slice(0, count).map(Number)) : one,
      );
      body.outputs = body.outputs.filter((_, i) => stays[i]);
      body.nodes = livingNodes(
        body.nodes,
        body.outputs.map(({ name }) => name),
      );
    }
    for (const value of readBy(node)) read.add(value);
    return true;
  });
  return living.reverse();
}

/** What a node reads, the nodes inside it included. */
export const readBy = ({ input, body }: Written): Value[] => [...input, ...(body?.nodes.flatMap(readBy) ?? [])];

export const withBodies = (nodes: readonly Written[]): Written[] => nodes.flatMap((node) => [node, ...withBodies(node.body?.nodes ?? [])]);

/** Without those copies at the end of a body whose original is made in the body, and has no other name yet: it takes the copy's name. */
export function withoutCopies(nodes: readonly Written[], outputs: readonly Value[]): Written[] {
  const makers = new Map(nodes.flatMap((node) => node.output.map((value) => [value, node] as const)));
  const renamed = new Map<Value, Value>();
  const copies = new Set<Written>();
  for (const output of outputs) {
    const copy = makers.get(output) as Written;
    const [original] = copy.input;
    const maker = makers.get(original);
    if (!maker || renamed.has(original)) continue;
    maker.output[maker.output.indexOf(original)] = output;
    renamed.set(original, output);
    copies.add(copy);
  }
  const left = nodes.filter((node) => !copies.has(node));
  for (const node of withBodies(left)) node.input = node.input.map((value) => renamed.get(value) ?? value);
  return left;
}

export function nodeProto({ body, input, attribute, ...node }: Written): NodeProto {
  const inside = body && [
    bodyProto(
      create(GraphProtoSchema, { name: "step", node: body.nodes.map(nodeProto), input: [...body.inputs], output: [...body.outputs] }),
    ),
  ];
  return create(NodeProtoSchema, { ...node, input: [...input], attribute: [...attribute, ...(inside ?? [])] });
}

const afterName = (place: number | string): Value => `${prefixes.internal}after.${place}`;

/**
 * The same nodes, and some after them that keep the given outputs in this order. ONNX Runtime walks back from the node that comes last of those that nobody reads, at each node to the input
 * that was made last: so it would compute all that leads to the last gradient first, and what the others read would stay until then. Here the last node reads the size of each output, that of
 * the first one as the last that was made. What a sum is made of counts as well: one of its parts may be there long before the other.
 */
export function inOrder(nodes: readonly Written[], outputs: readonly Value[]): Written[] {
  const makers = new Map(nodes.flatMap((node) => node.output.map((value) => [value, node] as const)));
  const wanted = new Set(outputs);
  for (const value of wanted) {
    const maker = makers.get(value);
    if (maker?.opType === "Add" || maker?.opType === "Sum") for (const part of maker.input) wanted.add(part);
  }
  const ordered = nodes.flatMap(({ output }) => output.filter((value) => wanted.has(value)));
  if (ordered.length < 2) return [...nodes];
  const sizes = ordered.map((value, i) => node("Shape", [value], i, { start: 0, end: 1 }));
  const last = node(
    "Concat",
    sizes.map(({ output }) => output[0]),
    "all",
    { axis: 0 },
  );
  return [...nodes, ...sizes.toReversed(), last];
}

const node = (opType: string, input: readonly Value[], place: number | string, attributes: Readonly<Record<string, number>>): Written => ({
  ...{ name: afterName(place), opType, domain: "", input, output: [afterName(place)] },
  attribute: Object.entries(attributes).map(([name, value]) => attributeProto(name, value)),
});
