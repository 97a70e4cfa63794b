import type { PageTrainSettings } from "../../../src/worker/computer.ts";
import type { TrainingPlan } from "../../../src/worker/found.ts";
import type { TrainingOption } from "./options.ts";

// What was typed, and the settings that it means. What is no number stays what it is: whoever plans the training says what is wrong, and where.

export type Typed = Readonly<Record<string, string>>;

export function settingsOf(typed: Typed, options: readonly TrainingOption[]): PageTrainSettings {
  const settings: Record<string, unknown> = {};
  for (const [path, given] of Object.entries(typed)) {
    if (given.trim() === "") continue;
    const option = options.find((one) => one.path === path);
    const value = asValue(given.trim(), option?.value.kind);
    const [group, name] = path.split(".");
    if (name === undefined) settings[path] = value;
    else settings[group] = { ...(settings[group] as object | undefined), [name]: value };
  }
  return settings as PageTrainSettings;
}

function asValue(given: string, kind: TrainingOption["value"]["kind"] | undefined): string | number | boolean {
  if (kind === "switch" || ((given === "true" || given === "false") && kind !== "text")) return given === "true";
  if (kind === "text" || kind === "choice" || !Number.isFinite(Number(given))) return given;
  return Number(given);
}

/** What an option is where nothing was typed. */
export function usualValue(path: string, plan: TrainingPlan | undefined): string {
  if (!plan) return "";
  const [group, name] = path.split(".");
  const places: Readonly<Record<string, unknown>> = { ...plan.training, task: plan.task, tokenizer: plan.tokenizer, vocab: plan.vocab };
  const found = group === "model" ? (plan.model as unknown as Record<string, unknown>)[name] : places[path];
  return typeof found === "string" || typeof found === "number" || typeof found === "boolean" ? `${found}` : "";
}

/** Where a complaint belongs: the option of its path, or the one that its path begins with. */
export function optionAt(path: string | undefined, options: readonly TrainingOption[]): string | undefined {
  if (path === undefined) return undefined;
  return options.find((one) => one.path === path)?.path ?? options.find((one) => path.startsWith(`${one.path}.`))?.path;
}
