import type { Option } from "../../../src/models/option.ts";
import type { PageTrainSettings } from "../../../src/worker/computer.ts";
import type { TrainingPlan } from "../../../src/worker/found.ts";
import { folderOf } from "../../stores/names.ts";

// What was typed, and the settings that it means. What is no number stays what it is: whoever plans the training says what is wrong, and where.

export type Typed = Readonly<Record<string, string>>;

export function settingsOf(typed: Typed, options: readonly Option[]): PageTrainSettings {
  const settings: Record<string, unknown> = {};
  for (const [path, given] of Object.entries(typed)) {
    if (given.trim() === "") continue;
    const option = options.find((one) => one.name === path);
    const value = asValue(given.trim(), path, option?.kind);
    const [group, name] = path.split(".");
    if (name === undefined) settings[path] = value;
    else settings[group] = { ...(settings[group] as object | undefined), [name]: value };
  }
  return settings as PageTrainSettings;
}

const lists: readonly string[] = ["freeze", "lora.targets"];

function asValue(given: string, path: string, kind: Option["kind"] | undefined): unknown {
  if (path === "from") return given.startsWith("/") ? given : folderOf(given);
  if (path === "classWeights") return weightsOf(given);
  if (lists.includes(path)) return given.split(",").map((one) => one.trim());
  if (kind === "switch") return given === "true";
  if (kind === "text" || kind === "choice" || !Number.isFinite(Number(given))) return given;
  return Number(given);
}

/** `balanced`, or label=weight,label=weight. */
function weightsOf(given: string): unknown {
  const pairs = given.split(",").map((one) => one.split("="));
  if (!pairs.every((one) => one.length === 2)) return given === "none" ? undefined : given;
  return Object.fromEntries(pairs.map(([label, weight]) => [label.trim(), Number(weight)]));
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
export function optionAt(path: string | undefined, options: readonly Option[]): string | undefined {
  if (path === undefined) return undefined;
  return options.find((one) => one.name === path)?.name ?? options.find((one) => path.startsWith(`${one.name}.`))?.name;
}
