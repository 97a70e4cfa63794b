import { ConfigError } from "../base/errors.ts";
import { cacheFolder } from "../data/cache.ts";
import type { Rows } from "../data/source.ts";
import type { DecoderInput, EncoderDecoderInput, EncoderInput, RnnInput } from "../models/config.ts";
import type { Definition, OwnModel } from "../models/own.ts";
import { type DeviceChoice, type DeviceName, resolved } from "../node/devices.ts";
import type { ClassWeights } from "../runs/class-weights.ts";
import type { TrainingConfig } from "../runs/config.ts";
import type { RunEvent, TrainResult } from "../runs/drive.ts";
import { openModel } from "../runs/open-model.ts";
import type { LoraSettings, RunSettings } from "../runs/prepare.ts";
import type { Changes } from "../runs/resume.ts";
import { resumeRun, trainRun } from "../runs/train-run.ts";
import type { Device } from "../runtime/device.ts";
import type { Task } from "../text/examples.ts";
import type { GivenRows } from "../text/given.ts";
import type { NormalForm } from "../tokens/index.ts";
import type { Warned } from "../trained/reading.ts";
import { type Data, type DataSettings, sourceOf } from "./rows.ts";
import { open, Trained } from "./trained.ts";
import { processWarning } from "./warnings.ts";

/** Any setting of any model; the vocabulary and the labels come from the data. */
export type ModelSettings =
  | Partial<Omit<DecoderInput, "vocab">>
  | Partial<Omit<EncoderInput, "vocab" | "labels" | "labelling">>
  | Partial<Omit<EncoderDecoderInput, "vocab" | "sourceVocab">>
  | Partial<Omit<RnnInput, "vocab" | "sourceVocab">>
  /** Or a model of one's own. */
  | OwnModel;

/** What training needs of the machine. */
interface HostSettings extends Warned {
  /** Where tokenised text is kept; ~/.cache/qkv if left out. */
  readonly cache?: string;
  /** What computes, or its name, which the run remembers; the processor if left out, or where the run was trained before. */
  readonly device?: Device | DeviceChoice;
  /** Called with everything that happens. A promise that it gives back is waited for: so long, training rests. */
  readonly listen?: (event: RunEvent) => unknown;
  /** Aborted, training saves a checkpoint after the step under way, and the promise is rejected with the signal's reason; `resume` goes on. */
  readonly signal?: AbortSignal;
}

export interface TrainSettings extends Partial<Omit<TrainingConfig, "classWeights" | "lora" | "device">>, HostSettings, DataSettings {
  /** The run folder; runs/<name>-<task> if left out. */
  readonly out?: string;
  readonly overwrite?: boolean;
  readonly task?: Task;
  /** char, byte, word, bpe, wordpiece, unigram, or the path of a tokenizer.json. */
  readonly tokenizer?: string;
  readonly vocab?: number;
  /** Whether the tokenizer reads everything in lower case, and in which Unicode normal form; saved with it. */
  readonly lowercase?: boolean;
  readonly normalize?: NormalForm;
  readonly model?: ModelSettings;
  /** How much each class counts: "balanced", or a number for some labels. */
  readonly classWeights?: ClassWeights;
  /** A run whose weights are the start: its folder, or the run itself. Its tokenizer and its model are those of the new run. */
  readonly from?: string | Trained;
  /** LoRA: an adapter beside the weights of `from`, which stay as they are; its rank, or more of it. */
  readonly lora?: number | LoraSettings;
}

/** A trained model, and how its training went. */
export type Finished = Trained & { readonly result: TrainResult };

/** Trains on files, as `qkv train` does, or on rows in memory, and opens the run that comes of it. */
export async function train(data: Data, settings: TrainSettings = {}): Promise<Finished> {
  const { asked, rows, models, settled } = askedFor(data, settings);
  const { out, overwrite } = settings;
  return finished(trainRun(out, asked, { overwrite, ...host(settled, rows) }), settled, models);
}

/** What a program has given, as a run is asked for. */
export function askedFor(data: Data, settings: TrainSettings) {
  const {
    out: _,
    overwrite: __,
    task,
    tokenizer,
    vocab,
    lowercase,
    normalize,
    model,
    classWeights,
    from,
    lora: given,
    ...others
  } = settings;
  const lora = typeof given === "number" ? { rank: given } : given;
  const { valid, validFraction, columns, cache, device: wanted, listen, warn, signal, ...training } = others;
  const device = settledDevice(wanted);
  const { source, rows } = sourceOf(data, { valid, validFraction, columns });
  if (from !== undefined && typeof from !== "string" && !(from instanceof Trained))
    throw new ConfigError("from is the folder of a run, or a run that was opened or trained; is an await missing?", {
      code: "config.type",
      path: "from",
    });
  const parent = typeof from === "string" ? openModel(from) : from?.run;
  const own = model && "define" in model ? model : parent?.config.model.model === "own" ? parent.config.model : undefined;
  const models = own && [own.define];
  const asked: RunSettings = {
    ...{ task, source, tokenizer, vocab, lowercase, normalize, model, classWeights, from: parent, lora },
    training: { ...training, ...remembered(device) },
  };
  return { asked, rows, models, settled: { cache, device, listen, warn, signal } };
}

export interface ResumeSettings extends Omit<Changes, "device">, HostSettings {
  /** The rows, for a run that was trained on rows in memory: the same in the same order. */
  readonly data?: GivenRows;
  readonly valid?: GivenRows;
  /** The definitions of models of one's own, by which a run of one of them is known. */
  readonly models?: readonly Definition[];
}

/** Goes on with a run exactly where it stopped, to more steps if they are given, and opens it. */
export async function resume(
  folder: string,
  { cache, device: wanted, listen, warn, signal, data, valid, models, ...changes }: ResumeSettings = {},
): Promise<Finished> {
  const device = settledDevice(wanted);
  const settled = { cache, device, listen, warn, signal };
  return finished(
    resumeRun(folder, { ...changes, ...remembered(device) }, { ...host(settled, data && { data, valid }), models }),
    settled,
    models,
  );
}

/** Which device "auto" is, is found out once. */
const settledDevice = (device: Device | DeviceChoice | undefined): Device | DeviceName | undefined =>
  typeof device === "string" ? resolved(device) : device;

/** A device by its name is a setting of the run. */
const remembered = (device: Device | DeviceName | undefined) => (typeof device === "string" ? { device } : {});

const host = ({ cache = cacheFolder(), device, signal }: HostSettings, rows?: Rows) => ({
  cache,
  device: typeof device === "string" ? undefined : device,
  signal,
  rows,
  clock: () => performance.now() / 1000,
});

async function finished(
  events: AsyncGenerator<RunEvent, TrainResult>,
  settings: HostSettings,
  models?: readonly Definition[],
): Promise<Finished> {
  const { device, listen, warn, signal } = settings;
  const tell = warn ?? processWarning();
  for (;;) {
    const { done, value } = await events.next();
    if (done) {
      if (value.ending === "interrupted") throw signal?.reason;
      return Object.assign(open(value.run, { device, warn, models }), { result: value });
    }
    if (value.kind === "warning" && tell) tell(value.sentence);
    await listen?.(value);
  }
}
