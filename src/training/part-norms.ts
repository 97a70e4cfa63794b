import type { Optimizer } from "./optimizer.ts";

// How much each layer learns: norms of its gradient, of what a step changed, and of its weights.

export interface PartNorms {
  /** `embedding`, `block.2`, `head`; where a model has two stacks, with `encoder/` or `decoder/` in front. */
  readonly name: string;
  /** Before clipping. */
  readonly gradient: number;
  /** Of the weights after the step less those before. */
  readonly update: number;
  /** After the step. */
  readonly weight: number;
}

const isIn = (names: readonly string[]) => (name: string) => names.includes(name);
const [isEmbedding, isHead] = [
  isIn(["tokens", "source-tokens", "positions", "segments", "embedding-norm", "class"]),
  isIn(["norm", "scores", "labels", "pooler", "head"]),
];

/** The part that a parameter belongs to, by its place. */
export function partOfName(name: string): string {
  const [root, ...rest] = name.split("/");
  const side = rest[0] === "encoder" || rest[0] === "decoder" ? rest.shift() : undefined; // of a model with two stacks
  const [place = root] = rest;
  const within = side === undefined ? "" : `${side}/`;
  if (/^(block|layer)\.\d+$/.test(place)) return within + place;
  if (isEmbedding(place)) return `${within}embedding`;
  return within + (isHead(place) ? "head" : place);
}

interface Stretch {
  readonly name: string;
  readonly offset: number;
  readonly length: number;
}

const stretches = (entries: readonly Stretch[]): readonly { readonly part: string; readonly from: number; readonly to: number }[] =>
  entries.map(({ name, offset, length }) => ({ part: partOfName(name), from: offset, to: offset + length }));

/** Takes the norms of a step: `before` when its gradients are whole, `after` when the weights have moved. It changes nothing. */
export class NormTaker {
  readonly #optimizer: Optimizer;
  readonly #old: Float32Array;
  #gradients = new Map<string, number>();

  constructor(optimizer: Optimizer) {
    this.#optimizer = optimizer;
    this.#old = new Float32Array(optimizer.weights.data.length);
  }

  before(): void {
    const { weights, gradients } = this.#optimizer;
    this.#old.set(weights.data as Float32Array);
    this.#gradients = squares(gradients.layout.entries, gradients.data as Float32Array); // an optimizer may write over them
  }

  after(): PartNorms[] {
    const { data, layout } = this.#optimizer.weights;
    const updates = squares(layout.entries, data as Float32Array, this.#old);
    return [...squares(layout.entries, data as Float32Array)].map(([name, weight]) => ({
      name,
      gradient: Math.sqrt(this.#gradients.get(name) ?? 0), // what is frozen has none
      update: Math.sqrt(updates.get(name) ?? 0),
      weight: Math.sqrt(weight),
    }));
  }
}

/** Sums of squares by part, in the order of the parts; of differences, if something is taken away. */
function squares(entries: readonly Stretch[], data: Float32Array, less?: Float32Array): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { part, from, to } of stretches(entries)) {
    let sum = 0;
    if (less)
      for (let i = from; i < to; i++) {
        const difference = data[i] - less[i];
        sum += difference * difference;
      }
    else for (let i = from; i < to; i++) sum += data[i] * data[i];
    sums.set(part, (sums.get(part) ?? 0) + sum);
  }
  return sums;
}
