import type { StepReport } from "../training/fit.ts";

// How many steps fit into a time, when the first ones took so long.

/** One step of a trial. */
export type Taken = Pick<StepReport, "seconds" | "tokens">;

export interface Pace {
  /** Seconds of a step, and of a token. */
  readonly step: number;
  readonly token: number;
  /** Seconds that went into what happens once: the making of sessions. */
  readonly once: number;
}

/** So many times the usual time of a token is too much for a step alone. */
const unusual = 3;

/**
 * Batches have different lengths, so what a token takes is what counts. A step whose tokens took far longer than usual made a session too,
 * which happens once.
 */
export function paceOf(taken: readonly Taken[]): Pace {
  const usual = median(taken.map((step) => step.seconds / step.tokens));
  const ordinary = taken.filter((step) => step.seconds <= unusual * usual * step.tokens);
  const later = ordinary.slice(Math.floor(ordinary.length / 2)); // the first ones warm up
  const token = total(later, (step) => step.seconds) / total(later, (step) => step.tokens);
  const step = (token * total(taken, ({ tokens }) => tokens)) / taken.length;
  return { step, token, once: Math.max(0, total(taken, ({ seconds }) => seconds) - taken.length * step) };
}

/** Steps for so many seconds. */
export function stepsFor(taken: readonly Taken[], seconds: number): number {
  const { step, once } = paceOf(taken);
  return Math.max(1, Math.round((seconds - once) / step));
}

export interface Allowance {
  readonly pace: Pace;
  /** All that is left. */
  readonly seconds: number;
  /** Of one validation, with the save that follows it. */
  readonly validation: number;
  /** Seconds of what comes after the last step. */
  readonly ending?: number;
  /** Steps between validations, where they were given. */
  readonly evalEvery?: number | undefined;
  /** More steps would be no use. */
  readonly most?: number;
}

export interface Plan {
  readonly steps: number;
  readonly evalEvery: number;
}

const mostValidations = 10;
/** Of the time, for validations. */
const validationShare = 0.1;

/** Steps and validations that fit into the time together: ten validations, or as many as take a tenth of it, but one at least. */
export function planned({ pace, seconds, validation, ending = 0, evalEvery, most = Number.POSITIVE_INFINITY }: Allowance): Plan {
  const left = seconds - pace.once - ending;
  const counted = (time: number, each: number) => Math.max(1, Math.min(most, Math.floor(time / each)));
  if (evalEvery !== undefined) return { steps: counted(left, pace.step + validation / evalEvery), evalEvery };
  const affordable = validation > 0 ? Math.floor((validationShare * left) / validation) : mostValidations;
  const validations = Math.max(1, Math.min(mostValidations, affordable));
  const steps = counted(left - validations * validation, pace.step);
  return { steps, evalEvery: Math.ceil(steps / validations) };
}

const total = (taken: readonly Taken[], of: (step: Taken) => number): number => taken.reduce((sum, step) => sum + of(step), 0);

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}
