import { either, type Sentence, sentence, setting, type Value } from "../base/sentence.ts";
import type { Option } from "../models/option.ts";
import { options } from "../training/options.ts";
import type { RunConfig } from "./config.ts";
import type { RunSettings } from "./prepare.ts";

type Values = Readonly<Record<string, unknown>>;

/** What is said of settings that were given another value than the usual one, and do nothing beside the others: the rate of `wsd`'s decay with a cosine. */
export function idleSettings(
  given: Pick<RunSettings, "model" | "training">,
  config: Pick<RunConfig, "task" | "model" | "training">,
): Sentence[] {
  const valueIn = (from: { readonly model?: unknown; readonly training?: unknown }, name: string): unknown =>
    name.startsWith("model.")
      ? (from.model as Values | undefined)?.[name.slice("model.".length)]
      : (from.training as Values | undefined)?.[name];
  return options.flatMap((option) => {
    const { name, usual, models } = option;
    const value = valueIn(given, name);
    if (value === undefined || value === usual || (models && !models.some((one) => one === config.model.model))) return [];
    const missing = missingFor(option, config.task, (other) => valueIn(config, other));
    return missing
      ? [
          sentence`${setting(lastOf(name), value === false ? false : undefined)} has no effect here: it is for ${missing.wanted}, and this is ${missing.found}`,
        ]
      : [];
  });
}

function missingFor({ tasks, needs = {} }: Option, task: string, valued: (name: string) => unknown) {
  if (tasks && !tasks.some((one) => one === task))
    return { wanted: either(tasks.map((one) => setting("task", one))), found: sentence`${setting("task", task)}` };
  for (const [other, wanted] of Object.entries(needs)) {
    const found = valued(other);
    if (found === undefined || wanted.some((one) => one === found)) continue; // what is not known here, such as the kind of a tokenizer, is refused elsewhere
    return { wanted: sentence`${setting(lastOf(other), wanted)}`, found: sentence`${setting(lastOf(other), found as Value)}` };
  }
}

const lastOf = (name: string): string => name.split(".").at(-1) ?? name;
