import { array } from "../base/arrays.ts";
import { ConfigError, DataError } from "../base/errors.ts";
import { givesSeveral } from "../models/any.ts";
import type { Arrays } from "../runtime/session.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { type Answers, answersOf, rowsOf } from "./answers.ts";
import { attentionPlace, attentionSizes, chosenKind } from "./attention.ts";
import { divergenceOf } from "./divergence.ts";
import { type AttentionKind, look } from "./look.ts";
import { type Activation, activationOf, observe } from "./observe.ts";
import { type Read, type ReadingOptions, readingOf } from "./reading.ts";
import { chosenTaps, matches } from "./taps.ts";

/** Other numbers for a tap. `*` in its name stands for any characters. */
export interface Change {
  readonly tap: string;
  readonly value: Float32Array | ((old: Activation, run: TrainedModel) => Float32Array | Promise<Float32Array>);
}

export interface Patched {
  readonly before: Answers;
  readonly after: Answers;
  readonly difference: {
    /** How much the loss rises, where there is one. */
    readonly loss?: number;
    /** after − before */
    readonly logProbabilities: Activation;
    /** The mean Kullback–Leibler divergence of the answers after from those before, in nats. */
    readonly divergence: number;
  };
}

/** Runs a text with some activations replaced. A change sees what the changes before it, on the data's way, have made of its tap. */
export async function patch(run: TrainedModel, text: Read, changes: readonly Change[], options: ReadingOptions = {}): Promise<Patched> {
  const wanted = chosenTaps(
    run.model,
    changes.map(({ tap }) => tap),
  );
  const reading = await readingOf(run, text, options);
  let patches: Arrays = {};
  for (const tap of wanted) {
    const results = await observe(run, reading, { taps: [tap.name], patches });
    const changed = await changedValue(run, activationOf(tap, results[tap.name]), changes);
    patches = { ...patches, [tap.name]: array("float32", changed, results[tap.name].shape) };
  }
  const before = await answersOf(run, reading);
  const after = await answersOf(run, reading, patches);
  return { before, after, difference: difference(before, after, givesSeveral(run.model) ? "apart" : "exclusive") };
}

async function changedValue(run: TrainedModel, old: Activation, changes: readonly Change[]): Promise<Float32Array> {
  let now = old;
  for (const { tap, value } of changes) {
    if (!matches(tap, old.name)) continue;
    const data = value instanceof Float32Array ? value : await value(now, run);
    if (data.length !== old.data.length)
      throw new ConfigError(
        `the tap ${old.name} has ${old.data.length} numbers ([${old.shape.join(", ")}]), but ${data.length} were given`,
      );
    now = { ...old, data };
  }
  return now.data;
}

function difference(before: Answers, after: Answers, labels: "exclusive" | "apart"): Patched["difference"] {
  const [old, now] = [before.logProbabilities, after.logProbabilities];
  const changed = rowsOf(now);
  const divergences = rowsOf(old).map((row, i) => divergenceOf(row, changed[i], labels));
  return {
    ...(before.loss !== undefined && after.loss !== undefined && { loss: after.loss - before.loss }),
    logProbabilities: { ...old, data: now.data.map((value, i) => value - old.data[i]) },
    divergence: divergences.reduce((a, b) => a + b, 0) / divergences.length,
  };
}

/** Silences one head: what it mixed becomes 0, so that the output projection hears nothing of it. */
export function ablateHead(run: TrainedModel, layer: number, head: number, asked?: AttentionKind): Change {
  const { model } = run;
  const kind = chosenKind(model, asked);
  const { layers, heads } = attentionSizes(model, kind);
  if (!(layer >= 0 && layer < layers && head >= 0 && head < heads))
    throw new ConfigError(`there is no head ${head} in layer ${layer}; the model has ${layers} layers of ${heads} heads, counted from 0`);
  // An RNN mixes its encoder's states without a tap of their own, and a model of one's own need not have one.
  const tap = model.model === "rnn" || model.model === "own" ? "pattern" : "mixed";
  return {
    tap: `${attentionPlace(model, kind, layer)}/${tap}`,
    value: ({ shape: [, queries, last], data }) => data.slice().fill(0, head * queries * last, (head + 1) * queries * last),
  };
}

export interface SwapOptions {
  readonly target?: string;
  /** Swap only at these positions, from 0; all of them if left out. */
  readonly positions?: readonly number[];
}

/** Activation patching: the numbers that a tap has in another text of as many tokens. */
export function swap(tap: string, from: Read, { target, positions }: SwapOptions = {}): Change {
  return {
    tap,
    async value(old, run) {
      const other = (await look(run, from, [old.name], { target })).activations.get(old.name);
      if (other?.shape.join() !== old.shape.join())
        throw new DataError(
          `the tap ${old.name} is [${old.shape.join(", ")}] for one text and [${other?.shape.join(", ")}] for the other; swap between texts of as many tokens`,
        );
      return positions ? replacedAt(old, other, positions) : other.data;
    },
  };
}

/** All numbers of a tap are multiplied: by 0 they are left out. */
export const scaled = (tap: string, factor: number, { positions }: Pick<SwapOptions, "positions"> = {}): Change => ({
  tap,
  value(old) {
    const data = old.data.map((x) => factor * x);
    return positions ? replacedAt(old, { data }, positions) : data;
  },
});

/** The old numbers, with those of some positions replaced. */
function replacedAt(old: Activation, other: Pick<Activation, "data">, positions: readonly number[]): Float32Array {
  const axis = old.axes.findIndex((name) => name === "time" || name === "query" || name === "key");
  const count = old.shape[axis];
  const wrong = positions.find((position) => !(Number.isInteger(position) && position >= 0 && position < count));
  if (wrong !== undefined) throw new ConfigError(`there is no position ${wrong} to swap; the tap ${old.name} has ${count}, counted from 0`);
  const inner = old.shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  return old.data.map((value, i) => (positions.includes(Math.floor(i / inner) % count) ? other.data[i] : value));
}
