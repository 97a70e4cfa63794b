import type { Chance } from "../base/chance.ts";
import type { Constraint } from "./constraint.ts";
import type { Likely } from "./likeliest.ts";
import type { Sampling } from "./sampling.ts";
import type { Prompt } from "./speech.ts";

// What is asked of a running batch, and what it answers.

/** Why a request is answered: the model said `</s>`, or there were as many tokens as wanted (or as fit). */
export type Finish = "end" | "length";

export interface Request extends Prompt {
  /** The most tokens to say. */
  readonly tokens: number;
  readonly sampling: Sampling;
  /** Where its own random numbers come from: what it says does not depend on who else is in the batch. */
  readonly chance: Chance;
  /** The token after which nothing comes. */
  readonly end?: number;
  /** Others of that kind. */
  readonly ends?: readonly number[];
  /** So many of the likeliest tokens are told with each one that is said. */
  readonly top?: number;
  /** What may be written at all. It is released when the request leaves, however it leaves, and serves it once. */
  readonly constraint?: Constraint;
}

/** What a request got in one step. */
export type Said = SaidToken | Failed;

export interface SaidToken {
  readonly request: Request;
  /** Undefined for the `</s>` that ends it. */
  readonly token?: number;
  /** Under the model's own distribution, before temperature and filters. */
  readonly logProbability: number;
  /** The likeliest at this place, under the same distribution, the best first: as many as were asked for. */
  readonly top?: readonly Likely[];
  /** Where those are told: log Σ exp of all scores, so that a log-probability and this are a score again. */
  readonly total?: number;
  readonly finish?: Finish;
  readonly error?: undefined;
}

/** It cannot be answered, or not any further: by its own fault, or because the engine failed. */
export interface Failed {
  readonly request: Request;
  readonly error: Error;
  readonly finish: "error";
  readonly token?: undefined;
  readonly logProbability?: undefined;
  readonly top?: undefined;
}
