import { ConfigError } from "../base/errors.ts";
import { type DataSource, filesSource } from "../data/source.ts";
import { writeDurably } from "../disk/files.ts";
import { recipe } from "../recipes/index.ts";
import type { RecipeSettings } from "../recipes/recipe.ts";
import type { TrainingConfig } from "../runs/config.ts";
import { makeFolder } from "../runs/folder.ts";
import type { RunSettings } from "../runs/prepare.ts";
import type { MadeData, Row } from "./study.ts";

/** How long a row is trained: for so many minutes, for so many steps, or for the steps of its own settings. */
export interface Span {
  readonly minutes?: number;
  readonly steps?: number;
}

export const spanText = ({ minutes, steps }: Span): string => {
  const counted = (count: number, unit: string) => `${count} ${unit}${count === 1 ? "" : "s"} each`;
  if (steps !== undefined) return counted(steps, "step");
  return minutes === undefined ? "the steps of their own settings" : counted(minutes, "minute");
};

/** What a row is trained with, except for how long. Data that the study makes is written first. */
export async function settingsOf(row: Row, out: string, threads: number | undefined): Promise<RunSettings> {
  const { data, full = false } = row;
  if (typeof data !== "string") return { source: await written(data, out), ...overRecipe(row, {}, threads) };
  const { settings } = recipe(data);
  return { source: { kind: "recipe", name: data, full }, ...overRecipe(row, settings(full), threads) };
}

function overRecipe({ model, training, tokenizer }: Row, own: RecipeSettings, threads: number | undefined): Omit<RunSettings, "source"> {
  const another = model?.model !== undefined && model.model !== own.model?.model;
  const { context } = own.model ?? {};
  const kept = another ? { ...(context !== undefined && { context }) } : own.model;
  return {
    tokenizer: tokenizer ?? own.tokenizer,
    vocab: own.vocab,
    model: { ...kept, ...model },
    training: { ...own.training, ...training, ...(threads !== undefined && { threads }) } as Partial<TrainingConfig>,
  };
}

/** With another number of steps, of which the warm-up is a tenth at most. */
export function withSteps(settings: RunSettings, steps: number | undefined): RunSettings {
  if (steps === undefined) return settings;
  if (!(Number.isSafeInteger(steps) && steps >= 1)) throw new ConfigError(`a row is trained for a step or more, not for ${steps}`);
  const { warmup, ...training } = settings.training ?? {};
  return {
    ...settings,
    training: { ...training, ...(warmup !== undefined && { warmup: Math.min(warmup, Math.ceil(steps / 10)) }), steps },
  };
}

async function written({ name, ending, make }: MadeData, out: string): Promise<DataSource> {
  const { train, valid } = await make();
  const folder = `${out}/data`;
  makeFolder(folder);
  const file = (part: string) => `${folder}/${name}.${part}.${ending}`;
  writeDurably(file("train"), train);
  writeDurably(file("valid"), valid);
  return filesSource([file("train")], { valid: file("valid") });
}
