import type { ModelName } from "../models/any.ts";
import type { Task } from "./config.ts";

// Which model for so much arithmetic and so much data: the rule behind `minutes`. Its numbers are measured; see docs/training.md.

/** What there is to learn from, and with. */
export interface Means {
  readonly task: Task;
  readonly model: ModelName;
  /** Operations that there is time for. */
  readonly flops: number;
  /** Tokens of the data that is trained on. */
  readonly tokens: number;
  /** How many examples these are; left out of one text, which is cut into windows. */
  readonly examples?: number;
  readonly vocab: number;
  readonly optimizer?: string;
  /** Bytes that may be taken. */
  readonly memory: number;
}

/** What the rule chooses, of what was not given. */
export interface Sizes {
  readonly layers: number;
  readonly width: number;
  readonly heads?: number;
  readonly context?: number;
  readonly dropout: number;
  readonly batch: number;
}

export type GivenSizes = Readonly<Record<string, unknown>>;

interface Rung {
  readonly layers: number;
  readonly width: number;
}

/** Layers × width. */
const rungs = (list: string): Rung[] =>
  list.split(" ").map((one) => {
    const [layers, width] = one.split("×").map(Number);
    return { layers, width };
  });

/** From small to large; each has up to twice the parameters of the one before. */
const ladders: Readonly<Record<"text" | "examples" | "rnn", readonly Rung[]>> = {
  text: rungs("2×64 2×96 2×128 3×128 4×128 4×160 4×192 5×192 6×192 6×224 6×256 6×320 6×384 8×384 8×448 8×512 10×576 12×640 12×768"),
  examples: rungs("2×64 2×96 2×128 2×160 2×192 3×192 3×256 4×256 4×320 6×320 6×384 6×512 8×512"),
  rnn: rungs("1×64 1×96 1×128 1×192 1×256 2×256 2×384 2×512 2×768"),
};

/** Tokens that are read for each parameter: fewer, and the model is too large for the time; more, and it is too small. Muon learns more from each. */
const perParameter = (optimizer?: string): number => (optimizer === "muon" ? 4 : 10);

interface Measure {
  /** Parameters for each token of the data: more, and all of it is learned by heart. */
  readonly perToken: number;
  /** How often the data is read at most. */
  readonly epochs: number;
  /** The least that is dropped. */
  readonly dropout: number;
}

const measures: Readonly<Record<Task, Measure>> = {
  lm: { perToken: 10, epochs: 60, dropout: 0 },
  mlm: { perToken: 10, epochs: 200, dropout: 0 }, // other words are hidden each time
  translate: { perToken: 4, epochs: 60, dropout: 0.1 },
  classify: { perToken: 0.25, epochs: 20, dropout: 0.1 },
  tag: { perToken: 0.5, epochs: 20, dropout: 0.1 },
};

/** How often a run reads its data at most. */
export const mostEpochs = (task: Task): number => measures[task].epochs;

/** What is read where nobody says how long, and the parameters that are trained on it: little data gets no less. */
const [usualTokens, usualExamples] = [2000 * 768, 1000 * 32];
const usualParameters = 4e5;

/** Steps that a run should have, and tokens of a step: as small as computes well, and as large as memory and caches bear. */
const wantedSteps = 8000;
const [leastTokens, mostTokens] = [768, 8192];
/** Of these few are hidden, and only they are learned from. */
const leastHidden = 2048;
/** Muon works on every matrix in each step, however small the batch: it wants so many tokens for each number of the width. */
const muonTokens = 8;
const [leastExamples, mostExamples] = [32, 128];

/** The sizes for what there is; those that were given stay. More time, or more data, never makes a model smaller. */
export function sizesFor(means: Means, given: GivenSizes = {}): Sizes {
  const fitting = candidates(means, given).filter((sizes) => fits(sizes, means));
  const [smallest] = candidates(means, given);
  const { layers, width } = fitting.at(-1) ?? smallest;
  const context = contextOf(width, means, given);
  const seen = tokensSeen({ layers, width }, means, given);
  const heads = numberOf(given.heads) ?? headsOf(width, means, numberOf(given.kvHeads));
  return {
    layers,
    width,
    ...(heads !== undefined && { heads }),
    ...(context !== undefined && { context }),
    dropout: numberOf(given.dropout) ?? dropoutFor({ layers, width }, means, seen / means.tokens),
    batch: numberOf(given.batch) ?? batchFor({ layers, width }, means, given),
  };

  function fits(sizes: Rung, all: Means): boolean {
    const parameters = parametersOf(sizes, all);
    const { perToken } = measures[all.task];
    const enough = tokensSeen(sizes, all, given) >= perParameter(all.optimizer) * parameters;
    return (
      enough &&
      parameters <= Math.max(usualParameters, perToken * all.tokens) &&
      bytesOf(sizes, all, given, leastRows(all, sizes, given)) <= all.memory
    );
  }
}

/** All sizes that may be chosen, from small to large. */
function candidates(means: Means, { layers, width, heads }: GivenSizes): Rung[] {
  const ladder = ladders[means.model === "rnn" ? "rnn" : means.task === "lm" || means.task === "mlm" ? "text" : "examples"];
  const all = ladder.map((rung) => ({ layers: numberOf(layers) ?? rung.layers, width: numberOf(width) ?? rung.width }));
  const divisible = all.filter((rung) => rung.width % (2 * (numberOf(heads) ?? 1)) === 0); // heads of an even size
  return (divisible.length > 0 ? divisible : all).toSorted((a, b) => parametersOf(a, means) - parametersOf(b, means));
}

/** Of the blocks, for a width of 1: four matrices of attention and a feed-forward layer of eight, once more attention in a decoder that looks at a source; three gates of two matrices. */
const perLayer: Readonly<Record<ModelName, number>> = { decoder: 12, encoder: 12, "encoder-decoder": 28, rnn: 6 };

const writesTokens = (task: Task): boolean => task !== "classify" && task !== "tag";
const twoSides = ({ task }: Pick<Means, "task">): number => (task === "translate" ? 2 : 1);

/** Parameters that are multiplied: a table that is only looked up in learns and costs little. */
export function parametersOf({ layers, width }: Rung, means: Pick<Means, "model" | "task" | "vocab">): number {
  const sides = means.model === "rnn" && means.task === "translate" ? 2 : 1;
  return sides * perLayer[means.model] * layers * width ** 2 + (writesTokens(means.task) ? means.vocab * width : 0);
}

/** Operations that training on one token takes: each parameter twice on the way forward and four times back, and each token with those that it sees. */
export function flopsPerToken(sizes: Rung, means: Omit<Means, "flops">, context: number): number {
  const pairs = means.model === "rnn" ? 0 : 12 * sizes.layers * context * sizes.width;
  return (6 * parametersOf(sizes, means)) / twoSides(means) + pairs; // a token of a pair goes through one side
}

/** Tokens that there is time for, and that are worth it. */
function tokensSeen(sizes: Rung, means: Means, given: GivenSizes): number {
  const perToken = flopsPerToken(sizes, means, lengthOf(sizes, means, given));
  const length = means.examples === undefined ? 0 : means.tokens / means.examples;
  const usual = length === 0 ? usualTokens : usualExamples * length;
  return Math.min(means.flops / perToken, Math.max(usual, measures[means.task].epochs * means.tokens));
}

/** Tokens of a window, or of the usual example. */
const lengthOf = ({ width }: Rung, means: Means, given: GivenSizes): number =>
  means.examples === undefined ? (contextOf(width, means, given) ?? 128) : Math.max(1, means.tokens / means.examples);

/** A longer past is worth its arithmetic where the blocks cost more than it does. Examples are as long as they are. */
function contextOf(width: number, { task, model, tokens, examples }: Means, given: GivenSizes): number | undefined {
  const asked = numberOf(given.context);
  if (asked !== undefined || examples !== undefined) return asked;
  const wanted = task === "lm" && model !== "rnn" && width >= 192 ? 256 : 128;
  const room = 2 ** Math.floor(Math.log2(Math.max(8, tokens / 16))); // of a short text there are windows enough for some batches
  return Math.min(wanted, room);
}

/** Heads of 32 or 64, where these divide the width and are shared equally by those of keys and values. */
function headsOf(width: number, { model }: Means, kvHeads = 1): number | undefined {
  if (model === "rnn") return undefined;
  const wanted = width / (width >= 256 ? 64 : 32);
  const able = Array.from({ length: width }, (_, i) => i + 1).filter((heads) => width % (2 * heads) === 0 && heads % kvHeads === 0);
  const nearest = able.toSorted((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted))[0];
  return nearest ?? kvHeads;
}

/** Epochs × parameters / tokens of the data that are not learned by heart. */
const unheard = 7.5;

/**
 * What can be learned by heart is dropped: the more often data is read, and the more parameters there are for each of its tokens. 0.03 for every time that the
 * product of both doubles, in twentieths: so 0.05 from 13 on, and 0.1 from 42.
 */
function dropoutFor(sizes: Rung, means: Means, epochs: number): number {
  const heard = (epochs * parametersOf(sizes, means)) / means.tokens;
  const wanted = Math.round(20 * 0.03 * Math.log2(Math.max(heard, unheard) / unheard)) / 20;
  return Math.max(measures[means.task].dropout, Math.min(0.3, wanted));
}

/** Rows of a batch: for so many steps as are wanted, within what computes well, what there is, and what fits into memory. */
function batchFor(sizes: Rung, means: Means, given: GivenSizes): number {
  const length = lengthOf(sizes, means, given);
  const seen = tokensSeen(sizes, means, given);
  const wanted = seen / wantedSteps / length;
  const [least, most] =
    means.examples === undefined ? [tokensAtLeast(sizes, means) / length, mostTokens / length] : [leastExamples, mostExamples];
  const there = means.examples ?? means.tokens / length - 2;
  const inMemory = (means.memory - bytesOf(sizes, means, given, 0)) / (bytesOf(sizes, means, given, 1) - bytesOf(sizes, means, given, 0));
  return Math.max(1, Math.floor(Math.min(Math.max(least, Math.min(Math.max(least, most), wanted)), there / 2, inMemory)));
}

function tokensAtLeast({ width }: Rung, { task, optimizer }: Means): number {
  const least = task === "mlm" ? leastHidden : leastTokens;
  return optimizer === "muon" ? Math.max(least, muonTokens * width) : least;
}

const leastRows = (means: Means, sizes: Rung, given: GivenSizes): number =>
  numberOf(given.batch) ??
  (means.examples === undefined ? Math.ceil(tokensAtLeast(sizes, means) / lengthOf(sizes, means, given)) : leastExamples);

/** What training takes, about: weights, gradients and moments, and of every row what is kept for the way back. */
function bytesOf(sizes: Rung, means: Means, given: GivenSizes, rows: number): number {
  const { layers, width } = sizes;
  const length = numberOf(given.context) ?? lengthOf(sizes, means, given);
  const heads = headsOf(width, means) ?? 0;
  const table = writesTokens(means.task) ? 0 : means.vocab * width;
  const kept = length * (layers * (40 * width + 4 * heads * length) + (writesTokens(means.task) ? 4 * means.vocab : 0));
  return 4 * (4 * (parametersOf(sizes, means) + table) + rows * twoSides(means) * kept);
}

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
