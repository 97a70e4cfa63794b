import type { ParameterLayout } from "../graph/parameters.ts";
import { add, div, mul, sub } from "../ops/arithmetic.ts";
import { sqrt } from "../ops/functions.ts";
import { type InGraph, type Moved, type Needs, Optimizer, type OptimizerOptions, type Remembered, type Segment } from "./optimizer.ts";

export interface AdamOptions extends OptimizerOptions {
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
}

/** Adam's two moments, and how a stretch of weights moves by them. */
abstract class Moments extends Optimizer {
  readonly firstMoments: Remembered;
  readonly secondMoments: Remembered;
  readonly #options: Required<Pick<AdamOptions, "beta1" | "beta2" | "epsilon">>;

  constructor(layout: ParameterLayout, options: AdamOptions = {}, needs: Needs = { remembers: ["firstMoments", "secondMoments"] }) {
    super(layout, needs, options);
    const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 } = options;
    this.#options = { beta1, beta2, epsilon };
    this.firstMoments = this.remembered("firstMoments");
    this.secondMoments = this.remembered("secondMoments");
  }

  numbers(learningRate: number): Readonly<Record<string, number>> {
    const { beta1, beta2 } = this.#options;
    const step = this.steps + 1;
    return { rate: learningRate / (1 - beta1 ** step), root: 1 / (1 - beta2 ** step), keep: this.keep(learningRate) };
  }

  /** What is left of a weight that decays by itself. */
  protected abstract keep(learningRate: number): number;

  moved({ weight, gradient, state: { firstMoments, secondMoments }, decays, numbers: { rate, root, keep } }: InGraph): Moved {
    const { beta1, beta2, epsilon } = this.#options;
    const first = add(mul(firstMoments, beta1), mul(gradient, 1 - beta1));
    const second = add(mul(secondMoments, beta2), mul(mul(gradient, gradient), 1 - beta2));
    const step = div(mul(first, rate), add(sqrt(mul(second, root)), epsilon));
    return { weight: sub(decays ? mul(weight, keep) : weight, step), state: { firstMoments: first, secondMoments: second } };
  }

  protected moveByMoments(segment: Segment, learningRate: number, keep: number, scale: number): void {
    const { beta1, beta2, epsilon } = this.#options;
    const buffers = [this.weights, this.gradients, this.firstMoments, this.secondMoments];
    const [w, g, m, v] = buffers.map((buffer) => this.address(buffer, segment));
    const rate = learningRate / (1 - beta1 ** this.steps);
    const root = 1 / (1 - beta2 ** this.steps);
    this.kernels.adamw(w, g, m, v, segment.count, rate, beta1, beta2, root, epsilon, keep, scale);
  }
}

/** AdamW (Loshchilov & Hutter 2019): weights decay by themselves, beside the moments. */
export class AdamW extends Moments {
  protected move(segment: Segment, learningRate: number, scale: number): void {
    this.moveByMoments(segment, learningRate, segment.decays ? this.keep(learningRate) : 1, scale);
  }

  protected keep(learningRate: number): number {
    return 1 - learningRate * this.weightDecay;
  }
}

/** Adam (Kingma & Ba 2015): the decay is part of the gradient, and so goes through the moments. */
export class Adam extends Moments {
  protected move(segment: Segment, learningRate: number, scale: number): void {
    const { count, decays } = segment;
    const [g, w] = [this.gradients, this.weights].map((buffer) => this.address(buffer, segment));
    if (decays) this.kernels.blend(g, w, count, scale, this.weightDecay);
    this.moveByMoments(segment, learningRate, 1, decays ? 1 : scale);
  }

  protected keep(): number {
    return 1;
  }

  override moved(given: InGraph): Moved {
    const { weight, gradient, decays } = given;
    return super.moved({ ...given, gradient: decays ? add(gradient, mul(weight, this.weightDecay)) : gradient, decays: false });
  }
}

export interface SgdOptions extends OptimizerOptions {
  readonly momentum?: number;
}

/** Gradient descent with momentum: v = momentum · v + g, w = w − rate · v. */
export class Sgd extends Optimizer {
  readonly velocity: Remembered;
  readonly #momentum: number;

  constructor(layout: ParameterLayout, options: SgdOptions = {}) {
    super(layout, { remembers: ["velocity"] }, options);
    this.#momentum = options.momentum ?? 0.9;
    this.velocity = this.remembered("velocity");
  }

  numbers(learningRate: number): Readonly<Record<string, number>> {
    return { rate: learningRate };
  }

  moved({ weight, gradient, state: { velocity }, decays, numbers: { rate } }: InGraph): Moved {
    const pushed = add(mul(velocity, this.#momentum), gradient);
    const faster = decays ? add(pushed, mul(weight, this.weightDecay)) : pushed;
    return { weight: sub(weight, mul(faster, rate)), state: { velocity: faster } };
  }

  protected move(segment: Segment, learningRate: number, scale: number): void {
    const { count, decays } = segment;
    const [w, g, v] = [this.weights, this.gradients, this.velocity].map((buffer) => this.address(buffer, segment));
    this.kernels.blend(v, g, count, this.#momentum, scale);
    if (decays) this.kernels.blend(v, w, count, 1, this.weightDecay);
    this.kernels.blend(w, v, count, 1, -learningRate);
  }
}
