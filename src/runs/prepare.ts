import { elementCount } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import { ConfigError } from "../base/errors.ts";
import { type Sentence, sentence, setting, type Wording } from "../base/sentence.ts";
import { type Encoded, unknownWarnings } from "../data/encoded.ts";
import { mostValidationTokens } from "../data/material.ts";
import { amount } from "../data/raw.ts";
import type { DataSource } from "../data/source.ts";
import { buildGraph, graphNodes } from "../graph/graph.ts";
import type { ParameterBuffer, ParameterLayout } from "../graph/parameters.ts";
import { familyCalled } from "../hub/families.ts";
import { joinedInFamily, namedTargets, peftModules } from "../hub/peft.ts";
import type { HubRecord } from "../hub/record.ts";
import { isFused } from "../layers/attention.ts";
import { activations, isGated } from "../layers/feedforward.ts";
import {
  type Architecture,
  described,
  isTransformer,
  type ModelConfig,
  type ModelInput,
  type ModelName,
  modelConfig,
  modelLoss,
} from "../models/any.ts";
import { adaptedMatrices, type Lora, loraTargets } from "../models/lora.ts";
import type { OwnModel } from "../models/own.ts";
import { freeMemory, usualThreads } from "../node/machine.ts";
import { isAttend } from "../ops/attend.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { DeviceName } from "../runtime/provider.ts";
import type { Labelling } from "../text/examples.ts";
import { type NormalForm, slowSentence, type Tokenizer } from "../tokens/index.ts";
import { numbersInMatrices } from "../training/muon.ts";
import { scoringRows } from "../training/score.ts";
import { carryOver } from "../weights/carry.ts";
import { trainedLayout } from "../weights/freeze.ts";
import { initialise } from "../weights/initialise.ts";
import { loraLayout } from "./adapter.ts";
import { type ClassWeights, classWeightsOf } from "./class-weights.ts";
import type { Origin, RunConfig, Task, TrainingConfig } from "./config.ts";
import { trainingConfig } from "./config.ts";
import { contextFor, continuedTraining, evalTokensFor, gatedHidden, modelDefaults, modelFor, trainingDefaults } from "./defaults.ts";
import type { TrainOptions } from "./drive.ts";
import type { OpenRun } from "./folder.ts";
import { idleSettings } from "./idle.ts";
import { refuseTooBig } from "./memory.ts";
import { carryBody, newHeadSentence } from "./new-head.ts";
import { continuedModel, goneLabels, originOf, parentWeights, refuseAdapter, refuseNewLabels, refuseTokenizer } from "./parent.ts";
import { type DataRead, type DataSettings, readData } from "./read-data.ts";

/** What a person asks for; everything that is left out has a default. */
export interface RunSettings {
  readonly task?: Task;
  readonly source: DataSource;
  /** A kind to train, or the path of a tokenizer.json. */
  readonly tokenizer?: string;
  /** Entries of a tokenizer that is trained. */
  readonly vocab?: number;
  /** Whether a tokenizer that is trained reads everything in lower case, and in which Unicode normal form. */
  readonly lowercase?: boolean;
  readonly normalize?: NormalForm;
  /** Sizes and choices under the names of the model's config. */
  readonly model?: OwnModel | (Readonly<Record<string, unknown>> & { readonly model?: ModelName });
  /** How much each class counts (classify, tag). */
  readonly classWeights?: ClassWeights;
  readonly training?: Partial<Omit<TrainingConfig, "classWeights" | "lora">>;
  /** An adapter to train in the place of the weights of `from`; a rank, or more of it. */
  readonly lora?: LoraSettings;
  /** A run whose weights are the start; its tokenizer and its model are those of the new run. */
  readonly from?: OpenRun;
}

/** What is left out: alpha is twice the rank, nothing is dropped, and queries and values get adapters. */
export interface LoraSettings {
  readonly rank: number;
  readonly alpha?: number;
  readonly dropout?: number;
  /** Names of matrices (q, k, v, out, gate, expand, contract …), or `all`. */
  readonly targets?: readonly string[];
}

export interface Prepared {
  readonly config: RunConfig;
  readonly tokenizer: Tokenizer;
  readonly encoded: Encoded;
  readonly warnings: readonly Wording[];
  /** The weights to begin with, where they are not drawn from the seed. */
  readonly start?: ParameterBuffer;
}

/** From settings and the data that was read by them to everything that training needs: model and schedule settled, first weights. */
export function prepare(settings: RunSettings, read: DataRead): Prepared {
  const { config: settled, warnings, layout } = settle(settings, read);
  const { from, tokenizer, encoded } = read;
  const { model, training } = settled;
  const { lora, seed } = training;
  const begun = from && (lora ? adapterStart(from, loraLayout(model, lora), seed) : startOf(from, layout, seed));
  const { hub, ...rest } = settled;
  const config: RunConfig = { ...rest, ...(begun && { from: begun.origin }), ...(hub && { hub }) };
  const [early, late] = warnings;
  return { config, tokenizer, encoded, warnings: [...early, ...(begun?.said ?? []), ...late], start: begun?.start };
}

/** Reads the data and learns from it what follows from it alone: the same for all sizes and schedules. */
export function readFor(settings: RunSettings, options: Pick<TrainOptions, "cache" | "rows" | "signal">): Promise<DataRead> {
  const { model: given = {} } = settings;
  refuseBeside(settings);
  refuseTwoLengths(settings);
  // wrong choices are told before the data is worked on
  const early = (task: Task, from: OpenRun | undefined) => {
    refuseForTask(settings, task);
    earlyModel(task, given, from);
  };
  return readData(dataSettings(settings), options, early);
}

/** What data is read by. */
export const dataSettings = (settings: RunSettings): DataSettings => ({ ...settings, source: stratified(settings.source) });

/** A model before its data is known. */
const earlyModel = (task: Task, given: Given, from: OpenRun | undefined): ModelConfig =>
  from ? continuedModel(from, given) : modelOf(task, given, { vocab: 10, labels: 2, context: 8 });

export interface Settlement {
  /** All but the weights that it begins with. */
  readonly config: RunConfig;
  /** What is noteworthy: of the data, and of what is missing. */
  readonly warnings: readonly [readonly Wording[], readonly Wording[]];
  readonly layout: ParameterLayout;
  /** How many numbers are trained. */
  readonly trained: number;
  /** And how many of these are in matrices that an optimizer may move as a whole. */
  readonly matrices: number;
}

/** The model and its training, once the data is known. */
export function settle(settings: RunSettings, read: DataRead): Settlement {
  const { model: given = {} } = settings;
  const { raw, tokenizer, from, encoded, task, labels, labelling, longest, chat, known } = read;
  refuseBeside(settings);
  refuseForTask(settings, task);
  const early = earlyModel(task, given, from);
  const positions = "positions" in early ? early.positions : undefined;
  const usual = longest === undefined ? undefined : contextFor(task, longest, positions);
  const context = (isOwn(given) ? undefined : given.context) ?? usual;
  const model = from
    ? continuedModel(from, given, labels?.length, labelling)
    : modelOf(task, given, { vocab: tokenizer.size, labels: labels?.length, labelling, context, device: settings.training?.device });
  const classWeights = raw.kind === "examples" && labels ? classWeightsOf(settings.classWeights, raw, labels) : undefined;
  if (from && settings.lora && labels) refuseNewLabels(from, labels);
  const lora = settings.lora && loraOf(settings.lora, model, from?.config.hub);
  const asked = from
    ? withFixed(from, continuedTraining(settings.training ?? {}, from.config.training, lora), lora)
    : (settings.training ?? {});
  const { accumulates, ...usualTraining } = trainingDefaults(task, asked, {
    width: widthOf(early),
    threads: usualThreads(),
    ...(!from && isTransformer(model) && { context: model.context }),
  });
  const evalTokens = evalTokensOf(encoded, model, usualTraining);
  const training = trainingConfig({
    ...usualTraining,
    ...(evalTokens !== undefined && { evalTokens }),
    ...(drops(model, lora) && { noise: "flags" }),
    ...(accumulates && hasRows(encoded, model.context, usualTraining.batch * usualTraining.accumulate) && { accumulates }),
    ...(classWeights && { classWeights }),
    ...(lora && { lora }),
  });
  refuseAgain(model, training);
  const layout = parametersOf(modelLoss(model));
  const moved = lora ? loraLayout(model, lora) : trainedLayout(layout, training.freeze);
  const [trained, matrices] = [moved.total, numbersInMatrices(moved)];
  refuseTooBig(layout.total, model, training, freeMemory(), {
    trained,
    matrices,
    length: Math.min(model.context, longest ?? model.context),
  });
  const config: RunConfig = {
    format: 1,
    task,
    model,
    ...(labels && { labels: [...labels] }),
    tokenizer: { kind: tokenizer.kind, sha256: read.tokenizerHash },
    ...(chat && (chat !== known || from?.config.chat) && { chat }), // what came with a model stays in its record
    data: {
      source: task === "classify" ? stratified(settings.source) : settings.source,
      sha256: raw.sha256,
      train: amount(raw, "train"),
      valid: amount(raw, "valid"),
      ...(longest !== undefined && { longest }),
    },
    training,
    ...(from?.config.hub && { hub: from.config.hub }),
  };
  const none = amount(raw, "valid") === 0 ? ["there is no validation data, so the last weights count as the best"] : [];
  const gone = goneLabels(from?.config.labels, read.found);
  const ofData = [...raw.warnings, ...slowSentence(tokenizer), ...unknownWarnings(encoded, tokenizer)];
  return {
    config,
    warnings: [
      [...ofData, ...idleSettings(settings, config)],
      [...gone, ...none],
    ],
    layout,
    trained,
    matrices,
  };
}

/** Refuses what says in two ways how long to train. */
export function refuseTwoLengths({ training: { minutes, steps } = {} }: Pick<RunSettings, "training">): void {
  if (minutes === undefined || steps === undefined) return;
  throw new ConfigError(
    sentence`${setting("minutes", minutes)} finds out how many steps fit into that time, so ${setting("steps", steps)} cannot be given beside it; leave one of them out`,
    { code: "config.conflict", path: "training.minutes" },
  );
}

/** Whether anything is dropped while it trains. A model of one's own may. */
const drops = (model: ModelConfig, lora: Lora | undefined): boolean =>
  model.model === "own" || model.dropout > 0 || (lora?.dropout ?? 0) > 0;

/** What can be computed again for the gradients: blocks, where there are any; and patterns, where attention is one operation. */
export function refuseAgain(model: ModelConfig, { checkpointBlocks, recomputePattern }: Partial<TrainingConfig>): void {
  if (checkpointBlocks && model.model === "rnn")
    throw new ConfigError(sentence`${setting("checkpointBlocks")} is for models with blocks, and an RNN has none; leave it out`, {
      code: "config.conflict",
      path: "training.checkpointBlocks",
    });
  if (!recomputePattern || (model.model !== "rnn" && graphNodes(buildGraph(modelLoss(model))).some(isAttend))) return;
  throw new ConfigError(
    sentence`${setting("recomputePattern")} is for attention with a softmax over masked products of queries and keys, and ${otherAttention(model)}; leave it out`,
    { code: "config.conflict", path: "training.recomputePattern" },
  );
}

/** Why a model keeps what its attention computes: no softmax, a mask after it, scores of another kind, steps of a recurrence, or no layers. */
function otherAttention(model: ModelConfig): Sentence | string {
  if (model.model === "rnn" || model.model === "own" || isFused(model)) return `${described(model)} has none`;
  const { attention, mask, score } = model;
  const found =
    attention === "linear" ? setting("attention", attention) : mask === "after-softmax" ? setting("mask", mask) : setting("score", score);
  return sentence`${found} is another`;
}

/** A choice among few examples would be left to chance, so of them all are scored unless fewer were asked for. */
function evalTokensOf(encoded: Encoded, model: ModelConfig, training: TrainingConfig): number | undefined {
  if (training.evalTokens !== undefined || encoded.kind !== "text") return training.evalTokens;
  const held = Math.min(mostValidationTokens, encoded.valid?.ids.length ?? 0);
  const { context } = model;
  return evalTokensFor(training, { context, held, scored: scoringRows(model) * context });
}

/** Refuses what cannot stand beside a model that is gone on from, or needs one. */
function refuseBeside(settings: RunSettings): void {
  if (settings.from) refuseTokenizer(settings.from, settings);
  refuseLora(settings);
}

/** The weights of a run in the layout of a new one; what it has no weights for starts as in any run. */
function startOf(from: OpenRun, layout: ParameterLayout, seed: number): Begun {
  const { weights, unread, origin } = parentWeights(from);
  const start = initialise(layout, chance(seed));
  if (!from.body) {
    carryOver(start, weights);
    return { start, origin, said: [] };
  }
  const fresh = carryBody(start, weights, from, unread);
  const numbers = fresh.reduce((sum, name) => sum + elementCount(start.view(name).shape), 0);
  return { start, origin, said: [newHeadSentence(from.folder, fresh, numbers)] };
}

interface Begun {
  readonly start: ParameterBuffer;
  readonly origin: Origin;
  /** What is noteworthy about it. */
  readonly said: readonly string[];
}

/** What a family of models never trains, such as sinusoids, is frozen beside what was asked for; beside an adapter all of it is. */
function withFixed({ config: { hub } }: OpenRun, asked: Partial<TrainingConfig>, lora: Lora | undefined): Partial<TrainingConfig> {
  const fixed = hub && !lora ? (familyCalled(hub.family)?.fixed ?? []) : [];
  return fixed.length > 0 ? { ...asked, freeze: [...new Set([...(asked.freeze ?? []), ...fixed])] } : asked;
}

/** An adapter at its start, which changes nothing: B is 0. The weights that it stands beside stay where they are. */
function adapterStart(from: OpenRun, layout: ParameterLayout, seed: number): Begun {
  return { start: initialise(layout, chance(seed)), origin: originOf(from), said: [] };
}

/** The same for a run that is settled. */
export const adapterBeginning = (from: OpenRun, { model, training: { lora, seed } }: RunConfig): Begun | undefined =>
  lora && adapterStart(from, loraLayout(model, lora), seed);

/** An adapter with everything settled: its targets are named one by one. */
function loraOf({ rank, alpha = 2 * rank, dropout = 0, targets }: LoraSettings, model: ModelConfig, hub?: HubRecord): Lora {
  const family = hub && familyCalled(hub.family);
  const chosen = loraTargets(modelLoss(model), targets, { whole: joinedInFamily(model, family) });
  const named = namedTargets(adaptedMatrices(modelLoss(model), { targets: chosen }), peftModules(model, family));
  const nameless = chosen.filter((target) => !named.has(target));
  if (nameless.length > 0 && !targets?.includes("all"))
    throw new ConfigError(
      sentence`${nameless.join(" and ")} of ${family?.name ?? "this model"} are parts of one matrix there, and an adapter of a part has no name; choose other ${setting("loraTargets")}: ${[...named].join(", ")}`,
      { code: "config.conflict", path: "training.lora.targets" },
    );
  return { rank, alpha, dropout, targets: chosen.filter((target) => named.has(target)) };
}

/** An adapter needs something to stand beside. */
function refuseLora({ lora, from, training = {} }: RunSettings): void {
  if (!lora) return;
  if (!from)
    throw new ConfigError(
      sentence`${setting("lora")} trains an adapter beside weights that are there; say whose, with ${setting("from")}`,
      {
        code: "config.conflict",
        path: "training.lora",
      },
    );
  refuseAdapter(from);
  if (training.freeze)
    throw new ConfigError(
      sentence`${setting("lora")} freezes all that is not the adapter, so ${setting("freeze")} has no meaning beside it`,
      {
        code: "config.conflict",
        path: "training.freeze",
      },
    );
}

/** New runs hold out the same share of every class; what has no classes is held out as ever, and its source says nothing of it. */
const stratified = (source: DataSource): DataSource =>
  source.kind === "recipe" || source.kind === "hub" || source.valid ? source : { split: "stratified", ...source };

/** Settings that are for some tasks only. */
function refuseForTask({ classWeights = "none", training = {} }: RunSettings, task: Task): void {
  const wrong =
    classWeights !== "none" && task !== "classify" && task !== "tag"
      ? { path: "classWeights", of: "classify and tag" }
      : training.calibrate === "temperature" && task !== "classify"
        ? { path: "calibrate", of: "classify" }
        : undefined;
  if (wrong)
    throw new ConfigError(sentence`${setting(wrong.path)} is for ${wrong.of}, and this is ${setting("task", task)}; leave it out`, {
      code: "config.task",
      path: wrong.path,
    });
}

interface Settled {
  readonly vocab: number;
  readonly labels?: number;
  readonly labelling?: Labelling;
  readonly context?: unknown;
  readonly device?: DeviceName;
}

type Given = NonNullable<RunSettings["model"]>;

const isOwn = (given: Given): given is OwnModel => given.model === "own";

const modelOf = (task: Task, given: Given, settled: Settled): ModelConfig =>
  isOwn(given) ? ownWith(task, given, settled) : modelWith(task, modelFor(task, given.model), given, settled);

/** The vocabulary and the labels come from the data; everything else of a model of one's own is as it was given. */
function ownWith(task: Task, own: OwnModel, { vocab, labels, labelling }: Settled): OwnModel {
  if (labelling === "several")
    throw new ConfigError(`the texts have several labels each, and ${described(own)} gives one; give every text one label`, {
      code: "config.task",
      path: "task",
    });
  if (own.task !== task || own.reads === "other")
    throw new ConfigError(
      `the data is for ${task}, and ${described(own)} ${own.reads === "other" ? "reads no text" : `is for ${own.task}`}`,
      { code: "config.task", path: "task" },
    );
  return own.define.of({ ...own.settings, vocab, ...(labels !== undefined && "labels" in own.settings && { labels }) });
}

/** The learning rate follows the width, where a model has one. */
const widthOf = (model: ModelConfig): number => (model.model === "own" ? Number(model.settings.width ?? 128) : model.width);

/** The checked config of a model: what was given, over the defaults of its task. */
export function modelWith(
  task: Task,
  name: ModelName,
  given: Readonly<Record<string, unknown>>,
  { vocab, labels, labelling = "one", context, device }: Settled,
): Architecture {
  const labelled = task === "mlm" ? {} : { labels, labelling };
  const tasked = name === "encoder" ? { task, ...labelled } : name === "rnn" ? { task } : {};
  const chosen: Readonly<Record<string, unknown>> = {
    ...modelDefaults(task, name, device),
    ...(context === undefined ? {} : { context }),
    ...given,
  };
  const inside = hasGate(chosen) ? { hidden: gatedHidden(chosen.width) } : {};
  return modelConfig({
    ...inside,
    ...(name === "encoder-decoder" && translatorChoices(chosen)),
    ...chosen,
    ...tasked,
    model: name,
    vocab,
  } as unknown as ModelInput);
}

/** What a new translator has beside rotary positions: see docs/models.md for the figures. */
function translatorChoices({ positions, score = "scaled", attention = "softmax" }: Readonly<Record<string, unknown>>) {
  const usual = score === "scaled" && attention === "softmax";
  return positions === "rotary" ? { crossPositions: true, ...(usual && { qkNorm: true }) } : {};
}

const hasGate = (chosen: Readonly<Record<string, unknown>>): chosen is { width: number } =>
  activations.some((name) => name === chosen.activation && isGated(name)) && typeof chosen.width === "number";

/** Whether the data has so many rows; where it has fewer, a step sees some of them again, and they are batches of their own. */
const hasRows = (encoded: Encoded, context: number, rows: number): boolean =>
  (encoded.kind === "text" ? Math.floor((encoded.train.ids.length - 1) / context) - 1 : encoded.train.length) >= rows;
