import type { Architecture, ModelName } from "../models/any.ts";
import type { ConfigReader } from "./config-reader.ts";

// One table per family of Hugging Face models: its config and the names of its tensors. Read forwards it imports, read backwards it exports.

/** A config.json, or another file of that kind, as it was parsed. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** How rows of theirs become rows of ours; each way can be gone back. */
export type Turn =
  /** Theirs is [in, out], ours [out, in]. */
  | { readonly kind: "transpose" }
  /** Row i of ours is row `rows[i]` of theirs. Rows of theirs that nobody reads are 0 when they are written. */
  | { readonly kind: "rows"; readonly rows: readonly number[] }
  /** Ours is theirs + `number`: Gemma's norms multiply by 1 + weight. */
  | { readonly kind: "add"; readonly number: number };

/** A tensor of theirs. */
export interface Piece {
  readonly name: string;
  /** As it lies in their file. */
  readonly shape: readonly number[];
  readonly turn?: Turn;
}

/** A parameter of ours: the tensors of theirs that it is made of, one below the other; or, of those that no file holds, its numbers. */
export type TensorRule = { readonly ours: string } & ({ readonly theirs: readonly Piece[] } | { readonly made: () => Float32Array });

/** Settings of a model under the names of its config, to be checked by `modelConfig`. */
export type ModelSettings = Readonly<Record<string, unknown>> & { readonly model: ModelName };

export interface FamilyModel {
  readonly model: ModelSettings;
  /** Names of labels or tags, in the order of their scores. */
  readonly labels?: readonly string[];
}

/** What a config.json is written from. */
export interface Written {
  /** The config.json that the model came with, where it came from outside. */
  readonly original?: JsonObject;
  readonly labels?: readonly string[];
}

/** What is known of one family of models. */
export interface Family {
  readonly name: string;
  /** What config.json calls it, `model_type`. */
  readonly modelTypes: readonly string[];
  /** The classes of Python that it is read from; the first one where a config.json names none. */
  readonly architectures: readonly string[];
  /** What stands in front of every name of theirs but the head's; files of a base model leave it out. */
  readonly prefix: string;
  /** Their config.json as a model of ours. What it does not ask the reader for is not understood. */
  read(hf: ConfigReader, architecture: string): FamilyModel;
  /** A model of ours as their config.json, or the reasons why there is none. */
  write(model: Architecture, from: Written): { readonly config: JsonObject } | { readonly reasons: readonly string[] };
  /** Every parameter of ours and what it is made of. */
  tensors(model: Architecture): readonly TensorRule[];
  /** Tensors of their files that mean nothing to the computation: buffers, and copies of tied weights. */
  ignores?(name: string, model: Architecture): boolean;
  /** Tensors that are not read and written again all the same, because Python's class has them: gives their name there. */
  keeps?(name: string, model: Architecture): string | undefined;
  /** How its classifiers gather a text, where it has such. */
  readonly classifier?: { readonly pool: "first"; readonly pooler: "tanh" | "relu" };
  /** Parts that are never trained, because its files do not hold them. */
  readonly fixed?: readonly string[];
  /** Other names that older files have for a tensor. */
  alsoCalled?(name: string): readonly string[];
}

/** One tensor as it is. */
export const same = (ours: string, name: string, shape: readonly number[]): TensorRule => ({ ours, theirs: [{ name, shape }] });

/** A matrix that they keep [in, out]. */
export const transposed = (ours: string, name: string, [from, out]: readonly [from: number, out: number]): TensorRule => ({
  ours,
  theirs: [{ name, shape: [from, out], turn: { kind: "transpose" } }],
});

/** Several tensors of theirs, one below the other. */
export const joined = (ours: string, theirs: readonly Piece[]): TensorRule => ({ ours, theirs });

/** A part of their rows, from `from` on. */
export const rowsFrom = (from: number, count: number): Turn => ({ kind: "rows", rows: Array.from({ length: count }, (_, i) => from + i) });

/** x Wᵀ + b, which has the same shape in PyTorch; `bias` false if there is none. */
export function denseRules(ours: string, theirs: string, [out, from]: readonly [out: number, from: number], bias = true): TensorRule[] {
  const weight = same(`${ours}/weight`, `${theirs}.weight`, [out, from]);
  return bias ? [weight, same(`${ours}/bias`, `${theirs}.bias`, [out])] : [weight];
}

/** A norm's scale, and its bias where it has one. */
export function normRules(ours: string, theirs: string, width: number, bias = true): TensorRule[] {
  const scale = same(`${ours}/scale`, `${theirs}.weight`, [width]);
  return bias ? [scale, same(`${ours}/bias`, `${theirs}.bias`, [width])] : [scale];
}
