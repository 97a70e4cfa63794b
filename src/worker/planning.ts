import { ConfigError } from "../base/errors.ts";
import { pause } from "../base/turns.ts";
import { cost } from "../cost/cost.ts";
import { type CostFacts, costFactsOf, type FactsOptions } from "../cost/facts.ts";
import { materialOf } from "../data/material.ts";
import { askedFor } from "../library/train.ts";
import type { ModelConfig } from "../models/any.ts";
import { deviceOf } from "../node/devices.ts";
import { countedModel } from "../runs/counted-model.ts";
import { dataSettings, type RunSettings, settle } from "../runs/prepare.ts";
import { type DataRead, readData } from "../runs/read-data.ts";
import { guessedMinutes } from "../runs/within-minutes.ts";
import { type Keeps, keepsOf } from "../runtime/pipeline.ts";
import type { TrainingPlan } from "./found.ts";
import type { IntakeOptions } from "./intake.ts";
import type { Job, JobAnswers } from "./messages.ts";
import { Readings, storedOnce } from "./readings.ts";
import { atSettings } from "./setting-path.ts";
import { ownSettings } from "./training.ts";

// What a training would be, and what a model costs, before anything of it is begun.

const readings = new Readings();

export const planned = (work: Extract<Job, { kind: "plan" }>, intake: IntakeOptions): Promise<JobAnswers["plan"]> =>
  atSettings(async () => {
    if (work.data.length === 0) throw new ConfigError("there is no data yet to train on; give a file, a text or rows", { path: "data" });
    const { files, settings } = await ownSettings(work, intake, storedOnce);
    intake.signal.throwIfAborted();
    const { asked } = askedFor(files, settings);
    const read = (signal: AbortSignal) => readData(dataSettings(asked), { cache: intake.home.cache, signal });
    return readings.use(readingKey(asked), read, intake.signal, (found) => planOf(asked, found, intake.signal));
  });

/** All that what is read depends on. */
function readingKey({ task, source, tokenizer, vocab, lowercase, normalize, from }: RunSettings): string {
  const parent = from && [from.folder, from.config.tokenizer.sha256, from.config.labels];
  return JSON.stringify([task, source, tokenizer, vocab, lowercase, normalize, parent]);
}

async function planOf(settings: RunSettings, read: DataRead, signal: AbortSignal): Promise<TrainingPlan> {
  const asked = await guessedMinutes(settings, read, { clock: () => performance.now() / 1000 });
  const { config, warnings, layout, trained, matrices } = settle(asked, read);
  const { model, training, labels } = config;
  const material = materialOf(read.encoded, config, read.tokenizer); // its ids are the reading's, which closes them
  const { tokens, examples, valid, lengths } = amountsOf(read, model.context);
  const { steps, batch, accumulate, optimizer, average } = training;
  const [length, sourceLength] = [...lengths].reverse(); // of pairs, the source comes first
  const found = await counted(
    model,
    {
      batch,
      length,
      ...(sourceLength !== undefined && { sourceLength }),
      optimizer,
      accumulate,
      trained,
      matrices,
      ...(average !== undefined && { average }),
      keeps: keepsOf(training),
    },
    signal,
  );
  const tokensPerStep = Math.round(batch * accumulate * lengths.reduce((sum, one) => sum + one, 0));
  return {
    task: read.task,
    model,
    training,
    parameters: layout.total + (training.lora ? trained : 0), // an adapter's stand beside
    trained,
    tokens,
    examples,
    valid,
    ...(read.longest !== undefined && { longest: read.longest }),
    vocab: read.tokenizer.size,
    tokenizer: read.tokenizer.kind,
    ...(labels && { labels }),
    tokensPerStep,
    epochs: (steps * batch * accumulate) / Math.max(1, examples),
    flops: steps * tokensPerStep * (found.flopsPerToken.training ?? 0),
    cost: found,
    warnings: [...warnings.flat().map(String), ...material.warnings, ...(training.minutes === undefined ? [] : [guessedSentence])],
  };
}

const guessedSentence = "how many steps fit into the minutes is a guess; a short trial finds out when training begins";

interface Amounts extends Pick<TrainingPlan, "tokens" | "examples" | "valid"> {
  /** Of what a step sees, of source and target: that of windows, or the mean of examples. */
  readonly lengths: readonly number[];
}

function amountsOf({ encoded }: DataRead, context: number): Amounts {
  if (encoded.kind === "text") {
    const windows = (count = 0) => Math.max(0, Math.floor((count - 1) / context));
    const { length } = encoded.train.ids;
    return { tokens: length, examples: windows(length), valid: windows(encoded.valid?.ids.length), lengths: [context] };
  }
  const { train, valid, layout } = encoded;
  const sums: number[] = [];
  for (const example of train) for (const [i, one] of layout.lengths(example).entries()) sums[i] = (sums[i] ?? 0) + Math.min(one, context);
  return {
    tokens: sums.reduce((all, one) => all + one, 0),
    examples: train.length,
    valid: valid.length,
    lengths: sums.map((sum) => Math.max(1, Math.round(sum / train.length))),
  };
}

interface Counting extends FactsOptions {
  readonly batch?: number;
  readonly length?: number;
  readonly sourceLength?: number;
  readonly decode?: number;
  readonly keeps?: Keeps;
}

/** Costs that were counted, the one not asked for longest first: a learning rate changes none. */
const known = new Map<string, CostFacts>();
const mostKnown = 16;

async function counted(
  model: ModelConfig,
  { batch, length, sourceLength, decode, keeps, ...options }: Counting,
  signal: AbortSignal,
): Promise<CostFacts> {
  const key = JSON.stringify([model, batch, length, sourceLength, decode, keeps, options]);
  await pause(); // whoever has gone on typing has said so by now
  signal.throwIfAborted();
  const before = known.get(key);
  const facts =
    before ??
    costFactsOf(
      await cost(model, {
        ...{ batch, length, sourceLength, decode, keeps, signal },
        optimizer: options.optimizer,
        device: deviceOf(undefined),
      }),
      options,
    );
  known.delete(key);
  known.set(key, facts);
  for (const oldest of known.keys()) if (known.size > mostKnown) known.delete(oldest);
  return facts;
}

export const costed = ({ settings }: Extract<Job, { kind: "cost" }>, { signal }: IntakeOptions): Promise<JobAnswers["cost"]> =>
  atSettings(async () => {
    const { model = {}, batch = 1, optimizer, accumulate, preset, length, sourceLength, decode, tokens, ...chosen } = settings;
    for (const [path, value] of Object.entries({ length, sourceLength, decode })) refuseUncountable(path, value);
    const asked = { batch, ...(optimizer && { optimizer }), ...(accumulate !== undefined && { accumulate }) };
    const { config, training } = countedModel({ preset, ...chosen }, model as Readonly<Record<string, unknown>>, asked);
    const extent = { batch, length, sourceLength, decode };
    return counted(config, { ...extent, optimizer: training.optimizer, accumulate: training.accumulate, tokens, preset }, signal);
  });

function refuseUncountable(path: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw new ConfigError(`${path}: a whole number from 1 on is wanted, not ${JSON.stringify(value)}`, { code: "config.range", path });
}
