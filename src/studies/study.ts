import type { Trained } from "../library/trained.ts";
import type { ModelName } from "../models/any.ts";
import type { TrainingConfig } from "../runs/config.ts";
import type { Pair } from "../text/examples.ts";

/** Data that a study makes itself; it is written into the study's folder, as files that anybody can train on. */
export interface MadeData {
  readonly name: string;
  readonly ending: "txt" | "jsonl";
  make(): Promise<{ readonly train: string; readonly valid: string }>;
}

/** Pairs as a .jsonl file has them. */
export const jsonLines = (pairs: readonly Pair[]): string => pairs.map((pair) => `${JSON.stringify(pair)}\n`).join("");

/** What was found out about one row. */
export interface Measured {
  /** The columns of the table. */
  readonly figures: Readonly<Record<string, number>>;
  /** Further tables by their titles, with their columns: an error by length, say. */
  readonly breakdowns?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export type Measure = (run: Trained) => Promise<Measured>;

/** One model of a comparison. */
export interface Row {
  /** Its run is in a folder of this name. */
  readonly name: string;
  /** What is special about it. */
  readonly what: string;
  /** A recipe by its name, or data of the study's own. */
  readonly data: string | MadeData;
  /** Whether the recipe's long setting is taken. */
  readonly full?: boolean;
  /** Over those of the recipe. A row of another architecture than the recipe's takes nothing but the context from it. */
  readonly model?: Readonly<Record<string, unknown>> & { readonly model?: ModelName };
  readonly training?: Partial<TrainingConfig>;
  readonly tokenizer?: string;
  readonly measure: Measure;
}

/** A comparison of models: what is trained, for how long, and how it is measured. */
export interface Study {
  readonly name: string;
  readonly teaches: string;
  /** How long each row is trained; left out where each takes the steps of its own settings. */
  readonly minutes?: number;
  readonly rows: readonly Row[];
}
