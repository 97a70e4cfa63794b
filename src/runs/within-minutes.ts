import type { Material } from "../data/material.ts";
import { deviceOf } from "../node/devices.ts";
import { freeMemoryOf } from "../runtime/device.ts";
import { alone } from "../training/group.ts";
import type { RunConfig } from "./config.ts";
import type { ChosenReport, TrainOptions } from "./drive.ts";
import { type Pace, paceOf, planned } from "./pace.ts";
import { adapterBeginning, type RunSettings, refuseTwoLengths, type Settlement, settle } from "./prepare.ts";
import type { DataRead } from "./read-data.ts";
import { flopsPerToken, type Means, mostEpochs, type Sizes, sizesFor } from "./sizes.ts";
import { productSpeed, trial } from "./trial.ts";

// A training that was asked to fit into a time: its sizes follow from the rule, its steps from a trial, and both become ordinary settings.

/** Of a product's speed, what training comes to before it is measured. */
const usualShare = { transformer: 0.5, rnn: 0.25 } as const;
/** Of the time that is left, for the steps; the rest is for validations and saves. */
const stepShare = 0.93;
const mostTrials = 3;
/** Fewer steps than this teach hardly anything. */
const few = 100;
/** Of the time, for all trials, and seconds of one at most. */
const [trialShare, mostTrialSeconds] = [0.05, 6];
/** Ranks also exchange what they have found. */
const exchange = 1.15;
/** Bytes a second that a disk takes, and bytes of a checkpoint with the weights beside it, for a parameter. */
const [diskSpeed, savedBytes] = [2e8, 16];

interface Host extends TrainOptions {
  /** When it all began. */
  readonly began: number;
  readonly materialFor: (config: RunConfig) => Material;
}

/** The same settings, where no minutes are given; else with sizes, steps and validations for them. */
export async function withinMinutes(
  settings: RunSettings,
  read: DataRead,
  { began: begin, materialFor, ...host }: Host,
): Promise<{ readonly settings: RunSettings; readonly chosen?: ChosenReport }> {
  const { minutes } = settings.training ?? {};
  if (minutes === undefined) return { settings };
  const seconds = 60 * minutes;
  const left = () => seconds - (host.clock() - begin);
  const { size: ranks } = host.group ?? alone;
  const choice = await choosing(settings, read, host);
  const tried = new Map<string, { readonly settled: Settled; readonly pace: Pace; readonly steps: number }>();
  const beforeTrials = host.clock();
  for (;;) {
    const settled = choice.at(stepShare * Math.max(0, left()));
    const key = JSON.stringify(settled.sizes ?? {});
    const before = tried.get(key);
    const spent = host.clock() - beforeTrials;
    const enough =
      before ?? (tried.size >= mostTrials || (tried.size > 0 && spent > trialShare * seconds) ? [...tried.values()].at(-1) : undefined);
    if (enough) return ended(enough);
    const { config } = settled.settlement;
    const share = { ...config, training: { ...config.training, batch: Math.ceil(config.training.batch / ranks) } };
    const begun = config.training.lora && read.from ? adapterBeginning(read.from, config) : undefined;
    const taken = await trial({ config: begun ? { ...share, from: begun.origin } : share, tokenizer: read.tokenizer }, materialFor(share), {
      ...{ ...host, group: undefined, shardOptimizer: false, start: begun?.start },
      ...{ seconds: Math.min(mostTrialSeconds, 0.3 * trialShare * seconds), most: Math.min(2 * mostTrialSeconds, trialShare * seconds) },
    });
    const alonePace = paceOf(taken);
    const apart = ranks > 1 ? exchange : 1;
    const pace = { step: apart * alonePace.step, token: (apart * alonePace.token) / ranks, once: alonePace.once };
    tried.set(key, { settled, pace, steps: taken.length });
    choice.heard(settled, pace);
    if (!settled.sizes) return ended({ settled, pace, steps: taken.length });
  }

  function ended({ settled, pace, steps: trialSteps }: { settled: Settled; pace: Pace; steps: number }) {
    const { config, trained } = settled.settlement;
    const { training } = config;
    const material = materialFor(config);
    const validation = (validationTokens(material) * pace.token) / 3; // forward alone
    const saving = (savedBytes * trained) / diskSpeed;
    const perEpoch = material.batches.perEpoch / (training.accumulates ? 1 : training.accumulate);
    const most = Math.max(training.steps, Math.ceil(mostEpochs(read.task) * perEpoch)); // never fewer than without minutes
    const plan = planned({
      pace,
      seconds: left(),
      validation: validation + saving,
      ending: pace.once / 3 + (read.task === "classify" ? validation : 0), // a session to score with, and a temperature
      evalEvery: settings.training?.evalEvery,
      most,
    });
    const { steps, evalEvery } = plan;
    const asked = settled.settings.training;
    const epochs = steps / Math.max(1, perEpoch);
    const chosen: ChosenReport = {
      kind: "chosen",
      ...{ minutes: minutes ?? 0, steps, stepSeconds: pace.step, epochs, sizes: settled.sizes ?? {} },
      sentences: [
        ...(settled.sizes && Object.keys(settled.sizes).length > 0 ? [sizesSentence(minutes ?? 0, settled.sizes)] : []),
        `${counted(steps)} steps of ${duration(pace.step)}, by a trial of ${trialSteps}: the data is read ${amount(epochs)} times`,
        ...(steps === most ? ["more would only be learned by heart, so it ends before its time"] : []),
        ...(steps < few ? ["that is too little time to learn much in"] : []),
      ],
    };
    return {
      settings: { ...settled.settings, training: { ...asked, steps, evalEvery, saveEvery: asked?.saveEvery ?? evalEvery } },
      chosen,
    };
  }
}

/** What the minutes would come to, without a trial: what a plan shows. */
export async function guessedMinutes(
  settings: RunSettings,
  read: DataRead,
  host: Pick<TrainOptions, "clock" | "device">,
): Promise<RunSettings> {
  const { minutes } = settings.training ?? {};
  if (minutes === undefined) return settings;
  const choice = await choosing(settings, read, host);
  const seconds = stepShare * 60 * minutes;
  const settled = choice.at(seconds);
  const { training } = settled.settlement.config;
  const most = Math.max(training.steps, Math.ceil(mostEpochs(read.task) * choice.perEpoch(settled)));
  const steps = Math.max(1, Math.min(most, Math.floor(seconds / choice.guess(settled))));
  return { ...settled.settings, training: { ...settled.settings.training, steps } };
}

interface Settled {
  readonly settings: RunSettings;
  readonly settlement: Settlement;
  /** What the rule chose; nothing where there was nothing to choose. */
  readonly sizes?: Partial<Sizes>;
}

/** Settings for so many seconds, at the speed that is known so far. */
async function choosing(settings: RunSettings, read: DataRead, host: Pick<TrainOptions, "clock" | "device" | "group" | "mostThreads">) {
  refuseTwoLengths(settings);
  const usual = settle(settings, read); // whatever is wrong is said before anything is measured
  const { model, training } = usual.config;
  const threads = Math.min(training.threads, host.mostThreads ?? training.threads);
  const device = { ...deviceOf(host.device ?? training.device), threads };
  const { tokens, examples } = amountsOf(read, model.context);
  const free = model.model !== "own" && !read.from;
  const means: Omit<Means, "flops"> = {
    ...{
      task: read.task,
      model: model.model === "own" ? "decoder" : model.model,
      vocab: read.tokenizer.size,
      memory: freeMemoryOf(device) / 2,
    },
    ...{ optimizer: training.optimizer, tokens, ...(examples !== undefined && { examples }) },
  };
  const given = { ...settings.model, ...settings.training };
  let speed =
    (await productSpeed(device, host.clock)) * usualShare[model.model === "rnn" ? "rnn" : "transformer"] * (host.group ?? alone).size;
  const length = ({ settlement: { config } }: Settled) => (examples === undefined ? config.model.context : tokens / examples);
  const perToken = (settled: Settled) => operations(settled.settlement, means, length(settled));
  const perStep = (settled: Settled) => {
    const { batch, accumulate } = settled.settlement.config.training;
    return batch * accumulate * length(settled);
  };
  return {
    at(seconds: number): Settled {
      if (!free) return { settings, settlement: usual };
      const sizes = ungiven(sizesFor({ ...means, flops: speed * seconds }, given), given);
      const { batch, ...ofModel } = sizes;
      const chosen: RunSettings = {
        ...settings,
        model: { ...settings.model, ...ofModel } as RunSettings["model"],
        training: { ...settings.training, ...(batch !== undefined && { batch }) },
      };
      return { settings: chosen, settlement: settle(chosen, read), sizes };
    },
    heard(settled: Settled, { token }: Pace): void {
      speed = perToken(settled) / token;
    },
    /** Seconds of a step, and steps that read everything once. */
    guess: (settled: Settled): number => (perStep(settled) * perToken(settled)) / speed,
    perEpoch: (settled: Settled): number => tokens / perStep(settled),
  };
}

/** What was left to the rule. */
const ungiven = (sizes: Sizes, given: Readonly<Record<string, unknown>>): Partial<Sizes> =>
  Object.fromEntries(Object.entries(sizes).filter(([name]) => given[name] === undefined));

/** Of training on one token. */
const operations = ({ config: { model }, layout }: Settlement, means: Omit<Means, "flops">, length: number): number =>
  model.model === "own" ? 6 * layout.total : flopsPerToken(model, means, length);

/** Tokens to train on, and of examples their number. */
function amountsOf({ encoded }: DataRead, context: number): { readonly tokens: number; readonly examples?: number } {
  if (encoded.kind === "text") return { tokens: Math.max(1, encoded.train.ids.length) };
  const { train, layout } = encoded;
  const tokens = train.reduce((sum, example) => sum + layout.lengths(example).reduce((all, one) => all + Math.min(one, context), 0), 0);
  return { tokens: Math.max(1, tokens), examples: Math.max(1, train.length) };
}

function validationTokens({ validation }: Material): number {
  let tokens = 0;
  for (const batch of validation?.("all") ?? []) tokens += batch.tokens; // at the most: those before the last may score fewer
  return tokens;
}

const words: Readonly<Record<keyof Sizes, (value: number) => string>> = {
  layers: (value) => `${value} layer${value === 1 ? "" : "s"}`,
  width: (value) => `width ${value}`,
  heads: (value) => `${value} head${value === 1 ? "" : "s"}`,
  context: (value) => `context ${value}`,
  dropout: (value) => `dropout ${value}`,
  batch: (value) => `batches of ${value}`,
};

function sizesSentence(minutes: number, sizes: Partial<Sizes>): string {
  const list = Object.entries(sizes).map(([name, value]) => words[name as keyof Sizes](value));
  return `for ${minutes} minute${minutes === 1 ? "" : "s"} and this much data: ${list.join(", ")}`;
}

const counted = (value: number): string => value.toLocaleString("en");
const amount = (value: number): string => value.toLocaleString("en", { maximumSignificantDigits: 2 });
const duration = (seconds: number): string => (seconds < 1 ? `${amount(1000 * seconds)} ms` : `${amount(seconds)} s`);
