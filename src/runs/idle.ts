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
  const idle = options.flatMap((option) => {
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
  return [...idle, ...byTheirNumbers(given, config)];
}

/** What numbers make of settings. */
function byTheirNumbers(
  { model: asked = {}, training: wanted = {} }: Pick<RunSettings, "model" | "training">,
  { model, training: { lr, minLr, schedule } }: Pick<RunConfig, "model" | "training">,
): Sentence[] {
  const falls = schedule !== "constant" && schedule !== "noam";
  const one = "valueResidual" in asked && asked.valueResidual && "layers" in model && model.layers === 1;
  return [
    ...(lr === 0 ? [sentence`${setting("lr", 0)} changes nothing: every step leaves the weights as they are`] : []),
    ...(falls && wanted.minLr !== undefined && minLr > lr
      ? [sentence`the learning rate rises from ${setting("lr", lr)} to ${setting("minLr", minLr)}, where it is usually told to fall`]
      : []),
    ...(one ? [sentence`${setting("valueResidual")} has no effect here: it is for layers after the first, and there is one`] : []),
  ];
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
