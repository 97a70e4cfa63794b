import { GraphError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { DimLike } from "./dim.ts";
import { type Initialiser, input, noiseInput, normal, type Parameter, parameter } from "./leaves.ts";
import { prefixes } from "./names.ts";
import { atPlace, currentPlace, joinPath, type Part } from "./place.ts";
import type { Tensor } from "./tensor.ts";
import { showType, type TensorType, tensorType } from "./type.ts";

/** What dropout is fed: random bytes, which the graph compares with a threshold and scales, or flags, 1 for what stays. Both drop the same. */
export const noiseKinds = ["bytes", "flags"] as const;
export type NoiseKind = (typeof noiseKinds)[number];

export interface TraceOptions {
  /** Names of taps that become inputs: the tapped tensor is replaced by what is fed. */
  readonly patches?: readonly string[];
  /** Names of taps that are asked for as outputs. */
  readonly taps?: readonly string[];
  /** The dtype of parameters. */
  readonly float?: "float32" | "float64";
  /** What dropout is fed; flags if left out, which take less time. Runs of before 0.3 go on with bytes, to the same bits. */
  readonly noise?: NoiseKind;
}

/** What a trace collects while a function builds its graph. */
export class Trace {
  readonly parameters = new Map<string, Parameter>();
  /** The places that declared each parameter: one, or several that share it. */
  readonly declared = new Map<string, Set<string>>();
  readonly taps = new Map<string, Tensor>();
  readonly patches = new Map<string, Tensor>();
  /** Taps that a layer would make if somebody asked for them. */
  readonly offered = new Set<string>();
  /** Random bytes that are fed, by name. */
  readonly noise = new Map<string, Tensor>();
  readonly options: TraceOptions;

  constructor(options: TraceOptions) {
    this.options = options;
  }

  /** An asked-for tap that the function never made is a mistake worth naming. */
  finish(): void {
    for (const name of [...(this.options.patches ?? []), ...(this.options.taps ?? [])]) {
      if (!this.taps.has(name)) throw unknownTap(name, new Set([...this.taps.keys(), ...this.offered]));
    }
  }
}

/** A place in a model. It gives parameters and taps their names: `p.at("block", 2).at("attention").tap("pattern", x)`. */
export class Scope {
  readonly path: string;
  readonly #trace: Trace;
  /** Where its parameters have their names: the place itself, unless they are shared. */
  readonly #home: string;

  constructor(trace: Trace, path = "", home = path) {
    this.#trace = trace;
    this.path = path;
    this.#home = home;
  }

  /** A place inside this one; with a number, one of several: `block.2`. */
  at(name: string, index?: number): Scope {
    const inner = index === undefined ? name : `${name}.${index}`;
    return new Scope(this.#trace, joinPath(this.path, inner), joinPath(this.#home, inner));
  }

  /**
   * One of several uses of the same parameters: `p.shared("block", 2)` is the place `block.2`, with taps and noise of its own, and the
   * parameters of `block`, which every use shares.
   */
  shared(name: string, use: number): Scope {
    return new Scope(this.#trace, joinPath(this.path, `${name}.${use}`), joinPath(this.#home, name));
  }

  /** Declares a trained tensor: its shape and how it starts. */
  param(name: string, shape: readonly DimLike[], initialiser: Initialiser = normal(0.02), stacked?: readonly number[]): Tensor {
    const full = joinPath(this.#home, name);
    const type = tensorType(this.#trace.options.float ?? "float32", shape);
    const found = this.#trace.parameters.get(full);
    if (found) return this.#again(found, full, type, initialiser);
    for (const dim of type.shape) {
      if (dim.value === undefined)
        throw new GraphError(`at ${full}: a parameter cannot have the open dimension "${dim}"; its size must be a number`);
    }
    const tensor = parameter(full, type, { initialiser, stacked }, { scope: this.#home, part: currentPlace().part });
    this.#trace.parameters.set(full, tensor);
    this.#trace.declared.set(full, new Set([this.path]));
    return tensor;
  }

  /** A parameter that another use has declared already; the same name by accident is an error. */
  #again(found: Parameter, full: string, type: TensorType, initialiser: Initialiser): Tensor {
    const uses = this.#trace.declared.get(full) as Set<string>;
    if (this.path === this.#home || uses.has(this.path) || uses.has(this.#home)) {
      throw new GraphError(
        `at ${full}: this parameter was declared before; give it another name, or share it: take its place by p.shared("…", use) each time, with another number for each use`,
      );
    }
    const [here, before] = [describe(type, initialiser), describe(found.type, found.node.attributes.initialiser)];
    if (here !== before)
      throw new GraphError(
        `at ${this.path}: the shared parameter ${full} is ${before}, and here it is declared as ${here}; a use of it must declare the same`,
      );
    uses.add(this.path);
    return found;
  }

  /** What dropout is fed in this function. */
  get noiseKind(): NoiseKind {
    return this.#trace.options.noise ?? "flags";
  }

  /** Random bytes, new for each run, fed from a `Chance` by the place's name; with `dropped`, flags: 0 for so many of 256, and 1 for the others. */
  noise(name: string, shape: readonly DimLike[], dropped?: number): Tensor {
    const full = joinPath(this.path, name);
    if (this.#trace.noise.has(full)) throw new GraphError(`at ${full}: this noise was declared before; give it another name`);
    const bytes = noiseInput(`${prefixes.noise}${full}`, tensorType("uint8", shape), dropped);
    this.#trace.noise.set(full, bytes);
    return bytes;
  }

  /** Names a tensor so that it can be looked at or replaced. Gives back the tensor, or what is fed in its place. */
  tap(name: string, x: Tensor): Tensor {
    const full = joinPath(this.path, name);
    if (this.#trace.taps.has(full)) throw new GraphError(`at ${full}: this tap was declared before; give it another name`);
    const replaced = this.#trace.options.patches?.includes(full) ? input(full, x.type) : x;
    if (replaced !== x) this.#trace.patches.set(full, replaced);
    this.#trace.taps.set(full, replaced);
    return replaced;
  }

  /** Whether a tap of this name is asked for or patched, so that a layer may choose a lowering without it. */
  isTapped(...names: string[]): boolean {
    const { taps = [], patches = [] } = this.#trace.options;
    const full = names.map((name) => joinPath(this.path, name));
    for (const name of full) this.#trace.offered.add(name);
    return full.some((name) => taps.includes(name) || patches.includes(name));
  }

  /** The tensor of a tap that was made before, by its whole name: what a gradient may be of. */
  tapped(name: string): Tensor {
    const found = this.#trace.taps.get(name);
    if (found === undefined) throw unknownTap(name, new Set(this.#trace.taps.keys()));
    return found;
  }

  /** The parameters declared so far, in order: what `grad` wants. */
  parameters(): Tensor[] {
    return [...this.#trace.parameters.values()];
  }
}

const describe = (type: TensorType, initialiser: Initialiser): string => {
  const { kind, ...how } = initialiser;
  return `${showType(type)} of ${[kind, ...Object.values(how)].join(" ")}`;
};

type Layer<Rest extends unknown[], Result> = (p: Scope, ...rest: Rest) => Result;

/**
 * Marks a function (scope, …) → tensor as a layer: nodes built inside carry its place, and errors name it. With a part, that is what
 * it is counted as in costs; without, whatever it is used for.
 */
export function layer<Rest extends unknown[], Result>(part: Part, build: Layer<Rest, Result>): Layer<Rest, Result>;
export function layer<Rest extends unknown[], Result>(build: Layer<Rest, Result>): Layer<Rest, Result>;
export function layer<Rest extends unknown[], Result>(...given: [Layer<Rest, Result>] | [Part, Layer<Rest, Result>]): Layer<Rest, Result> {
  const [own, build] = given.length === 1 ? [undefined, given[0]] : given;
  return (p, ...rest) => atPlace({ scope: p.path, part: own ?? currentPlace().part }, () => build(p, ...rest));
}

function unknownTap(name: string, known: Iterable<string>): GraphError {
  const names = [...known];
  const hint =
    suggest(name, names) ||
    (names.length > 0 ? `; there are ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}` : "; this function has none");
  return new GraphError(`no tap is called "${name}"${hint}`);
}
