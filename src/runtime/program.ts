import { elementCount, emptyArray, type HostArray } from "../base/arrays.ts";
import type { Chance } from "../base/chance.ts";
import { FeedError } from "../base/errors.ts";
import type { Rows } from "../batches/batch.ts";
import { isAcross } from "../graph/cut.ts";
import type { Dim } from "../graph/dim.ts";
import { type Graph, graphNodes } from "../graph/graph.ts";
import { droppedBy, leafName } from "../graph/leaves.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { Tensor } from "../graph/tensor.ts";
import { byteSize, concreteShape, size } from "../graph/type.ts";
import { outputName } from "../onnx/emit.ts";
import { type Device, refuseTooLarge } from "./device.ts";
import { bindFeeds, type Sizes } from "./feeds.ts";
import { gradientName } from "./pipeline.ts";
import type { Arrays, DeviceArray, Feeds, Session } from "./session.ts";

/** So many of the largest tensors are alive at once: attention has its scores, their mask and its pattern. */
const tensorsAtOnce = 3;

export interface RunOptions {
  /** The numbers of the parameters, read in place. */
  readonly weights?: ParameterBuffer | Held;
  /** Filled with the gradients. */
  readonly gradients?: ParameterBuffer;
  /** Outputs by name that are written where these arrays are; of a function that was compiled for it. */
  readonly into?: Arrays;
  /** Where random bytes come from, for a function with dropout: another one for each step. */
  readonly chance?: Chance;
  /** Of a function in stages: told that a stage, from 0 on, has given its gradients, and the next is about to be computed. */
  readonly reached?: (stage: number) => void;
  /** Which rows of a whole batch are fed, where it is only a part of one: they get the random bytes that they have in the whole. */
  readonly rows?: Rows;
}

/** Parameters by name, on the device or still on their way there. */
export type Held = ReadonlyMap<string, HostArray | DeviceArray>;

/** A part of a graph, and the session that runs it. */
export interface Stage {
  readonly graph: Graph;
  readonly session: Session;
}

/** A graph and the sessions that run it, one for each stage and mostly only one: turns buffers into feeds, and outputs into results. */
export class Program {
  readonly graph: Graph;
  readonly stages: readonly Stage[];
  /** Of each stage, the names of its outputs, and of what it reads that earlier ones left. */
  readonly #names: readonly { readonly outputs: readonly string[]; readonly left: readonly string[] }[];
  /** What one stage leaves for later ones, where its size is known. The same places every time. */
  readonly #across: Arrays;
  readonly #differentiates: boolean;
  /** The parameters that are not baked in. */
  readonly #fed: readonly string[];
  readonly #visible: readonly string[];
  readonly #limits: readonly { readonly size: Dim; readonly atMost: Dim; readonly scope: string; readonly op: string }[];
  /** Every size of tensor that is computed, once, with one of the nodes that it is of. */
  readonly #tensors: readonly { readonly bytes: Dim; readonly tensor: Tensor }[];
  /** Sizes that are known to fit: the same come again and again. */
  readonly #fits = new WeakSet<Sizes>();
  /** What was made of a buffer before: checking and naming every parameter again would cost more than a small run. */
  readonly #weightFeeds = new WeakMap<ParameterBuffer, Arrays>();
  readonly #spare = new Map<string, ArrayBufferLike>();
  readonly #gradientPlaces = new WeakMap<ParameterBuffer, Arrays>();

  constructor(
    graph: Graph,
    stages: readonly Stage[],
    { differentiates, fed }: { readonly differentiates: boolean; readonly fed: readonly string[] },
  ) {
    this.graph = graph;
    this.stages = stages;
    this.#names = stages.map(({ graph: { inputs, outputs } }) => ({
      outputs: [...outputs.keys()].map(outputName),
      left: [...inputs.keys()].filter(isAcross),
    }));
    this.#across = Object.assign({}, ...stages.map((stage) => newPlaces(stage.graph, [...stage.graph.outputs.keys()].filter(isAcross))));
    this.#fed = fed;
    this.#differentiates = differentiates;
    const hidden = new Set(differentiates ? [...graph.parameters.keys()].map(gradientName) : []);
    this.#visible = [...graph.outputs.keys()].filter((name) => !hidden.has(name));
    const nodes = graphNodes(graph);
    const bySize = new Map(
      nodes.flatMap(({ outputs }) => outputs.map((tensor) => [byteSize(tensor.type).expression, { bytes: byteSize(tensor.type), tensor }])),
    );
    this.#tensors = [...bySize.values()];
    this.#limits = nodes.flatMap(({ op, scope, inputs, attributes }) => {
      const limits =
        op.limits?.(
          inputs.map((x) => x.type),
          attributes,
        ) ?? [];
      return limits
        .filter(({ size: a, atMost: b }) => (a.value === undefined || b.value === undefined) && !a.equals(b))
        .map((limit) => ({ ...limit, scope, op: op.name }));
    });
  }

  /** Open sizes that a node cannot take, such as a position past the end of a learned table. */
  checkLimits(sizes: Sizes): void {
    for (const { scope, op, size: dim, atMost } of this.#limits) {
      const [found, most] = [dim.bind(sizes).known, atMost.bind(sizes).known];
      if (found > most)
        throw new FeedError(
          `${scope ? `at ${scope}: ` : ""}${op} reaches to ${dim.expression} = ${found}, but there are only ${atMost.value === undefined ? `${atMost.expression} = ${most}` : most}`,
        );
    }
  }

  /** Refuses what would not fit into memory: the largest tensor with those beside it, and the outputs, which are copied. */
  checkMemory(sizes: Sizes, device: Device): void {
    if (this.#fits.has(sizes)) return;
    let [most, largest] = [0, this.#tensors[0]?.tensor];
    for (const { bytes, tensor } of this.#tensors) {
      const count = bytes.bind(sizes).value ?? 0;
      if (count > most) [most, largest] = [count, tensor];
    }
    const outputs = [...this.graph.outputs.values()].reduce((total, { type }) => total + (byteSize(type).bind(sizes).value ?? 0), 0);
    const arithmetic = () => {
      const { node, type } = largest;
      const shape = type.shape.map((dim) => dim.bind(sizes)).join(" × ");
      return `${node.scope ? `at ${node.scope}: ` : ""}${node.op.name} computes ${shape} numbers, and with what is alive beside them and ${this.graph.outputs.size} outputs that takes about ${tensorsAtOnce} × ${most.toLocaleString("en")} + 2 × ${outputs.toLocaleString("en")} bytes`;
    };
    refuseTooLarge(device, tensorsAtOnce * most + 2 * outputs, arithmetic, "give it shorter texts, or fewer at once");
    this.#fits.add(sizes);
  }

  /** All that the session wants to be fed. */
  feeds(own: Arrays, sizes: Sizes, { weights, chance, rows }: RunOptions): Feeds {
    const parameters = weights instanceof Map ? this.#feedHeld(weights) : this.#feedWeights(weights as ParameterBuffer | undefined);
    return this.graph.noise.size > 0 ? { ...parameters, ...own, ...this.#drawNoise(sizes, chance, rows) } : { ...parameters, ...own };
  }

  async run(feeds: Feeds, { gradients, reached, into: given }: RunOptions): Promise<Record<string, HostArray>> {
    const into = this.#differentiates
      ? { ...this.#placesFor(gradients), ...newPlaces(this.graph, this.#visible), ...this.#across }
      : given && Object.fromEntries(Object.entries(given).map(([name, place]) => [outputName(name), place]));
    const results: Record<string, HostArray> = {};
    for (const [i, { session }] of this.stages.entries()) {
      if (i > 0) reached?.(i - 1);
      const { outputs, left } = this.#names[i];
      const given = left.length === 0 ? feeds : { ...feeds, ...Object.fromEntries(left.map((name) => [name, results[outputName(name)]])) };
      Object.assign(results, await session.run(given, outputs, into));
    }
    this.#returnNoise(feeds);
    return Object.fromEntries(this.#visible.map((name) => [name, results[outputName(name)]]));
  }

  /** Gives back the memory of its sessions. */
  async release(): Promise<void> {
    for (const { session } of this.stages) await session.release();
  }

  #feedHeld(held: Held): Feeds {
    return Object.fromEntries(this.#fed.map((name) => [name, held.get(name) as HostArray | DeviceArray]));
  }

  #feedWeights(weights: ParameterBuffer | undefined): Arrays {
    if (this.#fed.length === 0) return {};
    const before = weights && this.#weightFeeds.get(weights);
    if (before) return before;
    const feeds: Record<string, HostArray> = {};
    for (const name of this.#fed) {
      if (!weights) throw new FeedError(`this function has parameters ("${name}", …), but no weights were given; pass them as { weights }`);
      feeds[name] = weights.view(name);
      bindFeeds(new Map([[name, (this.graph.parameters.get(name) as Tensor).type]]), { [name]: feeds[name] });
    }
    if (weights) this.#weightFeeds.set(weights, feeds);
    return feeds;
  }

  /** The views of a gradient buffer, each in the shape in which its gradient comes. */
  #placesFor(gradients: ParameterBuffer | undefined): Arrays {
    if (!gradients) throw new FeedError("gradients are computed, but there is no buffer for them; give one as { gradients }");
    const before = this.#gradientPlaces.get(gradients);
    if (before) return before;
    const places: Record<string, HostArray> = {};
    for (const [name, parameter] of this.graph.parameters) {
      const gradient = this.graph.outputs.get(gradientName(name));
      if (!gradient) continue; // it is not trained
      const view = gradients.view(name);
      if (!size(parameter.type).equals(view.data.length) || view.dtype !== parameter.dtype) {
        throw new FeedError(
          `the gradient buffer has ${view.dtype}[${view.shape}] for "${name}", which is ${parameter.dtype}[${parameter.shape}]`,
        );
      }
      const shape = concreteShape(gradient.type);
      places[outputName(gradientName(name))] = { ...view, ...(shape && { shape }) };
    }
    this.#gradientPlaces.set(gradients, places);
    return places;
  }

  /** New random bytes for every place that wants them, each from its own name. The rows of a batch are always their first axis, or a part of it. */
  #drawNoise(sizes: Sizes, chance: Chance | undefined, rows: Rows | undefined): Arrays {
    if (!chance)
      throw new FeedError(
        "this function draws random bytes (dropout), but no chance was given; pass one as { chance }, another for each step",
      );
    const drawn: Record<string, HostArray> = {};
    for (const [name, tensor] of this.graph.noise) {
      const shape = tensor.shape.map((dim) => dim.bind(sizes).known);
      const count = elementCount(shape);
      const from = rows && rows.count > 0 ? (rows.first * count) / rows.count : 0;
      const [source, into, dropped] = [chance.fork(name), this.#spareNoise(name, count), droppedBy(tensor)];
      const data = dropped === undefined ? source.bytes(into, from) : source.flags(into, dropped, from);
      drawn[leafName(tensor)] = { dtype: "uint8", shape, data };
    }
    return drawn;
  }

  /** Room for noise. That of the last run, if it is large enough and nobody has it: new megabytes in every step cost more than what is written into them. */
  #spareNoise(name: string, count: number): Uint8Array {
    const spare = this.#spare.get(name);
    this.#spare.delete(name);
    return spare && spare.byteLength >= count ? new Uint8Array(spare, 0, count) : new Uint8Array(count);
  }

  #returnNoise(feeds: Feeds): void {
    for (const [name, tensor] of this.graph.noise) {
      const fed = feeds[leafName(tensor)];
      if (fed && "data" in fed && fed.data instanceof Uint8Array) this.#spare.set(name, fed.data.buffer);
    }
  }
}

/** New arrays for the outputs whose sizes are known, so that the engine can write into them. */
function newPlaces(graph: Graph, names: readonly string[]): Arrays {
  const places: Record<string, HostArray> = {};
  for (const name of names) {
    const { type } = graph.outputs.get(name) as Tensor;
    const shape = concreteShape(type);
    if (shape) places[outputName(name)] = { dtype: type.dtype, shape, data: emptyArray(type.dtype, elementCount(shape)) };
  }
  return places;
}
