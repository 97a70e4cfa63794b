import type { Batch } from "../batches/batch.ts";
import type { InputTypes, Outputs } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type ModelConfig, modelLoss, takesAnyLength } from "../models/any.ts";
import { type CompiledFunction, type CompileOptions, compile } from "../runtime/compile.ts";

export interface Scored {
  /** The mean negative log-likelihood over all targets that count. */
  readonly loss: number;
  /** How many they are. */
  readonly targets: number;
}

/** How well a model foretells batches that it is not trained on. */
export class Scorer {
  readonly #run: CompiledFunction<InputTypes, Outputs>;

  constructor(config: ModelConfig, options: Pick<CompileOptions, "threads" | "weights" | "folder" | "rewrite"> = {}) {
    const symbols = takesAnyLength(config) ? "open" : "bound";
    this.#run = compile(modelLoss(config, { training: false }), { ...options, outputs: ["loss"], symbols, sessions: 16 });
  }

  /** Weights are given each time, unless they are baked in. */
  async score(batches: Iterable<Batch>, weights?: ParameterBuffer): Promise<Scored> {
    let [sum, targets] = [0, 0];
    for (const batch of batches) {
      const { loss } = await this.#run.run(batch.feeds, { weights });
      sum += Number(loss.data[0]) * batch.targets;
      targets += batch.targets;
    }
    return { loss: sum / targets, targets };
  }

  release(): Promise<void> {
    return this.#run.release();
  }
}
