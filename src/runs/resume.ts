import { RunError } from "../base/errors.ts";
import { type Encoded, encodeRaw } from "../data/encoded.ts";
import { loadRaw } from "../data/raw.ts";
import { sourceName } from "../data/source.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { writeDurably } from "../disk/files.ts";
import { chatOf } from "../hub/chat.ts";
import { dataTask } from "../models/any.ts";
import { type RunConfig, runConfigText, type TrainingConfig, trainingConfig } from "./config.ts";
import type { TrainOptions } from "./drive.ts";
import { type OpenRun, openRun, paths } from "./folder.ts";

/** What may be different when a run goes on. */
export const changeable = ["steps", "evalEvery", "saveEvery", "partsEvery", "patience", "threads", "device"] as const;
export type Changes = { readonly [Name in (typeof changeable)[number]]?: TrainingConfig[Name] };

/** Opens a run to train on: the same data as before, or it is refused. Changes are written into its config. */
export async function reopen(
  folder: string,
  changes: Changes,
  { cache, rows, signal, models }: Pick<TrainOptions, "cache" | "rows" | "signal" | "models">,
): Promise<{ run: OpenRun; encoded: Encoded }> {
  const opened = openRun(folder, models);
  const { tokenizer } = opened;
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  const config: RunConfig = { ...opened.config, training: trainingConfig({ ...opened.config.training, ...given }) };
  const raw = await loadRaw(config.data.source, { task: dataTask(config.task), rows, signal });
  if (raw.sha256 !== config.data.sha256) throw new RunError(changedData(config), { code: "run.changed" });
  const taken = new Checkpoints(paths(folder).checkpoints).list().at(-1) ?? 0;
  const pointless = changes.steps !== undefined && changes.steps <= taken; // nothing will happen, so nothing is written down
  if (Object.keys(given).length > 0 && !pointless) writeDurably(paths(folder).config, runConfigText(config));
  const [{ labels }, chat] = [config, chatOf(config)];
  const encoded = await encodeRaw(raw, { tokenizer, tokenizerHash: config.tokenizer.sha256, labels, chat, cache, signal });
  return { run: { ...opened, config }, encoded };
}

function changedData({ data }: RunConfig): string {
  const what = data.source.kind === "recipe" ? `the data of ${sourceName(data.source)}` : sourceName(data.source);
  const cure = data.source.kind === "memory" ? "give the same rows in the same order" : "put the old data back";
  return `${what}: the data has changed since the run began (its SHA-256 was ${data.sha256.slice(0, 12)}…); ${cure}, or train a new run`;
}
