import { array, type HostArray } from "../base/arrays.ts";
import type { Chance } from "../base/chance.ts";
import { NonFiniteError } from "../base/errors.ts";
import type { Batch } from "../batches/batch.ts";
import { grad } from "../gradients/grad.ts";
import { type Graph, type InputTypes, type Outputs, type TensorFunction, tensorFunction } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { Tensor } from "../graph/tensor.ts";
import { float32 } from "../graph/type.ts";
import { add, div, mul, sub } from "../ops/arithmetic.ts";
import { greater, where } from "../ops/compare.ts";
import { sqrt } from "../ops/functions.ts";
import { sum } from "../ops/sum.ts";
import { type CompiledFunction, type CompileOptions, compile } from "../runtime/compile.ts";
import { againOf, type Keeps } from "../runtime/pipeline.ts";
import type { Held } from "../runtime/program.ts";
import { type DeviceArray, isHeld } from "../runtime/session.ts";
import { averagedName, type Moved, type Optimizer, wholeState } from "./optimizer.ts";

// Training that stays on a device with a memory of its own: forward, backward, clipping and the optimizer's step are one graph, whose outputs are the new weights
// and what the optimizer remembers. They are fed to the next step where they are. Ids go in, the loss and the gradient's norm come out.

export interface ResidentOptions extends Pick<CompileOptions, "device" | "weights" | "folder" | "symbols" | "noise"> {
  /** The output that is reported as the loss. */
  readonly report: string;
  readonly keeps?: Keeps;
}

export interface ResidentStep {
  readonly loss: number;
  readonly objective: number;
  readonly norm: number;
}

const scalar = (value: number): HostArray => array("float32", [value], []);
/** Numbers of a step that come from the host, such as the rate: inputs of their own. */
const numberName = (name: string): string => `optimizer/${name}`;

export class ResidentTraining {
  readonly #optimizer: Optimizer;
  readonly #report: string;
  readonly #step: CompiledFunction<InputTypes, Outputs>;
  readonly #home: CompiledFunction<InputTypes, Outputs>;
  /** Buffers of the host by the places of what they hold, in the graph. */
  readonly #buffers: ReadonlyMap<string, ParameterBuffer>;
  /** Weights and state by their names in the graph. */
  #held: Map<string, HostArray | DeviceArray>;

  constructor(loss: TensorFunction, optimizer: Optimizer, { report, keeps, ...options }: ResidentOptions) {
    this.#optimizer = optimizer;
    this.#report = report;
    this.#buffers = new Map([
      ["", optimizer.weights],
      ...[...wholeState(optimizer)].map(([name, buffer]) => [`${name}/`, buffer] as const),
    ]);
    this.#held = this.#fromHost();
    const moved = this.#moved;
    this.#step = compile(stepFunction(loss, optimizer, report, keeps), { ...options, sessions: 16, keep: moved });
    this.#home = compile(copies(new Map(moved.map((name) => [name, (this.#held.get(name) as HostArray).shape]))), {
      device: options.device,
    });
  }

  /** One step. If loss or gradient are not finite, everything is as it was. */
  async step({ feeds }: Batch, rate: number, chance: Chance): Promise<ResidentStep> {
    const { steps } = this.#optimizer;
    const numbers = Object.entries(numbersOf(this.#optimizer, rate)).map(([name, value]) => [numberName(name), scalar(value)]);
    const all = { ...feeds, ...Object.fromEntries(numbers) };
    const weights: Held = this.#held;
    const results = (await this.#step.run(all, { weights, chance })) as Record<string, HostArray>;
    const [objective, norm, loss] = ["loss", "norm", this.#report].map((name) => Number(results[name].data[0]));
    if (!Number.isFinite(objective) || !Number.isFinite(norm)) {
      const origin = Number.isFinite(objective) ? undefined : await this.#step.whereNonFinite(all, { weights, chance });
      this.#release(this.#moved.map((name) => results[name]));
      const what = Number.isFinite(objective) ? `the gradient's norm is ${norm}` : `the loss is ${objective}`;
      throw new NonFiniteError(`${what}${origin ? `; it first appeared ${origin}` : ""}; the weights were not touched`, {
        step: steps + 1,
      });
    }
    const before = this.#moved.map((name) => this.#held.get(name) as HostArray | DeviceArray);
    for (const name of this.#moved) this.#held.set(name, results[name]);
    this.#release(before);
    this.#optimizer.steps++;
    return { loss, objective, norm };
  }

  /** Copies weights and state into the buffers of the optimizer. */
  async bringHome(): Promise<void> {
    if (!this.#moved.every((name) => isHeld(this.#held.get(name) as HostArray | DeviceArray))) return; // nothing has moved yet
    const results = (await this.#home.run({}, { weights: this.#held })) as Record<string, HostArray>;
    for (const [place, buffer] of this.#buffers) {
      for (const name of this.#trainedIn(buffer)) buffer.view(name).data.set(results[`${place}${name}`].data as Float32Array as never);
    }
  }

  async release(): Promise<void> {
    this.#release([...this.#held.values()]);
    this.#held = this.#fromHost();
    await this.#step.release();
    await this.#home.release();
  }

  /** What a step changes: trained weights, and what is remembered of them. */
  get #moved(): string[] {
    return [...this.#buffers].flatMap(([place, buffer]) => this.#trainedIn(buffer).map((name) => `${place}${name}`));
  }

  #trainedIn({ views }: ParameterBuffer): string[] {
    return [...this.#optimizer.gradients.views.keys()].filter((name) => views.has(name));
  }

  #fromHost(): Map<string, HostArray | DeviceArray> {
    return new Map([...this.#buffers].flatMap(([place, buffer]) => [...buffer.views].map(([name, view]) => [`${place}${name}`, view])));
  }

  #release(arrays: readonly (HostArray | DeviceArray)[]): void {
    for (const x of arrays) if (isHeld(x)) x.release();
  }
}

/** What changes from step to step. */
const numbersOf = (optimizer: Optimizer, rate: number): Readonly<Record<string, number>> => ({
  ...optimizer.numbers(rate),
  ...(optimizer.state.has(averagedName) && { averageShare: optimizer.averageShare(optimizer.steps + 1) }),
});

/** Loss, gradients, clipping and the optimizer's step in one function. */
function stepFunction(loss: TensorFunction, optimizer: Optimizer, report: string, keeps?: Keeps): TensorFunction {
  const numbers = Object.keys(numbersOf(optimizer, 0));
  const { entries } = optimizer.gradients.layout;
  const kindsOf = (of: string) =>
    [...optimizer.state].filter(([, { layout }]) => layout.entries.some(({ name }) => name === of)).map(([kind]) => kind);
  let given: Record<string, Tensor> = {};
  return {
    inputs: { ...loss.inputs, ...Object.fromEntries(numbers.map((name) => [numberName(name), float32([])])) },
    build(p, tensors) {
      given = Object.fromEntries(numbers.map((name) => [name, tensors[numberName(name)]]));
      const own = Object.fromEntries(Object.keys(loss.inputs).map((name) => [name, tensors[name]]));
      return loss.build(p, own);
    },
    rewrite(p, built): Graph {
      const graph = loss.rewrite?.(p, built) ?? built;
      const of = (outputs: ReadonlyMap<string, Tensor>, name: string) => outputs.get(name) as Tensor;
      const objective = of(graph.outputs, "loss");
      const weights = entries.map(({ name }) => of(graph.parameters, name));
      const gradients = grad(objective, weights, againOf(keeps));
      const norm = sqrt(gradients.map((g) => sum(mul(g, g))).reduce((a, b) => add(a, b)));
      const scale = Number.isFinite(optimizer.clip) ? where(greater(norm, optimizer.clip), div(optimizer.clip, norm), 1) : undefined;
      const moved = entries.map((entry, i) => {
        const w = weights[i];
        const { name } = entry;
        const state = Object.fromEntries(kindsOf(name).map((kind) => [kind, p.at(kind).param(name, w.shape)]));
        const gradient = scale ? mul(gradients[i], scale) : gradients[i];
        const after = optimizer.moved({ entry, weight: w, gradient, state, decays: optimizer.decays(name), numbers: given });
        const { [averagedName]: mean } = state;
        const averaged: Moved["state"] = mean && { [averagedName]: add(mean, mul(sub(after.weight, mean), given.averageShare)) };
        return { name, ...after, state: { ...after.state, ...averaged } };
      });
      const states = [...optimizer.state.keys()].flatMap((kind) =>
        moved.filter(({ state }) => kind in state).map(({ name, state }) => [`${kind}/${name}`, state[kind]] as const),
      );
      const reported = report === "loss" ? [] : [[report, of(graph.outputs, report)] as const];
      return {
        ...graph,
        outputs: new Map([
          ["loss", objective],
          ...reported,
          ["norm", norm],
          ...moved.map(({ name, weight }) => [name, weight] as const),
          ...states,
        ]),
      };
    },
  };
}

/** Parameters as outputs: what a session of the host's copies out of the device. */
const copies = (shapes: ReadonlyMap<string, readonly number[]>): TensorFunction =>
  tensorFunction({}, (p): Record<string, Tensor> => Object.fromEntries([...shapes].map(([name, shape]) => [name, p.param(name, shape)])));
