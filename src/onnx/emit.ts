import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { array, bytesPerElement, type DType, type TypedArray } from "../base/arrays.ts";
import { EngineError, GraphError } from "../base/errors.ts";
import { type Dim, numbers } from "../graph/dim.ts";
import type { Emitter, Loop, NodeOptions, OnnxAttribute, Value } from "../graph/emitter.ts";
import { type Graph, graphNodes } from "../graph/graph.ts";
import { isInput, isParameter } from "../graph/leaves.ts";
import { prefixes } from "../graph/names.ts";
import { type Solution, solveSymbols } from "../graph/solve.ts";
import { anyRuntime, type Target } from "../graph/target.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { sameShape, type TensorType } from "../graph/type.ts";
import { attributeProto, elementTypes, valueInfo } from "./messages.ts";
import {
  ModelProtoSchema,
  type NodeProto,
  type TensorProto,
  TensorProtoSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from "./onnx_pb.ts";
import { unrolled } from "./unrolled.ts";
import { inOrder, livingNodes, nodeProto, readBy, type Written, withBodies, withoutCopies } from "./written.ts";

/** The ONNX that qkv writes: operator set 23, IR version 10, and for ONNX Runtime its own operators (com.microsoft, version 1). */
export const onnxVersions = { opset: 23, ir: 10, microsoft: 1 } as const;

/** A protobuf message, and so a model with everything inside, ends at 2 GiB. */
export const messageLimit = 2 ** 31 - 2 ** 20;

/** Smaller tensors stay in the model: shapes must be known to whoever reads it. */
const smallest = 1024;

/** Where a parameter's numbers are. */
export type WeightSource =
  | { readonly kind: "inline"; readonly data: TypedArray }
  /** Numbers of 16 bits (IEEE half), which the model itself turns into those of 32. */
  | { readonly kind: "half"; readonly data: Uint16Array }
  /** In another file, at a byte offset, as in a safetensors file beside the model. */
  | { readonly kind: "external"; readonly file: string; readonly offset: number };

export interface EmitOptions {
  /** Parameters are inputs if this is left out or knows nothing of them (training), else initializers (inference). */
  readonly weights?: (name: string) => WeightSource | undefined;
  /** Adds a first output that is a sequence, not a tensor; see `node/engine.ts` for what it is good for. */
  readonly sequence?: boolean;
  /**
   * Who will run the model; any runtime if left out. A file that does not say who reads it should hold nothing that only one reader knows;
   * whoever makes a session knows its engine, passes it, and gets the faster form.
   */
  readonly target?: Target;
  /** Whether gradients are computed one after the other, as they are here, wherever the engine has an order of its own: less stays in memory. */
  readonly ordered?: boolean;
  /** The operator set; the newest that qkv knows if left out. Readers refuse one that they do not know, and none of ours needs more than 20. */
  readonly opset?: number;
  /** Names of outputs as they are, for a file that others read. If left out they have a prefix, which keeps them apart from inputs. */
  readonly plainNames?: boolean;
  /** Takes large tensors into a file beside the model as soon as they are known, and says where they begin in it. */
  readonly outside?: { readonly file: string; write(bytes: Uint8Array): number };
}

/** The name of the output that is a sequence. */
export const sequenceName = `${prefixes.internal}sequence`;

/** A graph as the bytes of an ONNX model. */
export function emitOnnx(graph: Graph, options: EmitOptions = {}): Uint8Array {
  return new ModelWriter(graph, options).bytes();
}

class ModelWriter implements Emitter {
  readonly target: Target;
  readonly #graph: Graph;
  readonly #options: EmitOptions;
  readonly #values = new Map<Tensor, Value>();
  /** The nodes of the model itself. */
  readonly #outermost: Written[] = [];
  /** Where nodes are added: there, or in the body of a loop. */
  #nodes: Written[] = this.#outermost;
  readonly #initializers = new Map<string, TensorProto>();
  readonly #inputs: ValueInfoProto[] = [];
  readonly #symbols = new Map<string, Value>();
  #solutions: readonly Solution[] | undefined;
  /** What each view was made from, so that a reshape there and back costs nothing. */
  #views = new Map<Value, { source: Value; shape: readonly Dim[] }>();
  #reshaped = new Map<string, Value>();
  #count = 0;
  /** Which of our nodes is being lowered: the names of ONNX nodes, and so the engine's own errors, say where. */
  #place = "";

  constructor(graph: Graph, options: EmitOptions) {
    this.target = options.target ?? anyRuntime;
    this.#graph = graph;
    this.#options = options;
  }

  bytes(): Uint8Array {
    for (const [name, tensor] of this.#graph.inputs) this.#declareInput(name, tensor);
    for (const [name, tensor] of this.#graph.parameters) this.#declareParameter(name, tensor);
    for (const node of graphNodes(this.#graph)) {
      this.#refuseFloat64(node);
      if (isInput(node) || isParameter(node)) {
        if (!this.#values.has(node.outputs[0]))
          throw new GraphError(`"${node.attributes.name}" is used but is not an input of this function`);
        continue;
      }
      const types = node.outputs.map((y) => y.type);
      const inputs = node.inputs.map((x) => this.#values.get(x) as Value);
      this.#place = node.scope ? `${node.scope}/${node.op.name}` : node.op.name;
      const values = node.op.onnx(this, inputs, { attributes: node.attributes, inputs: node.inputs.map((x) => x.type), outputs: types });
      for (const [i, value] of [values].flat().entries()) this.#values.set(node.outputs[i], value as Value);
    }
    const output = this.#declareOutputs();
    if (this.#options.sequence) output.unshift(this.#declareSequence());
    this.#refuseTooLarge();
    const living = this.#livingNodes(output);
    const nodes = this.#options.ordered && this.target.can("order-kept") ? inOrder(living, gradientsAmong(output)) : living;
    const microsoft = withBodies(nodes).some(({ domain }) => domain === "com.microsoft");
    const model = create(ModelProtoSchema, {
      irVersion: BigInt(onnxVersions.ir),
      producerName: "qkv",
      opsetImport: [
        { domain: "", version: BigInt(this.#options.opset ?? this.target.opset ?? onnxVersions.opset) },
        ...(microsoft ? [{ domain: "com.microsoft", version: BigInt(onnxVersions.microsoft) }] : []),
      ],
      graph: {
        name: "qkv",
        node: nodes.map(nodeProto),
        initializer: this.#readInitializers(nodes, output),
        input: this.#inputs,
        output,
      },
    });
    return toBinary(ModelProtoSchema, model);
  }

  node(opType: string, inputs: readonly Value[], attributes: Record<string, OnnxAttribute> = {}, options: NodeOptions = {}): Value {
    return this.nodes(opType, inputs, attributes, { ...options, outputs: 1 })[0];
  }

  nodes(
    opType: string,
    inputs: readonly Value[],
    attributes: Record<string, OnnxAttribute>,
    options: NodeOptions & { outputs: number },
  ): Value[] {
    const output = Array.from({ length: options.outputs }, () => this.#newName());
    const attribute = Object.entries(attributes).map(([name, value]) => attributeProto(name, value));
    this.#nodes.push({
      name: `${this.#place}#${this.#nodes.length}`,
      opType,
      domain: options.domain ?? "",
      input: inputs,
      output,
      attribute,
    });
    return output;
  }

  #newName(): Value {
    return `${prefixes.internal}${this.#count++}`;
  }

  loop(loop: Loop): Value[] {
    return this.target.can("scans") ? this.#scan(loop) : unrolled(this, loop);
  }

  #scan({ backward, carry, scanned, outputs, step }: Loop): Value[] {
    const [carryNames, scannedNames] = [carry, scanned].map((values) => values.map(() => this.#newName()));
    const [around, views, reshaped] = [this.#nodes, this.#views, this.#reshaped];
    const nodes: Written[] = [];
    this.#nodes = nodes;
    [this.#views, this.#reshaped] = [new Map(views), new Map(reshaped)]; // a view that is made inside is not there outside
    const made = step(carryNames, scannedNames);
    // Each output is a value of its own, made inside.
    const outputNames = [...made.carry, ...made.outputs].map((value) => this.node("Identity", [value]));
    this.#nodes = around;
    [this.#views, this.#reshaped] = [views, reshaped];
    const infos = (names: readonly Value[], types: readonly TensorType[]) =>
      names.map((name, i) => valueInfo(name, { ...types[i], dtype: this.#kept(types[i].dtype) }));
    const types = (values: readonly { readonly type: TensorType }[]) => values.map(({ type }) => type);
    const order = backward ? 1 : 0;
    const values = this.nodes(
      "Scan",
      [...carry.map(({ start }) => start), ...scanned.map(({ value }) => value)],
      {
        num_scan_inputs: scanned.length,
        scan_input_directions: scanned.map(() => order),
        scan_output_directions: outputs.map(() => order),
      },
      { outputs: outputNames.length },
    );
    const written = this.#nodes[this.#nodes.length - 1];
    written.body = {
      inputs: infos([...carryNames, ...scannedNames], types([...carry, ...scanned])),
      outputs: infos(outputNames, [...types(carry), ...outputs]),
      nodes: withoutCopies(nodes, outputNames),
      carried: carry.length,
    };
    return values;
  }

  constant(dtype: DType, shape: readonly number[], data: TypedArray): Value {
    const kept = this.#kept(dtype);
    return kept === dtype
      ? this.#constant(dtype, shape, data)
      : this.#constant(kept, shape, Int32Array.from(data as ArrayLike<bigint | number>, Number));
  }

  /** Whole numbers of 64 bits that are no sizes have 32 where the target computes with no others. */
  #kept(dtype: DType): DType {
    return dtype === "int64" && !this.target.can("int64") ? "int32" : dtype;
  }

  #constant(dtype: DType, shape: readonly number[], data: TypedArray): Value {
    const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const key = `${dtype}[${shape}]${raw.length <= 64 ? raw.join() : this.#count++}`;
    const found = this.#initializers.get(key);
    if (found) return found.name;
    const name = `${prefixes.internal}c${this.#initializers.size}`;
    const dims = shape.map(BigInt);
    this.#initializers.set(key, create(TensorProtoSchema, { name, dims, dataType: elementTypes[dtype], ...this.#stored(raw) }));
    return name;
  }

  scalar(dtype: DType, value: number): Value {
    return this.constant(dtype, [], array(dtype, value).data);
  }

  integers(values: readonly number[]): Value {
    return this.#constant("int64", [values.length], BigInt64Array.from(values, BigInt));
  }

  dims(dims: readonly Dim[]): Value {
    const known = numbers(dims);
    if (known) return this.integers(known);
    // Sizes follow from the inputs of the model: they are computed before a loop, not in each of its steps.
    const around = this.#nodes;
    this.#nodes = this.#outermost;
    const parts = dims.map((dim) => this.#dim(dim));
    const value = parts.length === 1 ? parts[0] : this.node("Concat", parts, { axis: 0 });
    this.#nodes = around;
    return value;
  }

  reshape(x: Value, from: readonly Dim[], to: readonly Dim[]): Value {
    const { source, shape } = this.#views.get(x) ?? { source: x, shape: from };
    if (sameShape(shape, to)) return source;
    const key = `${source} as ${to.map((dim) => dim.expression)}`;
    const made = this.#reshaped.get(key);
    if (made) return made;
    const open = to.filter((dim) => dim.value === undefined);
    const inferable = open.length === 1 && to.every((dim) => dim.value !== 0);
    const target = inferable ? this.integers(to.map((dim) => dim.value ?? -1)) : this.dims(to);
    const value = this.node("Reshape", [source, target], { allowzero: inferable ? 0 : 1 });
    this.#views.set(value, { source, shape });
    this.#reshaped.set(key, value);
    return value;
  }

  typeNumber(dtype: DType): number {
    return elementTypes[this.#kept(dtype)];
  }

  /** One dimension as an int64 vector of length 1, computed from the symbols in it. */
  #dim(dim: Dim): Value {
    if (dim.value !== undefined) return this.integers([dim.value]);
    const terms = [...dim.terms].map(([symbols, factor]) => {
      const parts = symbols
        .split("*")
        .filter(Boolean)
        .map((symbol) => this.#symbol(symbol));
      if (factor !== 1 || parts.length === 0) parts.push(this.integers([factor]));
      return parts.reduce((a, b) => this.node("Mul", [a, b]));
    });
    return terms.reduce((a, b) => this.node("Add", [a, b]));
  }

  #symbol(name: string): Value {
    const known = this.#symbols.get(name);
    if (known) return known;
    this.#solutions ??= solveSymbols([...this.#graph.inputs].map(([input, { type }]) => [input, type]));
    const solution = this.#solutions.find(({ symbol }) => symbol === name);
    if (!solution) {
      throw new GraphError(`the open dimension "${name}" does not follow from the shape of any input; bind it to a number`);
    }
    const { input, axis, rest, factor } = solution;
    const size = this.node("Shape", [input], { start: axis, end: axis + 1 });
    const part = rest.value === 0 ? size : this.node("Sub", [size, this.#dim(rest)]);
    const value = factor === 1 ? part : this.node("Div", [part, this.integers([factor])]);
    this.#symbols.set(name, value);
    return value;
  }

  #declareInput(name: string, tensor: Tensor): void {
    this.#inputs.push(valueInfo(name, { ...tensor.type, dtype: this.#kept(tensor.dtype) }));
    this.#values.set(tensor, name);
  }

  #declareParameter(name: string, tensor: Tensor): void {
    const source = this.#options.weights?.(name);
    if (!source) {
      this.#declareInput(name, tensor);
      return;
    }
    if (source.kind === "external" && !this.target.can("external-data"))
      throw new EngineError(
        `the weights "${name}" are in the file ${source.file}, and ${this.target.name} reads none beside a model; give them as numbers`,
      );
    const dims = tensor.shape.map((dim) => BigInt(dim.known));
    const length = tensor.shape.reduce((n, dim) => n * dim.known, bytesPerElement(tensor.dtype));
    const dataType = source.kind === "half" ? halfType : elementTypes[tensor.dtype];
    const stored = source.kind === "external" ? placed(source.file, source.offset, length) : this.#stored(bytesOf(source.data));
    this.#initializers.set(`parameter ${name}`, create(TensorProtoSchema, { name, dims, dataType, ...stored }));
    this.#place = name;
    this.#values.set(tensor, source.kind === "half" ? this.node("Cast", [name], { to: elementTypes[tensor.dtype] }) : name);
  }

  /** Numbers in the model, or where they are in the file beside it. */
  #stored(raw: Uint8Array): { rawData: Uint8Array } | ReturnType<typeof placed> {
    const { outside } = this.#options;
    return outside && raw.length >= smallest ? placed(outside.file, outside.write(raw), raw.length) : { rawData: raw };
  }

  /** Without those that nothing reads: a file of its own would carry them for nothing. */
  #readInitializers(nodes: readonly Written[], outputs: readonly ValueInfoProto[]): TensorProto[] {
    const read = new Set([...nodes.flatMap(readBy), ...outputs.map(({ name }) => name)]);
    return [...this.#initializers.values()].filter(({ name }) => read.has(name));
  }

  /** Outputs carry the names that the caller gave: a node's own output is renamed, also where it is read; anything else is copied. */
  #declareOutputs(): ValueInfoProto[] {
    for (const tensor of new Set(this.#graph.outputs.values())) {
      if (this.#kept(tensor.dtype) !== tensor.dtype)
        this.#values.set(tensor, this.node("Cast", [this.#values.get(tensor) as Value], { to: elementTypes[tensor.dtype] }));
    }
    const makers = new Map(this.#nodes.flatMap((node) => node.output.map((value) => [value, node] as const)));
    const renamed = new Map<Value, Value>();
    const infos = [...this.#graph.outputs].map(([name, tensor]) => {
      const value = this.#values.get(tensor) as Value;
      const output = this.#options.plainNames ? name : outputName(name);
      const maker = makers.get(value);
      if (maker && !renamed.has(value)) {
        maker.output[maker.output.indexOf(value)] = output;
        renamed.set(value, output);
      } else this.#nodes.push({ opType: "Identity", domain: "", input: [value], output: [output], attribute: [] });
      return valueInfo(output, tensor.type);
    });
    for (const node of withBodies(this.#nodes)) node.input = node.input.map((value) => renamed.get(value) ?? value);
    return infos;
  }

  /** Without nodes that nothing reads: ONNX Runtime would run them. */
  #livingNodes(outputs: readonly ValueInfoProto[]): Written[] {
    return livingNodes(
      this.#nodes,
      outputs.map(({ name }) => name),
    );
  }

  #declareSequence(): ValueInfoProto {
    this.#nodes.push({
      opType: "SequenceConstruct",
      domain: "",
      input: [this.scalar("float32", 0)],
      output: [sequenceName],
      attribute: [],
    });
    const elemType = valueInfo("", { dtype: "float32", shape: [] }).type;
    return create(ValueInfoProtoSchema, { name: sequenceName, type: { value: { case: "sequenceType", value: { elemType } } } });
  }

  #refuseFloat64({ op, scope, outputs }: Node): void {
    if (!outputs.some(({ dtype }) => dtype === "float64") || this.target.can("float64")) return;
    throw new EngineError(`${scope ? `at ${scope}: ` : ""}${op.name} gives float64, which ${this.target.name} has not; use float32`);
  }

  #refuseTooLarge(): void {
    let total = 0;
    for (const { rawData } of this.#initializers.values()) total += rawData.length;
    if (total > messageLimit) {
      throw new GraphError(
        `the weights take ${(total / 2 ** 30).toFixed(1)} GiB, and an ONNX file holds at most 2 GiB; keep them in a file beside it (external data)`,
      );
    }
  }
}

/** A tensor's numbers in another file. */
const placed = (file: string, offset: number, length: number) => ({
  dataLocation: 1,
  externalData: [
    { key: "location", value: file },
    { key: "offset", value: `${offset}` },
    { key: "length", value: `${length}` },
  ],
});

/** ONNX's number for IEEE halves, which no tensor of ours has. */
const halfType = 10;

const bytesOf = ({ buffer, byteOffset, byteLength }: TypedArray | Uint16Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** The name of an output inside the model. It cannot clash with an input. */
export const outputName = (name: string): string => `${prefixes.output}${name}`;

const gradientsAmong = (outputs: readonly ValueInfoProto[]): Value[] =>
  outputs.map(({ name }) => name).filter((name) => name.startsWith(outputName(prefixes.gradient)));

/** The operators that a model uses, each once. */
export const operatorsOf = (model: Uint8Array): string[] => {
  const inside = (nodes: readonly NodeProto[]): string[] =>
    nodes.flatMap(({ opType, attribute }) => [opType, ...attribute.flatMap(({ g }) => inside(g?.node ?? []))]);
  return [...new Set(inside(fromBinary(ModelProtoSchema, model).graph?.node ?? []))];
};
