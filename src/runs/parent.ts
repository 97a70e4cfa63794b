import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigError, RunError } from "../base/errors.ts";
import { call, either, Sentence, sentence, setting, type Value } from "../base/sentence.ts";
import { filesHash } from "../disk/files.ts";
import { readSafetensorsHeader } from "../disk/safetensors-file.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type ModelConfig, type ModelInput, modelConfig, modelLoss } from "../models/any.ts";
import type { OwnModel } from "../models/own.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { Labelling } from "../text/examples.ts";
import type { Weights } from "../weights/weights.ts";
import type { Origin, RunConfig } from "./config.ts";
import { noWeights, type OpenRun, shippedFile } from "./folder.ts";
import { modelWeights } from "./weights.ts";

// A run whose training goes on with other data: its tokenizer and its model are those of the new run, and its weights the start.

/** The settings of a model that change no weight's shape or meaning. */
const free: readonly string[] = ["dropout", "context"];
/** And those of a head, where it is new. */
const freeHead: readonly string[] = ["pool", "pooler"];

type Given = OwnModel | Readonly<Record<string, unknown>>;
type Values = Readonly<Record<string, unknown>>;

/** The weights that a run has now, and where they are from. */
export function parentWeights(parent: OpenRun): Pick<Weights, "unread"> & { readonly weights: ParameterBuffer; readonly origin: Origin } {
  const found = modelWeights(parent);
  const origin = originOf(parent);
  return { weights: found.buffer, unread: found.unread, origin }; // refused if the file was replaced since it was opened
}

/** Where weights are from. */
export function originOf({ folder, config: { labels }, outside }: OpenRun): Origin {
  const file = shippedFile(folder);
  if (!outside && !existsSync(file)) throw noWeights(folder);
  const step = outside ? 0 : Number(readSafetensorsHeader(file)?.metadata.get("step") ?? 0);
  return { run: resolve(folder), sha256: filesHash(outside?.files ?? [file]), step, ...(labels && { labels: labels.length }) };
}

/** An adapter stands beside weights that lie in one file; one beside an adapter would need both. */
export function refuseAdapter({ folder, config }: OpenRun): void {
  if (!config.training.lora) return;
  throw new ConfigError(
    sentence`${folder} is an adapter itself; put it into its base first: ${call("merge", folder, { out: "<folder>" })}, and go on from there`,
    { code: "config.conflict", path: "from" },
  );
}

/** The output layer of a base is frozen with the rest, so it cannot be new, nor get rows for labels that nobody knew. */
export function refuseNewLabels({ folder, config, body }: OpenRun, labels: readonly string[]): void {
  if (body)
    throw new ConfigError(
      sentence`${folder} has no head to ${config.task} with, and ${setting("lora")} trains an adapter beside weights that are there; train the head first, ${call("train", "<data>", { from: folder })}, and go on from that run with ${setting("lora")}`,
      { code: "config.conflict", path: "training.lora" },
    );
  const fresh = labels.slice(config.labels?.length ?? 0);
  if (fresh.length === 0) return;
  throw new ConfigError(
    sentence`the data has labels that ${folder} does not know (${fresh.slice(0, 8).join(", ")}${fresh.length > 8 ? ", …" : ""}), and ${setting("lora")} leaves its output layer as it is; train without ${setting("lora")}`,
    { code: "config.conflict", path: "training.lora" },
  );
}

/** The names of the labels that were known, in their order, and then those that are new. */
export function joinedLabels(known: readonly string[] = [], found: readonly string[] = []): string[] {
  const before = new Set(known);
  return [...known, ...found.filter((label) => !before.has(label))];
}

/** What is said of labels that the new data does not have. */
export function goneLabels(known: readonly string[] = [], found: readonly string[] = []): string[] {
  const now = new Set(found);
  const gone = known.filter((label) => !now.has(label));
  if (gone.length === 0) return [];
  const names = `${gone.slice(0, 8).join(", ")}${gone.length > 8 ? ", …" : ""}`;
  return [
    `${gone.length} of the ${known.length} labels that the run knew do not occur in the new data (${names}); they stay, and may be forgotten`,
  ];
}

/** Labels that exclude each other are no labels of which each is there or not: the scores mean something else. */
export function refuseOtherLabelling({ folder, body, config: { model } }: OpenRun, labelling: Labelling): void {
  if (model.model !== "encoder" || model.labelling === labelling || body) return;
  const has = { one: "one label for a text", several: "any number of labels for a text" };
  throw new ConfigError(
    sentence`${folder} gives ${has[model.labelling]}, and the data has ${has[labelling]}; train a new run without ${setting("from")}`,
    { code: "config.task", path: "from" },
  );
}

/** The tokenizer comes with the run: its ids are the rows of the run's table. */
export function refuseTokenizer(
  { folder }: OpenRun,
  given: Readonly<Partial<Record<"tokenizer" | "vocab" | "lowercase" | "normalize", unknown>>>,
): void {
  for (const name of ["tokenizer", "vocab", "lowercase", "normalize"] as const) {
    if (given[name] === undefined) continue;
    throw new ConfigError(
      sentence`${setting(name)} cannot be chosen with ${setting("from")}: the weights of ${folder} belong to its own tokenizer; leave it out`,
      { code: "config.conflict", path: name },
    );
  }
}

/** Replacing the very run that is gone on from would leave nothing to start from. */
export function refuseItself({ folder }: OpenRun, out: string): void {
  if (!existsSync(out) || realpathSync(out) !== realpathSync(folder)) return;
  throw new ConfigError(
    sentence`${out} is the run to go on from, and stays as it is; choose another ${setting("out")}, or go on with its own data: ${call("resume", folder)}`,
    { code: "config.conflict", path: "out" },
  );
}

/** The model of a run, as a model of another one: with as many labels as there are now, and only what is free changed. */
export function continuedModel({ folder, config, body }: OpenRun, given: Given, labels?: number, labelling?: Labelling): ModelConfig {
  const own: Values = { ...config.model };
  const asked: [string, unknown][] =
    given.model === "own" ? [["model", "own"]] : Object.entries(given).filter(([, value]) => value !== undefined);
  const may = body ? [...free, ...freeHead] : free;
  const other = asked.filter(([name, value]) => !may.includes(name) && JSON.stringify(own[name]) !== JSON.stringify(value));
  if (other.length > 0) throw differs(folder, own, other, may);
  if (config.model.model === "own") {
    const { define, settings } = config.model;
    return define.of({ ...settings, ...(labels !== undefined && "labels" in settings && { labels }) });
  }
  const head = { ...(labels !== undefined && { labels }), ...(body && labelling && { labelling }) };
  const model = modelConfig({ ...own, ...Object.fromEntries(asked), ...head } as unknown as ModelInput);
  refuseOtherPositions(folder, config, model);
  return model;
}

function differs(folder: string, own: Values, other: readonly (readonly [string, unknown])[], able: readonly string[]): ConfigError {
  const wanted = either(other.map(([name, value]) => setting(name, value as Value)));
  const has = other.map(([name]) =>
    own[name] === undefined ? sentence`no ${setting(name)}` : sentence`${setting(name, own[name] as Value)}`,
  );
  const list = new Sentence(has.flatMap((part, i) => (i === 0 ? [part] : [", ", part])));
  const may = either(able.map((name) => setting(name)));
  return new ConfigError(
    sentence`${folder} has ${list}, and its weights do not fit ${wanted}; leave that out (only ${may} may differ), or train a new run`,
    { code: "config.conflict", path: `model.${other[0][0]}` },
  );
}

/** Learned and relative positions have a row for each place of the context. */
function refuseOtherPositions(folder: string, { model: own }: RunConfig, model: ModelConfig): void {
  if (own.model === "own" || own.context === model.context) return;
  const before = new Map(parametersOf(modelLoss(own)).entries.map(({ name, shape }) => [name, shape]));
  const same = modelConfig({ ...own, context: model.context } as ModelInput);
  const changed = parametersOf(modelLoss(same)).entries.find(({ name, shape }) => before.get(name)?.join() !== shape.join());
  if (!changed) return;
  throw new ConfigError(
    sentence`${folder} has ${setting("context", own.context)}, which is the size of its ${changed.name}; leave ${setting("context")} out, or train a new run`,
    { code: "config.conflict", path: "model.context" },
  );
}

/** A run that began from another's weights has them in its own first checkpoint, so that it needs the other no more. */
export const lostStart = (folder: string, { run }: Origin): RunError =>
  new RunError(
    sentence`${folder} has no whole checkpoint any more, and began with the weights of ${run}, which no seed gives back; train it again with ${setting("from", run)}`,
    { code: "run.damaged" },
  );
