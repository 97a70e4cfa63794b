import type { Batch } from "../batches/batch.ts";
import type { InputTypes, Outputs, TensorFunction } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type ModelConfig, modelLoss, takesAnyLength } from "../models/any.ts";
import type { LossOptions } from "../models/losses.ts";
import { type CompiledFunction, type CompileOptions, compile } from "../runtime/compile.ts";
import { baked } from "../trained/baked.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { alone, type Group } from "./group.ts";

// How well a model foretells batches that it is not trained on.

export interface Scored {
  /** The mean negative log-likelihood over all targets that count. */
  readonly loss: number;
  /** How many they are. */
  readonly targets: number;
}

type Loss = CompiledFunction<InputTypes, Outputs>;

/** A model's loss, without dropout. */
export const scoringLoss = (
  model: ModelConfig,
  options: Pick<CompileOptions, "device" | "weights" | "folder" | "rewrite">,
  loss: LossOptions = {},
): Loss =>
  scoringFunction(modelLoss(model, { ...loss, training: false }), { ...options, symbols: takesAnyLength(model) ? "open" : "bound" });

/** The same of any function that has a loss. */
export const scoringFunction = (loss: TensorFunction, options: CompileOptions): Loss =>
  compile(loss, { ...options, outputs: ["loss"], sessions: 16 });

interface Stoppable {
  /** Aborted, it leaves off before the next batch, and throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Who scores together, each some of the batches; all get the same result. */
  readonly group?: Group;
}

/** Weights are given, unless they are baked in. */
export async function meanLoss(
  loss: Loss,
  batches: Iterable<Batch>,
  weights?: ParameterBuffer,
  { signal, group = alone }: Stoppable = {},
): Promise<Scored> {
  const sums: number[] = [];
  let targets = 0;
  let count = 0;
  for (const batch of batches) {
    targets += batch.targets;
    if (count++ % group.size !== group.rank) continue;
    signal?.throwIfAborted();
    const { loss: value } = await loss.run(batch.feeds, { weights });
    sums.push(Number(value.data[0]) * batch.targets);
  }
  const all = await group.gather(Float64Array.from({ length: Math.ceil(count / group.size) }, (_, i) => sums[i] ?? 0));
  let sum = 0;
  for (let i = 0; i < count; i++) sum += all[i % group.size][Math.floor(i / group.size)]; // in the order of the batches, as one would alone
  return { loss: sum / targets, targets };
}

/** The loss of a trained model, whose weights are rounded if its device says so. */
export function trainedLoss(trained: TrainedModel, batches: Iterable<Batch>, options: Stoppable = {}): Promise<Scored> {
  const { model, device, weights } = trained;
  if ((device.precision ?? "f32") === "f32")
    return trained.use(
      "loss",
      () => scoringLoss(model, { device }),
      (loss) => meanLoss(loss, batches, weights.buffer, options),
    );
  return trained.use(
    "rounded loss",
    () => scoringLoss(model, baked(weights, device)),
    (loss) => meanLoss(loss, batches, undefined, options),
  );
}

/** Tokens in a batch that is only scored, and the most scores that they may have together: these fill the memory. */
const scoringTokens = 4096;
const mostScores = 4_000_000;

/** Rows of a batch that is only scored. */
export const scoringRows = ({ context, vocab }: ModelConfig): number =>
  Math.max(1, Math.floor(Math.min(scoringTokens, mostScores / vocab) / context));
