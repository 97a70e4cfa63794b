import { array, type HostArray } from "../base/arrays.ts";
import { ConfigError } from "../base/errors.ts";
import { encodePairs, encodeSource, tagUnits, targetStart } from "../batches/encode.ts";
import { translateIds } from "../generation/translator.ts";
import { described, givesSeveral, hasClassToken, type ModelConfig, modelLoss, readsSource, taskOf } from "../models/any.ts";
import type { Arrays } from "../runtime/session.ts";
import { around, begun } from "../tokens/around.ts";
import { fitted, shownPiece, teller, unknownIn, unknownSentence, type Warned } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";

// One text as a model reads it: the ids that are fed, and a label for each position.

export interface ReadingOptions extends Warned {
  /** What a model with a source should have written; its own greedy answer if left out. */
  readonly target?: string;
  /** Which part of a text is read that is longer than the context; the first if left out. */
  readonly keep?: "first" | "last";
  /** Aborted, it leaves off before the next run of the engine, and throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface Reading {
  readonly feeds: Arrays;
  readonly signal?: AbortSignal;
  /** A label for each position of the text. */
  readonly tokens: readonly string[];
  /** The target, where there is a source: what the decoder reads (`<s>` first) and what it should say there (`</s>` last). */
  readonly target?: { readonly read: readonly string[]; readonly said: readonly string[] };
}

/** How the position is labelled that a classifier with a class token puts in front. */
export const classToken = "<class>";

/** A text; or, for a model that is fed something else, its inputs by name, as a batch of one. */
export type Read = string | Arrays;

export async function readingOf(run: TrainedModel, text: Read, options: ReadingOptions = {}): Promise<Reading> {
  const { model } = run;
  const { signal } = options;
  signal?.throwIfAborted();
  if (typeof text !== "string") return { ...fedReading(run, text), signal };
  if (model.model === "own" && model.reads === "other")
    throw new ConfigError(`${described(model)} reads no text; give its inputs by name: ${inputsOf(model).join(", ")}`);
  if (readsSource(model)) return pairReading(run, text, options);
  if (options.target !== undefined)
    throw new ConfigError("a target is for models that translate; this one reads one text only, so leave the target out");
  const task = taskOf(model);
  const ids = readable(run, "text", idsOf(run, text), options);
  const tokens = piecesOf(run, ids);
  if (task === "lm") return { feeds: { ids: row(ids), targets: row(shifted(ids)) }, tokens, signal };
  const unknown = (count: number) => row(new Int32Array(count).fill(-1));
  const several = givesSeveral(model);
  const unknownAnswer =
    task === "tag" || task === "mlm" ? unknown(ids.length) : several ? unknown(run.labels.length) : array("int32", [-1]);
  const feeds = { ids: row(ids), lengths: array("int32", [ids.length]), targets: unknownAnswer };
  return { feeds, signal, tokens: hasClassToken(model) ? [classToken, ...tokens] : tokens };
}

const inputsOf = (model: ModelConfig): string[] => Object.keys(modelLoss(model).inputs).filter((name) => name !== "targets");

/** What is fed as it is. The right answers may be left out of it. */
function fedReading({ model }: TrainedModel, feeds: Arrays): Reading {
  const many = Object.entries(feeds).find(([, { shape }]) => shape[0] !== 1);
  if (many)
    throw new ConfigError(
      `"${many[0]}" is [${many[1].shape.join(", ")}]; what is looked at is a batch of one, so its first size must be 1`,
    );
  if (feeds.targets) return { feeds, tokens: [] };
  if (taskOf(model) === "classify" || taskOf(model) === "embed") return { feeds: { ...feeds, targets: array("int32", [-1]) }, tokens: [] };
  const [rows, time] = (feeds.target ?? feeds.ids ?? Object.values(feeds)[0]).shape;
  return { feeds: { ...feeds, targets: array("int32", new Int32Array(rows * time).fill(-1), [rows, time]) }, tokens: [] };
}

async function pairReading(run: TrainedModel, text: string, options: ReadingOptions): Promise<Reading> {
  const { tokenizer } = run;
  if (tokenizer.encode(text).length === 0) throw nothing("text");
  const source = readable(run, "text", encodeSource(text, tokenizer), options);
  const { read, said } = options.target === undefined ? await written(run, source, options) : given(run, options.target);
  const [target, targets] = [readable(run, "target", read, options), said.subarray(0, run.model.context)];
  return {
    feeds: { source: row(source), lengths: array("int32", [source.length]), target: row(target), targets: row(targets) },
    signal: options.signal,
    tokens: piecesOf(run, source),
    target: { read: piecesOf(run, target), said: piecesOf(run, targets) },
  };
}

interface TargetIds {
  readonly read: Int32Array;
  readonly said: Int32Array;
}

function given({ tokenizer }: TrainedModel, target: string): TargetIds {
  const [pair] = encodePairs([{ source: "", target }], tokenizer);
  return { read: pair.target, said: pair.targets };
}

/** The model's own answer, the likeliest token each time, as far as the context reaches. */
async function written(run: TrainedModel, source: Int32Array, { signal }: ReadingOptions): Promise<TargetIds> {
  const { end = 0 } = run.tokenizer;
  const [start, ...before] = targetStart(run.tokenizer);
  const [{ tokens }] = await translateIds(run, [source], { signal });
  const said = Int32Array.of(...before, ...tokens, end);
  return { read: Int32Array.of(start, ...said.subarray(0, -1)).subarray(0, run.model.context), said };
}

/** No longer than the context, and not empty. */
function readable(run: TrainedModel, what: string, ids: Int32Array, { keep = "first", ...options }: ReadingOptions): Int32Array {
  if (ids.length === 0) throw nothing(what);
  const { model, tokenizer } = run;
  const warn = teller(options, run);
  const kept = fitted(ids, model.context, { what, keep, warn, ...(what === "text" && taskOf(model) !== "lm" && { tokenizer }) });
  for (const sentence of unknownSentence(unknownIn(kept, tokenizer), what)) warn(sentence);
  return kept;
}

const nothing = (what: string): ConfigError => new ConfigError(`there is no token in the ${what} to look at; give one that is not empty`);

/** What is read of a text: with what the tokenizer wants before it, and, where nothing is to go on, after it. */
function idsOf({ tokenizer, model }: TrainedModel, text: string): Int32Array {
  const task = taskOf(model);
  const ids = task === "tag" ? Int32Array.from(tagUnits(text, tokenizer).flatMap((unit) => [...unit])) : tokenizer.encode(text);
  if (task === "lm") return begun(ids, tokenizer);
  return ids.length === 0 ? ids : around(ids, tokenizer);
}

const piecesOf = ({ tokenizer }: TrainedModel, ids: Int32Array): string[] => Array.from(ids, (id) => shownPiece(tokenizer, id));

/** What should come next at each position; nobody knows it for the last. */
const shifted = (ids: Int32Array): Int32Array => Int32Array.of(...ids.subarray(1), -1);

/** A batch of one. */
const row = (ids: Int32Array): HostArray => array("int32", ids, [1, ids.length]);
