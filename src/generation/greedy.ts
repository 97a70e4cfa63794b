import { array } from "../base/arrays.ts";
import type { InputTypes, Outputs } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type ModelConfig, modelLoss, takesAnyLength } from "../models/any.ts";
import { type CompiledFunction, compile } from "../runtime/compile.ts";

export interface GreedyOptions {
  /** The ids that begin and end a target. */
  readonly start: number;
  readonly end: number;
  readonly threads?: number;
}

/** Targets for sources, the likeliest token each time. Every step reads the target so far again, padded to one of a few lengths. */
export class Greedy {
  readonly #model: ModelConfig;
  readonly #weights: ParameterBuffer;
  readonly #options: GreedyOptions;
  readonly #run: CompiledFunction<InputTypes, Outputs>;

  constructor(model: ModelConfig, weights: ParameterBuffer, options: GreedyOptions) {
    this.#model = model;
    this.#weights = weights;
    this.#options = options;
    const symbols = takesAnyLength(model) ? "open" : "bound";
    this.#run = compile(modelLoss(model, { training: false }), { outputs: ["scores"], threads: options.threads, symbols, sessions: 24 });
  }

  /** One target for each source, without its beginning and its end; at most a context long. */
  async translate(sources: readonly Int32Array[]): Promise<Int32Array[]> {
    const { start, end } = this.#options;
    const { vocab, context } = this.#model;
    const rows = sources.length;
    const sourceTime = roundedUp(Math.max(1, ...sources.map((source) => source.length)), context);
    const source = new Int32Array(rows * sourceTime);
    for (const [row, ids] of sources.entries()) source.set(ids, row * sourceTime);
    const targets = sources.map(() => [start]);
    const open = new Set(sources.keys());
    for (let length = 1; length <= context && open.size > 0; length++) {
      const time = roundedUp(length, context);
      const target = new Int32Array(rows * time);
      for (const [row, ids] of targets.entries()) target.set(ids.slice(0, time), row * time);
      const shape = [rows, time];
      const { scores } = await this.#run.run(
        {
          source: array("int32", source, [rows, sourceTime]),
          lengths: array(
            "int32",
            Int32Array.from(sources, (ids) => ids.length),
          ),
          target: array("int32", target, shape),
          targets: array("int32", new Int32Array(rows * time), shape),
        },
        { weights: this.#weights },
      );
      for (const row of open) {
        const at = (row * time + length - 1) * vocab;
        const next = highest((scores.data as Float32Array).subarray(at, at + vocab));
        if (next === end) open.delete(row);
        else targets[row].push(next);
      }
    }
    return targets.map((ids) => Int32Array.from(ids.slice(1, context + 1)));
  }

  release(): Promise<void> {
    return this.#run.release();
  }
}

/** The next of 8, 16, 32, … but never more than the most: few lengths are few sessions. */
function roundedUp(length: number, most: number): number {
  let size = 8;
  while (size < length) size *= 2;
  return Math.min(size, most);
}

/** The place of the largest number, the first if there are several. */
export function highest(numbers: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}
