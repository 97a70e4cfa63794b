import { cacheFolder } from "../data/cache.ts";
import { filesSource } from "../data/raw.ts";
import type { DecoderInput, EncoderDecoderInput, EncoderInput, RnnInput } from "../models/config.ts";
import type { TrainingConfig } from "../runs/config.ts";
import type { RunEvent, TrainResult } from "../runs/drive.ts";
import type { RunSettings } from "../runs/prepare.ts";
import { trainRun } from "../runs/train-run.ts";
import type { Columns, Task } from "../text/examples.ts";
import { open, type Trained } from "./trained.ts";

/** Any setting of any model; the vocabulary and the labels come from the data. */
export type ModelSettings =
  | Partial<Omit<DecoderInput, "vocab">>
  | Partial<Omit<EncoderInput, "vocab" | "labels">>
  | Partial<Omit<EncoderDecoderInput, "vocab" | "sourceVocab">>
  | Partial<Omit<RnnInput, "vocab" | "sourceVocab">>;

export interface TrainSettings extends Partial<TrainingConfig> {
  /** The run folder; runs/<name>-<task> if left out. */
  readonly out?: string;
  readonly overwrite?: boolean;
  readonly task?: Task;
  /** char, byte, word, bpe, wordpiece, unigram, or the path of a tokenizer.json. */
  readonly tokenizer?: string;
  readonly vocab?: number;
  readonly model?: ModelSettings;
  readonly valid?: string;
  readonly validFraction?: number;
  readonly columns?: Columns;
  /** Where tokenised text is kept; ~/.cache/qkv if left out. */
  readonly cache?: string;
  /** Called with everything that happens. */
  readonly listen?: (event: RunEvent) => void;
}

/** Trains on files, as `qkv train` does, and opens the run that comes of it. */
export async function train(
  files: string | readonly string[],
  settings: TrainSettings = {},
): Promise<Trained & { readonly result: TrainResult }> {
  const { out, overwrite, task, tokenizer, vocab, model, valid, validFraction, columns, cache, listen, ...training } = settings;
  const source = filesSource(typeof files === "string" ? [files] : files, { valid, validFraction, columns });
  const asked: RunSettings = { task, source, tokenizer, vocab, model, training };
  const clock = () => performance.now() / 1000;
  const events = trainRun(out, asked, { overwrite, clock, cache: cache ?? cacheFolder() });
  for (;;) {
    const { done, value } = await events.next();
    if (done) return Object.assign(open(value.run), { result: value });
    listen?.(value);
  }
}
