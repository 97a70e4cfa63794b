import { FormatError, NonFiniteError } from "../base/errors.ts";
import { type LabelledIds, type Layout, scoringBatches, type TaggedIds } from "../batches/examples.ts";
import { highest } from "../generation/sampling.ts";
import type { InputTypes, Outputs } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { modelLoss } from "../models/any.ts";
import { type OpenRun, paths } from "../runs/folder.ts";
import { type CompiledFunction, compile } from "../runtime/compile.ts";

const rowsAtOnce = 32;

/** What an encoder thinks of every label, for many examples at once: those of like length go through it together. */
export class LabelScorer {
  /** Names, in the order of the scores. */
  readonly labels: readonly string[];
  readonly #weights: ParameterBuffer;
  readonly #scoring: CompiledFunction<InputTypes, Outputs>;

  constructor({ folder, config }: OpenRun, weights: ParameterBuffer, threads?: number) {
    const { model, labels = [] } = config;
    if (model.model !== "encoder" || model.labels !== labels.length)
      throw new FormatError(
        `${paths(folder).config}: at config.labels: ${labels.length} names, which are not as many as the model's labels`,
      );
    this.labels = labels;
    this.#weights = weights;
    this.#scoring = compile(modelLoss(model, { training: false }), { outputs: ["scores"], threads, symbols: "open" });
  }

  /** The scores of every example, in any order: [labels] of a text, or [time, labels] of its tokens. */
  async *score<E extends LabelledIds | TaggedIds>(
    examples: readonly E[],
    layout: Layout<E>,
  ): AsyncGenerator<{ readonly place: number; readonly scores: Float32Array }> {
    for (const { feeds, members } of scoringBatches(examples, layout, { batch: rowsAtOnce, shapes: "any" })) {
      const { scores } = await this.#scoring.run(feeds, { weights: this.#weights });
      const each = scores.data.length / members.length;
      for (const [row, place] of members.entries())
        yield { place, scores: (scores.data as Float32Array).subarray(row * each, (row + 1) * each) };
    }
  }

  release(): Promise<void> {
    return this.#scoring.release();
  }
}

/** The place of the label with the highest score. */
export function likeliest(scores: Float32Array): number {
  if (scores.every(Number.isFinite)) return highest(scores);
  throw uselessWeights();
}

export const uselessWeights = (): NonFiniteError =>
  new NonFiniteError("the model gives scores that are not numbers, so its weights are of no use; train it again");
