import type { ModelConfig } from "../models/any.ts";
import { type OptimizerName, remembered } from "../training/optimizers.ts";
import type { ModelCost, PhaseCost } from "./cost.ts";
import { type LectureRow, lectureNotes, lectureRows } from "./lecture.ts";
import type { PhaseName } from "./phases.ts";
import { type Published, published, type TrainingTotal, trainingTotal } from "./training.ts";

// What a model costs as one value of plain data: what a command prints, and a page shows.

export interface CostFacts {
  readonly model: ModelConfig;
  readonly parameters: number;
  readonly batch: number;
  readonly length: number;
  readonly sourceLength?: number;
  readonly decode: number;
  /** FLOPs for each token: of a training step, and of one that is written. */
  readonly flopsPerToken: { readonly training?: number; readonly writing?: number };
  /** What lies in memory while it trains, and, of the cache, while it writes. */
  readonly bytes: {
    readonly weights: number;
    readonly gradients: number;
    readonly optimizer: number;
    /** The most that is alive at once in a training step, and of it what the way back reads again. */
    readonly activations: number;
    readonly kept: number;
    /** Keys and values of `decode` tokens, or an RNN's states. */
    readonly kvCache: number;
  };
  /** Each with its arithmetic, its bytes and their ratio, in all and by part, operation and layer. */
  readonly phases: { readonly [Name in PhaseName]?: PhaseCost };
  /** The lectures' formulas beside what was counted. */
  readonly lecture: { readonly [Name in "sequence" | "token"]: readonly LectureRow[] };
  readonly notes: readonly string[];
  /** Of a whole training, where its tokens were told. */
  readonly total?: TrainingTotal;
  readonly published?: Published;
}

export interface FactsOptions {
  readonly optimizer?: OptimizerName;
  readonly accumulate?: number;
  /** How many of the parameters are trained; all if left out. */
  readonly trained?: number;
  /** And how many of these are in matrices that an optimizer may move as a whole. */
  readonly matrices?: number;
  /** Steps over which the mean of the weights is kept. */
  readonly average?: number;
  readonly tokens?: number;
  readonly preset?: string;
}

const bytesOfNumber = 4;

export function costFactsOf(cost: ModelCost, options: FactsOptions = {}): CostFacts {
  const { model, parameters, batch, length, sourceLength, decode, kvCacheBytes, phases } = cost;
  const { optimizer = "adamw", accumulate = 1, trained = parameters, matrices = cost.matrices, average, tokens, preset } = options;
  const { training, token } = phases;
  const total = tokens === undefined ? undefined : trainingTotal(cost, tokens);
  const known = preset === undefined ? undefined : published[preset];
  return {
    model,
    parameters,
    batch,
    length,
    ...(sourceLength !== undefined && { sourceLength }),
    decode,
    flopsPerToken: {
      ...(training && { training: training.flops / (batch * (length + (sourceLength ?? 0))) }),
      ...(token && { writing: token.flops / batch }),
    },
    bytes: {
      weights: bytesOfNumber * parameters,
      gradients: bytesOfNumber * trained * (accumulate > 1 ? 2 : 1),
      optimizer: bytesOfNumber * remembered(optimizer, { trained, matrices, average }),
      activations: training?.activationBytes ?? 0,
      kept: training?.keptBytes ?? 0,
      kvCache: kvCacheBytes,
    },
    phases,
    lecture: { sequence: lectureRows(cost, "sequence"), token: lectureRows(cost, "token") },
    notes: lectureNotes(cost),
    ...(total && { total }),
    ...(known && { published: known }),
  };
}
