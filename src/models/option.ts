import type { Task } from "../text/columns.ts";
import type { ModelName } from "./any.ts";

// What an option is, for whoever writes its flag or its field. All of it is plain data: a page reads it without a model.

export interface OptionChoice {
  readonly name: string;
  readonly what: string;
}

export type OptionKind =
  | {
      readonly kind: "number";
      readonly from: number;
      readonly to: number;
      readonly whole: boolean;
      /** Whether `from` or `to` itself is too small or too large. */
      readonly above?: true;
      readonly below?: true;
    }
  | { readonly kind: "choice"; readonly choices: readonly OptionChoice[] }
  | { readonly kind: "switch" }
  | { readonly kind: "text" };

export type OptionValue = string | number | boolean;

export const optionGroups = [
  { name: "task", title: "Task and data" },
  { name: "tokenizer", title: "Tokenizer" },
  { name: "size", title: "Size" },
  { name: "attention", title: "Attention" },
  { name: "positions", title: "Positions" },
  { name: "block", title: "Norms and blocks" },
  { name: "ends", title: "Embeddings and scores" },
  { name: "recurrent", title: "Recurrent cell" },
  { name: "schedule", title: "Steps and learning rate" },
  { name: "optimizer", title: "Optimizer" },
  { name: "restraint", title: "Against overfitting" },
  { name: "start", title: "Start and adapter" },
  { name: "watching", title: "Measuring and saving" },
  { name: "machine", title: "Machine" },
] as const;
export type OptionGroup = (typeof optionGroups)[number]["name"];

interface Words {
  /** Its place in the settings of a training: `model.width`, `steps`, `lora.rank`. */
  readonly name: string;
  readonly group: OptionGroup;
  /** In a few words, as a flag is explained. */
  readonly what: string;
  /** Of a switch that is usually on: what leaving it out means. */
  readonly without?: string;
  /** In a sentence or two: what it does to a model, and when to change it. */
  readonly explanation: string;
  /** What it is if left out, where that is always the same. */
  readonly usual?: OptionValue;
  /** How it is chosen if left out, where it depends on something. */
  readonly chosen?: string;
  /** The models and the tasks that it has a meaning for; all if left out. */
  readonly models?: readonly ModelName[];
  readonly tasks?: readonly Task[];
  /** Other options that must have one of these values for it to have a meaning. */
  readonly needs?: Readonly<Record<string, readonly OptionValue[]>>;
}

export type Option = Words & OptionKind;

type Plain = Omit<Words, "name" | "what" | "explanation" | "group">;

export const number = (from: number, to: number, whole = true): OptionKind => ({ kind: "number", from, to, whole });
/** A number above 0. */
export const positive = (to: number): OptionKind => ({ kind: "number", from: 0, to, whole: false, above: true });
/** From 0 to below 1. */
export const share: OptionKind = { kind: "number", from: 0, to: 1, whole: false, below: true };
export const choice = (words: Readonly<Record<string, string>>): OptionKind => ({
  kind: "choice",
  choices: Object.entries(words).map(([name, what]) => ({ name, what })),
});
export const toggle: OptionKind = { kind: "switch" };
export const text: OptionKind = { kind: "text" };

/** Options of one group: name, kind, what it is, what it does, and the rest. */
export const grouped = (
  group: OptionGroup,
  all: readonly (readonly [name: string, kind: OptionKind, what: string, explanation: string, more?: Plain])[],
): Option[] => all.map(([name, kind, what, explanation, more]) => ({ name, group, what, explanation, ...more, ...kind }));
