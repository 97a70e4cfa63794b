import { readFile } from "node:fs/promises";
import { ConfigError, DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { wordsOf } from "../batches/encode.ts";
import { type Encoded, encodeRaw, labelsOf, unknownWarnings } from "../data/encoded.ts";
import { amount, type Found, type Learn, loadRaw, taskOfData } from "../data/raw.ts";
import type { DataSource } from "../data/source.ts";
import { unreadable } from "../disk/text-files.ts";
import { type ModelConfig, type ModelInput, type ModelName, modelConfig, modelLoss } from "../models/any.ts";
import { freeMemory, usualThreads } from "../node/machine.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { Example } from "../text/examples.ts";
import { parseTokenizer, saveTokenizer, type Tokenizer, type TokenizerKind, tokenizerKinds, trainTokenizer } from "../tokens/index.ts";
import type { RunConfig, Task, TrainingConfig } from "./config.ts";
import { trainingConfig } from "./config.ts";
import { contextFor, modelDefaults, modelFor, swigluHidden, tokenizerFor, trainingDefaults } from "./defaults.ts";
import type { TrainOptions } from "./drive.ts";
import { sha256 } from "./folder.ts";
import { refuseTooBig } from "./memory.ts";

/** What a person asks for; everything that is left out has a default. */
export interface RunSettings {
  readonly task?: Task;
  readonly source: DataSource;
  /** A kind to train, or the path of a tokenizer.json. */
  readonly tokenizer?: string;
  /** Entries of a tokenizer that is trained. */
  readonly vocab?: number;
  /** Sizes and choices under the names of the model's config. */
  readonly model?: Readonly<Record<string, unknown>> & { readonly model?: ModelName };
  readonly training?: Partial<TrainingConfig>;
}

export interface Prepared {
  readonly config: RunConfig;
  readonly tokenizer: Tokenizer;
  readonly encoded: Encoded;
  readonly warnings: readonly string[];
}

/** From settings to everything that training needs: data read and checked, tokenizer trained, model and schedule settled. */
export async function prepare(
  settings: RunSettings,
  { cache, rows, signal }: Pick<TrainOptions, "cache" | "rows" | "signal">,
): Promise<Prepared> {
  const given = settings.model ?? {};
  let learned: { readonly name: ModelName; readonly early: ModelConfig; readonly tokenizer: Tokenizer } | undefined;
  const learn: Learn = async (found, texts) => {
    const { task } = found;
    if (settings.task !== undefined && settings.task !== task)
      throw new ConfigError(sentence`the data is for ${setting("task", task)}, and ${setting("task", settings.task)} was asked for`, {
        code: "config.task",
        path: "task",
      });
    const name = modelFor(task, given.model);
    const early = modelWith(task, name, given, { vocab: 10, labels: 2, context: 8 }); // wrong choices are told before the data is worked on
    learned = { name, early, tokenizer: await tokenizerOf(found, texts, settings, signal) };
  };
  const raw = await loadRaw(settings.source, { task: settings.task, learn, rows, signal });
  if (!learned) throw new DataError("the data has no text to learn from");
  const { name, early, tokenizer } = learned;
  const task = taskOfData(raw);
  const labels = raw.kind === "examples" ? labelsOf(raw) : undefined;
  if (labels?.length === 1)
    throw new DataError(`${whereFrom(settings.source)}every example has the same label, "${labels[0]}"; give examples of another one too`);
  const tokenizerHash = sha256(saveTokenizer(tokenizer));
  const encoded = await encodeRaw(raw, { tokenizer, tokenizerHash, labels, cache, signal });
  const positions = "positions" in early ? early.positions : undefined;
  const longest = encoded.kind === "text" ? undefined : longestOf(encoded);
  const context = given.context ?? (longest === undefined ? undefined : contextFor(task as Exclude<Task, "lm">, longest, positions));
  const model = modelWith(task, name, given, { vocab: tokenizer.size, labels: labels?.length, context });
  const training = trainingConfig(trainingDefaults(task, settings.training ?? {}, { width: early.width, threads: usualThreads() }));
  refuseTooBig(parametersOf(modelLoss(model)).total, model, training, freeMemory(), Math.min(model.context, longest ?? model.context));
  const config: RunConfig = {
    format: 1,
    task,
    model,
    ...(labels && { labels }),
    tokenizer: { kind: tokenizer.kind, sha256: tokenizerHash },
    data: {
      source: settings.source,
      sha256: raw.sha256,
      train: amount(raw, "train"),
      valid: amount(raw, "valid"),
      ...(longest !== undefined && { longest }),
    },
    training,
  };
  const none = amount(raw, "valid") === 0 ? ["there is no validation data, so the last weights count as the best"] : [];
  return { config, tokenizer, encoded, warnings: [...raw.warnings, ...unknownWarnings(encoded, tokenizer), ...none] };
}

const whereFrom = (source: DataSource): string => (source.kind === "files" ? `${source.files.join(", ")}: ` : "");

interface Settled {
  readonly vocab: number;
  readonly labels?: number;
  readonly context?: unknown;
}

/** The checked config of a model: what was given, over the defaults of its task. */
export function modelWith(
  task: Task,
  name: ModelName,
  given: Readonly<Record<string, unknown>>,
  { vocab, labels, context }: Settled,
): ModelConfig {
  const tasked = name === "encoder" ? { task, labels } : name === "rnn" ? { task } : {};
  const chosen = { ...modelDefaults(task, name), ...(context === undefined ? {} : { context }), ...given };
  const inside = isSwiglu(chosen) ? { hidden: swigluHidden(chosen.width) } : {};
  return modelConfig({ ...inside, ...chosen, ...tasked, model: name, vocab } as unknown as ModelInput);
}

const isSwiglu = (chosen: Readonly<Record<string, unknown>>): chosen is { width: number } =>
  chosen.activation === "swiglu" && typeof chosen.width === "number";

/** Tokens of the longest example that is trained on. */
const longestOf = ({ train, layout }: Extract<Encoded, { kind: "examples" }>): number =>
  train.reduce((most, example) => Math.max(most, ...layout.lengths(example)), 1);

async function tokenizerOf(
  found: Found,
  texts: AsyncIterable<string>,
  { tokenizer: wanted, vocab }: RunSettings,
  signal?: AbortSignal,
): Promise<Tokenizer> {
  const kind = wanted ?? (found.task === "tag" ? tagTokenizer(found.train) : tokenizerFor[found.task]);
  if ((tokenizerKinds as readonly string[]).includes(kind)) return trainTokenizer(kind as TokenizerKind, texts, { vocab, signal });
  if (!kind.endsWith(".json"))
    throw new ConfigError(
      `there is no tokenizer called "${kind}"${suggest(kind, tokenizerKinds) || `; there are ${tokenizerKinds.join(", ")}, or give a tokenizer.json`}`,
      { code: "config.unknown-name", path: "tokenizer" },
    );
  if (vocab !== undefined)
    throw new ConfigError(sentence`${setting("vocab")} is for a tokenizer that is trained; ${kind} has its own`, {
      code: "config.conflict",
      path: "vocab",
    });
  return parseTokenizer(await readTokenizer(kind), kind);
}

async function readTokenizer(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw await unreadable(file, cause);
  }
}

/** Tags of words or of characters? Where every text has as many characters as tags, and not as many words, of characters. */
function tagTokenizer(examples: readonly Example[]): TokenizerKind {
  const fits = (unitsOf: (text: string) => number) =>
    examples.every((example) => "tags" in example && unitsOf(example.text) === example.tags.length);
  return !fits((text) => wordsOf(text).length) && fits((text) => [...text].length) ? "char" : "word";
}
