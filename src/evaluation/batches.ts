import { type Batch, ignored } from "../batches/batch.ts";
import { highest } from "../generation/sampling.ts";
import { perplexity } from "../metrics/perplexity.ts";
import { modelLoss, takesAnyLength } from "../models/any.ts";
import { compile } from "../runtime/compile.ts";
import { baked } from "../trained/baked.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { allFound, alone, type Group } from "../training/group.ts";
import { uselessWeights } from "./labels.ts";

export interface BatchMeasures {
  /** The mean negative log-likelihood over all targets that count. */
  readonly loss: number;
  readonly perplexity: number;
  /** The share of targets that have the highest score. */
  readonly accuracy: number;
  readonly targets: number;
}

/** How good any model is on batches as it is trained on: for one that reads no text, or for data that is not in files. */
export async function evaluateBatches(
  trained: TrainedModel,
  batches: Iterable<Batch>,
  { signal, group = alone }: { readonly signal?: AbortSignal; readonly group?: Group } = {},
): Promise<BatchMeasures> {
  const { model, device, weights } = trained;
  const rounds = (device.precision ?? "f32") !== "f32";
  const how = rounds ? baked(weights, device) : { device };
  const symbols = takesAnyLength(model) ? "open" : "bound";
  const make = () => compile(modelLoss(model, { training: false }), { ...how, outputs: ["loss", "scores"], symbols, sessions: 16 });
  return trained.use("loss and scores", make, async (scoring) => {
    const each = new Map<number, readonly [sum: number, right: number]>();
    let [targets, place] = [0, -1];
    for (const batch of batches) {
      targets += batch.targets;
      if (++place % group.size !== group.rank) continue;
      signal?.throwIfAborted();
      const { loss, scores } = await scoring.run(batch.feeds, { weights: rounds ? undefined : weights.buffer });
      const answers = batch.feeds.targets.data as Int32Array;
      const width = scores.data.length / answers.length;
      const rowOf = (i: number) => (scores.data as Float32Array).subarray(i * width, (i + 1) * width);
      const right = answers.filter((answer, i) => answer !== ignored && highest(rowOf(i)) === answer).length;
      each.set(place, [Number(loss.data[0]) * batch.targets, right]);
    }
    let [sum, right] = [0, 0];
    for (const [one, hits] of await allFound(group, each)) [sum, right] = [sum + (one ?? Number.NaN), right + hits]; // JSON has no NaN
    if (!Number.isFinite(sum)) throw uselessWeights();
    return { loss: sum / targets, perplexity: perplexity(sum / targets), accuracy: right / targets, targets };
  });
}
