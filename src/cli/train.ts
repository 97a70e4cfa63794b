import { existsSync } from "node:fs";
import { type Command, Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import { cacheFolder } from "../data/cache.ts";
import { filesSource } from "../data/source.ts";
import type { ModelName } from "../models/any.ts";
import { preset } from "../models/presets.ts";
import type { Ranks } from "../processes/ranks.ts";
import { recipe } from "../recipes/index.ts";
import type { ClassWeights } from "../runs/class-weights.ts";
import type { RunConfig, Task, TrainingConfig } from "../runs/config.ts";
import type { RunEvent, TrainOptions, TrainResult } from "../runs/drive.ts";
import { openRun, paths } from "../runs/folder.ts";
import { openModel } from "../runs/open-model.ts";
import type { RunSettings } from "../runs/prepare.ts";
import { type Changes, changeable } from "../runs/resume.ts";
import { resumeRun, trainRun } from "../runs/train-run.ts";
import { taskNames } from "../text/columns.ts";
import { type NormalForm, normalForms } from "../tokens/normaliser.ts";
import type { Compression } from "../training/carrier.ts";
import { whatIs } from "../training/options.ts";
import { bareCommand } from "./commands.ts";
import { flagWords } from "./flag-words.ts";
import { addFlags, columnFlags, modelFlags, trainingFlags, typed, typedColumns, typedFlags } from "./flags.ts";
import { Interrupt } from "./interrupt.ts";
import { rankFlags, together } from "./ranks.ts";
import { duration, Progress } from "./terminal.ts";
import { classWeights, positive, scopes, share, wholeNumber } from "./values.ts";

const dataFlags: readonly Option[] = [
  new Option("--task <task>", whatIs("task")).choices(taskNames),
  new Option("--recipe <name>", "a ready task, with its own data and settings; see qkv recipes"),
  new Option("--full", "the long setting of the recipe; the quick one is the default"),
  new Option("--from <model>", whatIs("from")),
  new Option("--preset <name>", "model sizes by name: gpt2, gpt3-6.7b, transformer-base, …"),
  new Option("--tokenizer <kind>", whatIs("tokenizer")),
  new Option("--vocab <n>", whatIs("vocab")).argParser(wholeNumber),
  new Option("--lowercase", whatIs("lowercase")),
  new Option("--normalize <form>", whatIs("normalize")).choices(normalForms),
];

const loraFlags: readonly Option[] = [
  new Option("--lora <rank>", whatIs("lora.rank")).argParser(wholeNumber),
  new Option("--lora-alpha <n>", whatIs("lora.alpha")).argParser(positive),
  new Option("--lora-dropout <share>", whatIs("lora.dropout")).argParser(share),
  new Option("--lora-targets <names>", whatIs("lora.targets")).argParser(scopes),
];

const labelFlags: readonly Option[] = [new Option("--class-weights <how>", whatIs("classWeights")).argParser(classWeights)];

const splitFlags: readonly Option[] = [
  new Option("--valid <file>", "validation data"),
  new Option("--valid-fraction <share>", whatIs("validFraction")).argParser(share),
];

const placeFlags: readonly Option[] = [
  new Option("--out <run>", "the run folder (default runs/<name>-<task>)"),
  new Option("--overwrite", "replace the run that is in the folder"),
];

const runFlags: readonly Option[] = [
  new Option("--resume <run>", "go on exactly where a run stopped"),
  new Option("--quiet", "no progress"),
  new Option("--json", "print one line of JSON and nothing else, but progress and warnings on standard error"),
];

interface Options {
  readonly task?: Task;
  readonly recipe?: string;
  readonly full?: boolean;
  readonly from?: string;
  readonly lora?: number;
  readonly loraAlpha?: number;
  readonly loraDropout?: number;
  readonly loraTargets?: readonly string[];
  readonly preset?: string;
  readonly tokenizer?: string;
  readonly vocab?: number;
  readonly lowercase?: boolean;
  readonly normalize?: NormalForm;
  readonly classWeights?: ClassWeights;
  readonly valid?: string;
  readonly validFraction?: number;
  readonly out?: string;
  readonly overwrite?: boolean;
  readonly resume?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
  readonly mpi?: string;
  readonly shardOptimizer?: boolean;
  readonly compress?: Compression;
}

export const train = addFlags(
  bareCommand("train"),
  placeFlags,
  runFlags,
  dataFlags,
  loraFlags,
  labelFlags,
  splitFlags,
  columnFlags,
  modelFlags,
  trainingFlags,
  rankFlags,
);

train.action(async (data: string[], options: Options, command: Command) => {
  const events = options.resume === undefined ? newRun(data, options, command) : resumed(options.resume, data, command);
  const { mpi, compress } = options;
  await together({ clock, ...(mpi !== undefined && { mpi }), ...(compress && { compress }) }, (ranks) => followed(events, options, ranks));
});

const clock = () => performance.now() / 1000; // counted from the start of the process

function newRun(files: readonly string[], options: Options, command: Command) {
  const settings = settingsOf(files, options, command);
  return (host: TrainOptions, threads?: number) => {
    const training = { ...(threads !== undefined && { threads }), ...settings.training };
    return trainRun(options.out, { ...settings, training }, { ...host, overwrite: options.overwrite });
  };
}

function resumed(folder: string, files: readonly string[], command: Command) {
  const free = changeable.map((name) => flagWords.setting(name));
  const flags = [...placeFlags, ...dataFlags, ...loraFlags, ...labelFlags, ...splitFlags, ...columnFlags, ...modelFlags, ...trainingFlags];
  const fixed = flags.filter((flag) => typedFlags(command, [flag]).some((name) => !free.includes(name)));
  const known = fixed.length > 0 && existsSync(paths(folder).config);
  const [changed] = typedFlags(command, known ? otherThan(openRun(folder).config, fixed, command) : fixed);
  if (changed !== undefined) {
    const only = free.join(", ").replace(/, ([^,]*)$/, " and $1");
    throw new ConfigError(`${changed} cannot be changed when a run goes on; only ${only} can. Train a new run for another ${changed}`);
  }
  if (files.length > 0) throw new ConfigError(`a run goes on with its own data, so ${files[0]} cannot be given together with --resume`);
  return (host: TrainOptions, threads?: number) => {
    const changes = typed(command, trainingFlags) as Changes;
    return resumeRun(folder, changes, { ...host, ...(changes.threads === undefined && threads !== undefined && { mostThreads: threads }) });
  };
}

/** The flags that say something else than the run's own config, or something that it does not tell. */
function otherThan({ model, training }: RunConfig, flags: readonly Option[], command: Command): Option[] {
  const own = (flag: Option) => (modelFlags.includes(flag) ? model : trainingFlags.includes(flag) ? training : {});
  return flags.filter((flag) => {
    const settings: Readonly<Record<string, unknown>> = own(flag);
    return Object.entries(typed(command, [flag])).some(([name, value]) => JSON.stringify(settings[name]) !== JSON.stringify(value));
  });
}

/** What was asked for: the flags, over the recipe or the preset, over the defaults. */
function settingsOf(files: readonly string[], options: Options, command: Command): RunSettings {
  const flags = typed(command, modelFlags);
  const wanted = options.preset === undefined ? {} : withoutVocab(preset(options.preset));
  if (files.length > 0 && options.recipe !== undefined)
    throw new ConfigError(`a recipe has its own data, so ${files[0]} and --recipe ${options.recipe} cannot go together`);
  if (files.length === 0 && options.recipe === undefined && options.from !== undefined)
    throw new ConfigError(
      `--from wants data to go on with: qkv train <data> --from ${options.from}; with its own data a run goes on by --resume ${options.from}`,
    );
  if (files.length === 0) return recipeSettings(options, wanted, flags, command);
  if (options.valid !== undefined && options.validFraction !== undefined)
    throw new ConfigError("--valid brings its own validation data, so --valid-fraction has no meaning beside it");
  if (options.full) throw new ConfigError("--full is for recipes");
  return {
    task: options.task,
    source: filesSource(files, { ...options, columns: typedColumns(command) }),
    tokenizer: options.tokenizer,
    vocab: options.vocab,
    lowercase: options.lowercase,
    normalize: options.normalize,
    classWeights: options.classWeights,
    model: { ...wanted, ...flags },
    training: typed(command, trainingFlags) as Partial<TrainingConfig>,
    ...parentOf(options),
    ...loraOf(options),
  };
}

const parentOf = ({ from }: Options): Pick<RunSettings, "from"> => (from === undefined ? {} : { from: openModel(from) });

function loraOf({ lora: rank, loraAlpha: alpha, loraDropout: dropout, loraTargets: targets }: Options): Pick<RunSettings, "lora"> {
  if (rank !== undefined) return { lora: { rank, alpha, dropout, targets } };
  const [lone] = Object.entries({ "--lora-alpha": alpha, "--lora-dropout": dropout, "--lora-targets": targets }).filter(
    ([, value]) => value !== undefined,
  );
  if (lone) throw new ConfigError(`${lone[0]} is for an adapter; give its rank too, with --lora <rank>`);
  return {};
}

const withoutVocab = ({ model, config: { vocab: _, ...sizes } }: ReturnType<typeof preset>) => ({ ...sizes, model: model as ModelName });

function recipeSettings(
  options: Options,
  wanted: Readonly<Record<string, unknown>>,
  flags: Readonly<Record<string, unknown>>,
  command: Command,
): RunSettings {
  const { name, settings } = recipe(options.recipe ?? "book");
  const own = settings(options.full ?? false);
  for (const flag of typedFlags(command, [...columnFlags, ...splitFlags]))
    throw new ConfigError(`the recipe ${name} has its own data, so ${flag} has no meaning for it`);
  const goesOn = options.from !== undefined; // then the model and its tokenizer are another's
  const asked = typed(command, trainingFlags) as Partial<TrainingConfig>;
  const { steps, warmup, evalEvery, saveEvery, ...timeless } = (goesOn ? {} : (own.training ?? {})) as Partial<TrainingConfig>;
  const timed = asked.minutes === undefined ? { steps, warmup, evalEvery, saveEvery } : {}; // those of a recipe are for its own time
  return {
    task: options.task,
    source: { kind: "recipe", name, full: options.full ?? false },
    tokenizer: options.tokenizer ?? (goesOn ? undefined : own.tokenizer),
    vocab: options.vocab ?? (goesOn ? undefined : own.vocab),
    lowercase: options.lowercase,
    normalize: options.normalize,
    classWeights: options.classWeights,
    model: { ...(goesOn ? {} : own.model), ...wanted, ...flags },
    training: { ...timeless, ...given(timed), ...asked },
    ...parentOf(options),
    ...loraOf(options),
  };
}

/** Without what is undefined. */
const given = <Settings extends object>(settings: Settings): Partial<Settings> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Partial<Settings>;

/** What is said of flags for several ranks where there is one process. */
const alone = ({ shardOptimizer, compress }: Pick<Options, "shardOptimizer" | "compress">): string[] =>
  Object.entries({ "--shard-optimizer": shardOptimizer, "--compress": compress })
    .filter(([, value]) => value && value !== "none")
    .map(([flag]) => `${flag} has no effect here: it is for several ranks, and this is one process; start them with mpirun or srun`);

/** Runs, shows, and prints the result. */
async function followed(
  start: (host: TrainOptions, threads?: number) => AsyncGenerator<RunEvent, TrainResult>,
  { quiet, json, shardOptimizer, compress }: Options,
  ranks: Ranks | undefined,
): Promise<void> {
  const speaks = ranks?.group.leads ?? true;
  const interrupt = new Interrupt((sentence) => speaks && console.error(`\n${sentence}`));
  const progress = quiet || !speaks ? undefined : new Progress(process.stderr, clock, ranks?.library);
  for (const said of speaks ? (ranks?.warnings ?? alone({ shardOptimizer, compress })) : []) console.error(`warning: ${said}`);
  const group = ranks && { group: ranks.group, shardOptimizer: shardOptimizer ?? false };
  const events = start({ cache: cacheFolder(), clock, began: 0, signal: interrupt.signal, words: flagWords, ...group }, ranks?.threads);
  try {
    for (;;) {
      const { done, value } = await events.next();
      if (done) return finish(value, { quiet, json, clock, progress, speaks });
      if (value.kind === "ready") interrupt.canSave = true;
      if (progress) progress.show(value);
      else if (value.kind === "warning" && speaks) console.error(`warning: ${value.sentence}`);
    }
  } finally {
    interrupt.release();
  }
}

interface Ending {
  readonly quiet?: boolean;
  readonly json?: boolean;
  readonly clock: () => number;
  readonly progress?: Progress;
  /** Of many ranks one tells. */
  readonly speaks: boolean;
}

function finish({ ending, ...result }: TrainResult, { quiet, json, clock, progress, speaks }: Ending): void {
  progress?.end();
  if (ending === "interrupted") process.exitCode = 130;
  if (!speaks) return;
  const { steps, loss, validLoss, run, trainingSeconds, validationSeconds, savingSeconds, parameters, tokensPerSecond, exchangeSeconds } =
    result;
  const totalSeconds = clock();
  if (json)
    console.log(
      JSON.stringify({
        ...{ steps, loss, validLoss, trainingSeconds, validationSeconds, savingSeconds, totalSeconds, tokensPerSecond, parameters, run },
        ...(exchangeSeconds !== undefined && { exchangeSeconds }),
      }),
    );
  if (ending === "interrupted") {
    console.error(`stopped at step ${steps} and saved; go on with: qkv train --resume ${run}`);
    return;
  }
  if (quiet) return;
  const best = validLoss === null ? "" : `, best validation loss ${validLoss.toFixed(4)}`;
  console.error(
    loss === null ? nothingToDo(run, steps, ending) : `${steps} steps in ${duration(totalSeconds)}: loss ${loss.toFixed(4)}${best}`,
  );
  if (!json) console.log(run);
}

const nothingToDo = (run: string, steps: number, ending: TrainResult["ending"]): string =>
  ending === "patience"
    ? `${run} stopped at step ${steps}, because validation got no better; go on with: qkv train --resume ${run} --patience <more>`
    : `${run} already has its ${steps} steps; train longer with: qkv train --resume ${run} --steps <more>`;
