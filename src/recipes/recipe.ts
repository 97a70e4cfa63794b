import type { Wording } from "../base/sentence.ts";
import type { ModelName } from "../models/any.ts";
import type { Example, ExampleTask } from "../text/examples.ts";

/** Tests with examples longer than any that is trained on, by name. One called `2x` is measured as `accuracy2x`, or as `exact2x`. */
export type LongerTests = Readonly<Record<string, readonly Example[]>>;

/** Where a recipe's data comes from. */
export type RecipeData =
  /** A text that comes with the package; its last share is for validation, and for the test. */
  | { readonly kind: "text"; readonly file: string; readonly validFraction: number }
  /** Texts made by the recipe; those of the test are scored each by itself. */
  | { readonly kind: "made-text"; readonly train: string; readonly valid: string; readonly test: readonly string[] }
  /** Examples made or read by the recipe, in three parts. */
  | {
      readonly kind: "examples";
      readonly task: ExampleTask;
      readonly train: readonly Example[];
      readonly valid: readonly Example[];
      readonly test: readonly Example[];
      readonly longer?: LongerTests;
    };

/** What is left out is the task's default. */
export interface RecipeSettings {
  readonly tokenizer?: string;
  readonly vocab?: number;
  readonly model?: Readonly<Record<string, unknown>> & { readonly model?: ModelName };
  readonly training?: Readonly<Record<string, unknown>>;
}

/** One task of the lectures: its data, its settings, what it teaches and the result it should reach. */
export interface Recipe {
  readonly name: string;
  readonly teaches: Wording;
  /** What was reached, with the setting and the time that it took. */
  readonly result: string;
  readonly task: "lm" | ExampleTask;
  data(full: boolean): Promise<RecipeData>;
  settings(full: boolean): RecipeSettings;
}
