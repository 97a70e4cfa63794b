import { NonFiniteError } from "../base/errors.ts";
import { notNumbers } from "./sampling.ts";
import type { Next } from "./speech.ts";

/** A token with its log-probability under the model's own distribution. */
export interface Likely {
  readonly token: number;
  readonly logProbability: number;
}

/** The likeliest next tokens with their log-probabilities, the best first; of equal ones the lower id. */
export function likeliest({ scores, total }: Next, count: number, forbidden?: ReadonlySet<number>): Likely[] {
  if (!Number.isFinite(total)) throw new NonFiniteError(notNumbers);
  const best: Likely[] = [];
  if (count === 0) return best;
  for (let token = 0; token < scores.length; token++) {
    const logProbability = scores[token] - total;
    if ((best.length === count && logProbability <= best[count - 1].logProbability) || forbidden?.has(token)) continue;
    const at = best.findIndex((other) => other.logProbability < logProbability);
    best.splice(at < 0 ? best.length : at, 0, { token, logProbability });
    if (best.length > count) best.pop();
  }
  return best;
}
