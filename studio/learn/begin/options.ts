import { type Option, type OptionGroup, optionGroups, text } from "../../../src/models/option.ts";
import { options } from "../../../src/training/options.ts";
import type { TrainingPlan } from "../../../src/worker/found.ts";
import { kind } from "../../compute/place.ts";
import { type Typed, usualValue } from "./settings.ts";

// The options of a training as a form has them: the important ones first, and of the others those that have a meaning.

export type { Option };

/** The dozen that are changed most. */
const important = [
  ...["task", "model.model", "tokenizer", "vocab", "model.layers", "model.heads", "model.width", "model.context"],
  ...["model.dropout", "steps", "batch", "lr"],
];

const roles = ["text", "label", "labels", "source", "target", "tags", "prompt", "completion", "messages"];

/** Names of columns are given beside files, so the table of options does not have them. */
const columns: readonly Option[] = roles.map((role) => ({
  ...text,
  name: `columns.${role}`,
  group: "task",
  what: `the column with the ${role}`,
  explanation: `The name of the column that holds the ${role}, if it is another.`,
  chosen: role,
}));

/** A page has one device, which was chosen when it began. */
const all: readonly Option[] = [...options, ...columns].filter(({ name }) => name !== "device" || kind === "house");

/** Those that have a meaning for this training; what was typed stays to be seen. */
export function optionsFor(plan: TrainingPlan | undefined, typed: Typed): readonly Option[] {
  const valued = (name: string): string => typed[name] ?? usualValue(name, plan);
  return all.filter(({ name, models, tasks, needs = {} }) => {
    if (!plan) return true;
    const model = "model" in plan.model ? plan.model.model : undefined;
    if (models && !models.some((one) => one === model)) return false;
    if (tasks && !tasks.some((one) => one === plan.task)) return false;
    if (typed[name] !== undefined) return true;
    return Object.entries(needs).every(([other, wanted]) => valued(other) === "" || wanted.some((one) => `${one}` === valued(other)));
  });
}

/** The option of a name; of two, that of this model. */
export const optionNamed = (name: string, found: readonly Option[] = all): Option | undefined => found.find((one) => one.name === name);

export interface OptionsOfGroup {
  readonly name: OptionGroup | "first";
  readonly title: string;
  readonly options: readonly Option[];
}

export function inGroups(found: readonly Option[]): readonly OptionsOfGroup[] {
  const first = important.flatMap((name) => optionNamed(name, found) ?? []);
  const others = found.filter((one) => !first.includes(one));
  return [
    { name: "first" as const, title: "The important ones", options: first },
    ...optionGroups.map(({ name, title }) => ({ name, title, options: others.filter(({ group }) => group === name) })),
  ].filter((group) => group.options.length > 0);
}
