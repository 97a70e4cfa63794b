import { ConfigError } from "../base/errors.ts";
import type { ParameterLayout } from "../graph/parameters.ts";
import { Adam, AdamW, Sgd } from "./adam.ts";
import { Muon, type MuonOptions } from "./muon.ts";
import type { Optimizer } from "./optimizer.ts";

export const optimizerNames = ["adamw", "adam", "sgd", "muon"] as const;
export type OptimizerName = (typeof optimizerNames)[number];

interface Moves {
  readonly trained: number;
  readonly matrices: number;
  /** Whether the mean of the weights is kept; over how many steps does not matter. */
  readonly average?: number | undefined;
}

/** Numbers that an optimizer remembers of so many that it moves, of which some are in matrices. */
export function remembered(name: OptimizerName, { trained, matrices, average = 0 }: Moves): number {
  const mean = average > 0 ? trained : 0;
  if (name === "muon") return mean + 2 * trained - matrices;
  return mean + (name === "sgd" ? 1 : 2) * trained;
}

/** An optimizer by name; β1 is also SGD's momentum. */
export function optimizer(name: OptimizerName, layout: ParameterLayout, options: MuonOptions): Optimizer {
  switch (name) {
    case "adamw":
      return new AdamW(layout, options);
    case "adam":
      return new Adam(layout, options);
    case "sgd":
      return new Sgd(layout, { ...options, momentum: options.beta1 });
    case "muon":
      return new Muon(layout, options);
    default:
      throw new ConfigError(`there is no optimizer called "${name}"; there are ${optimizerNames.join(", ")}`, {
        code: "config.unknown-name",
      });
  }
}
