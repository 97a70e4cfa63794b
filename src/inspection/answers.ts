import { ConfigError } from "../base/errors.ts";
import { givesSeveral, type ModelConfig, readsSource, taskOf } from "../models/any.ts";
import type { ModelTask } from "../text/columns.ts";
import { knownMask } from "../trained/hiding.ts";
import { shownPiece } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { type Activation, activationOf, type ObserveOptions, observe } from "./observe.ts";
import { type Read, type Reading, type ReadingOptions, readingOf } from "./reading.ts";

// What a model answers to one text, as log-probabilities.

export interface Answers {
  /** The mean negative log-likelihood of the tokens that do come next, in nats; not there where nobody said what is right. */
  readonly loss?: number;
  /** [time, vocab]; of labels [time, label], or [label] for the whole text. */
  readonly logProbabilities: Activation;
}

export interface Candidate {
  readonly token: string;
  readonly probability: number;
}

const answerAxes: Readonly<Record<ModelTask, readonly string[] | undefined>> = {
  lm: ["time", "vocab"],
  translate: ["time", "vocab"],
  mlm: ["time", "vocab"],
  tag: ["time", "label"],
  classify: ["label"],
  embed: undefined,
};

/** The answers to a reading, with some taps replaced or not. */
export async function answersOf(run: TrainedModel, reading: Reading, patches?: ObserveOptions["patches"]): Promise<Answers> {
  const { scores } = await observe(run, reading, { patches, outputs: ["scores"] });
  const { model } = run;
  const axes = answerAxes[taskOf(model)];
  if (axes === undefined)
    throw new ConfigError(`${run.name} gives vectors of texts, and no answers with probabilities`, { code: "config.task" });
  const found = activationOf({ name: "log-probabilities", axes }, scores);
  const several = givesSeveral(model);
  const logProbabilities = several ? logSigmoid(cooled(found, run)) : logSoftmax(cooled(found, run));
  const loss = meanLoss(logProbabilities, reading.feeds.targets.data as Int32Array);
  return { ...(loss !== undefined && { loss }), logProbabilities };
}

/** Numbers that are as many as the last axis is long, one row after the other. */
export function rowsOf({ shape, data }: Pick<Activation, "shape" | "data">): Float32Array[] {
  const length = shape[shape.length - 1];
  return Array.from({ length: data.length / length }, (_, i) => data.subarray(i * length, (i + 1) * length));
}

/** A classifier's scores, divided by its temperature. */
const cooled = (scores: Activation, { temperature }: TrainedModel): Activation =>
  temperature === 1 ? scores : { ...scores, data: scores.data.map((score) => score / temperature) };

/** Of labels that do not exclude each other: log σ(x) = min(x, 0) − log(1 + exp(−|x|)). */
const logSigmoid = (scores: Activation): Activation => ({
  ...scores,
  data: scores.data.map((x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)))),
});

function logSoftmax(scores: Activation): Activation {
  const data = Float32Array.from(scores.data);
  for (const row of rowsOf({ shape: scores.shape, data })) {
    const most = row.reduce((a, b) => Math.max(a, b));
    const total = Math.log(row.reduce((sum, score) => sum + Math.exp(score - most), 0)) + most;
    for (const [i, score] of row.entries()) row[i] = score - total;
  }
  return { ...scores, data };
}

function meanLoss(logProbabilities: Activation, targets: Int32Array): number | undefined {
  const losses = rowsOf(logProbabilities).flatMap((row, i) => (targets[i] >= 0 ? [-row[targets[i]]] : []));
  return losses.length > 0 ? losses.reduce((a, b) => a + b) / losses.length : undefined;
}

/** Whether its answers are labels, and not tokens. */
export const isLabeller = (model: ModelConfig): boolean => taskOf(model) === "classify" || taskOf(model) === "tag";

/** The likeliest answers of a row of log-probabilities. */
export function likeliest(run: TrainedModel, row: Float32Array, count: number): Candidate[] {
  return highestPlaces(row, count).map((i) => ({ token: answerName(run, i), probability: Math.exp(row[i]) }));
}

/** What an answer is called: a label, or a token. */
export const answerName = (run: TrainedModel, place: number): string =>
  isLabeller(run.model) ? (run.labels[place] ?? String(place)) : shownPiece(run.tokenizer, place);

/** The places of the highest numbers, the highest first and equal ones in their order; a vocabulary need not be sorted for a few of them. */
export function highestPlaces(row: Float32Array, count: number): number[] {
  if (count > 32) return [...row.keys()].sort((a, b) => row[b] - row[a] || a - b).slice(0, count);
  const found: number[] = [];
  for (let i = 0; i < row.length; i++) {
    if (found.length === count && !(row[i] > row[found[count - 1]])) continue;
    let at = found.length;
    while (at > 0 && row[found[at - 1]] < row[i]) at--;
    found.splice(at, 0, i);
    if (found.length > count) found.pop();
  }
  return found;
}

export interface Next {
  readonly prompt: string;
  readonly candidates: readonly Candidate[];
}

/** What may come after a text (after the target so far, where there is a source), what may stand at its first mask, or the labels of a whole text; of each position's label, the last's. */
export async function nextTokensOf(
  run: TrainedModel,
  text: Read,
  { top = 10, ...options }: ReadingOptions & { readonly top?: number } = {},
): Promise<Next> {
  const { model } = run;
  const hasSource = readsSource(model);
  // What comes next follows the end of a text; labels are those of its beginning, as they are when it is classified.
  const keep = taskOf(model) !== "lm" ? "first" : "last";
  const reading = await readingOf(run, text, hasSource ? { target: "", ...options } : { keep, ...options });
  const { logProbabilities } = await answersOf(run, reading);
  const prompt = typeof text !== "string" ? "" : hasSource ? `${text} → ${options.target ?? ""}` : text;
  return { prompt, candidates: likeliest(run, rowsOf(logProbabilities).at(askedPlace(run, reading)) ?? new Float32Array(), top) };
}

/** Where it is asked: at the first hidden token, where such are found and there is one; else at the end. */
function askedPlace(run: TrainedModel, { feeds }: Reading): number {
  const mask = taskOf(run.model) === "mlm" ? knownMask(run) : undefined;
  return mask ? (feeds.ids.data as Int32Array).indexOf(mask.id) : -1;
}
