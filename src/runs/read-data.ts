import { readFile } from "node:fs/promises";
import { ConfigError, DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { wordsOf } from "../batches/encode.ts";
import { type Encoded, encodeRaw, labelsOf } from "../data/encoded.ts";
import { type Found, type Learn, labellingOf, loadRaw, type Raw, taskOfData } from "../data/raw.ts";
import type { DataSource } from "../data/source.ts";
import { unreadable } from "../disk/text-files.ts";
import { chatOf } from "../hub/chat.ts";
import type { Example, Labelling } from "../text/examples.ts";
import { type ChatFormat, usualChat } from "../tokens/chat-template.ts";
import {
  parseTokenizer,
  saveTokenizer,
  type Tokenizer,
  type TokenizerKind,
  tokenizerKinds,
  trainTokenizer,
  unframed,
  withMask,
} from "../tokens/index.ts";
import type { Task } from "./config.ts";
import { tokenizerFor } from "./defaults.ts";
import type { TrainOptions } from "./drive.ts";
import { type OpenRun, sha256 } from "./folder.ts";
import { parentFor } from "./new-head.ts";
import { joinedLabels, refuseOtherLabelling } from "./parent.ts";
import type { RunSettings } from "./prepare.ts";

// What follows from the data, its tokenizer and the run that is gone on from; whatever model will be trained on it.

export interface DataRead {
  readonly raw: Raw;
  readonly task: Task;
  readonly tokenizer: Tokenizer;
  readonly tokenizerHash: string;
  readonly encoded: Encoded;
  /** The run that is gone on from, with the head that the task wants. */
  readonly from?: OpenRun;
  /** The labels of the data, and all of the model. */
  readonly found?: readonly string[];
  readonly labels?: readonly string[];
  readonly labelling: Labelling;
  /** How conversations are read, and how that run read them. */
  readonly chat?: ChatFormat;
  readonly known?: ChatFormat;
  /** Tokens of the longest example that is trained on. */
  readonly longest?: number;
}

/** The settings that matter to it. */
export type DataSettings = Pick<RunSettings, "task" | "source" | "tokenizer" | "vocab" | "lowercase" | "normalize" | "from">;

/** Reads the data, learns a tokenizer from it, and turns it into ids. `early` may refuse a task before the data is worked on. */
export async function readData(
  settings: DataSettings,
  { cache, rows, signal }: Pick<TrainOptions, "cache" | "rows" | "signal">,
  early: (task: Task, from: OpenRun | undefined) => void = () => {},
): Promise<DataRead> {
  const { source, from: wanted } = settings;
  let learned: { readonly tokenizer: Tokenizer; readonly from?: OpenRun } | undefined;
  const learn: Learn = async (found, texts) => {
    const { task } = found;
    if (settings.task !== undefined && settings.task !== task)
      throw new ConfigError(sentence`the data is for ${setting("task", task)}, and ${setting("task", settings.task)} was asked for`, {
        code: "config.task",
        path: "task",
      });
    const from = wanted && parentFor(wanted, task);
    early(task, from);
    learned = { tokenizer: from ? from.tokenizer : await newTokenizer(found, texts, settings, signal), ...(from && { from }) };
  };
  const raw = await loadRaw(source, { task: settings.task, learn, rows, signal });
  if (!learned) throw new DataError("the data has no text to learn from");
  const { tokenizer, from } = learned;
  const found = raw.kind === "examples" ? labelsOf(raw) : undefined;
  const labelling = raw.kind === "examples" ? (labellingOf(raw.train) ?? "one") : "one";
  if (from) refuseOtherLabelling(from, labelling);
  const labels = from && found ? joinedLabels(from.config.labels, found) : found;
  if (labels?.length === 0) throw new DataError(`${whereFrom(source)}no example has a label; give some that have`);
  if (labels?.length === 1 && labelling === "one")
    throw new DataError(`${whereFrom(source)}every example has the same label, "${labels[0]}"; give examples of another one too`);
  const tokenizerHash = sha256(saveTokenizer(tokenizer));
  const known = from && chatOf(from.config);
  const chat = known ?? (raw.kind === "examples" && raw.train.some(isConversation) ? usualChat(tokenizer) : undefined);
  const encoded = await encodeRaw(raw, { tokenizer, tokenizerHash, labels, chat, cache, signal });
  const longest = encoded.kind === "text" ? undefined : longestOf(encoded);
  return { raw, task: taskOfData(raw), tokenizer, tokenizerHash, encoded, from, found, labels, labelling, chat, known, longest };
}

const isConversation = (example: Example): boolean => "messages" in example;

const whereFrom = (source: DataSource): string => (source.kind === "files" ? `${source.files.join(", ")}: ` : "");

/** Tokens of the longest example that is trained on. */
const longestOf = ({ train, layout }: Extract<Encoded, { kind: "examples" }>): number =>
  train.reduce((most, example) => Math.max(most, ...layout.lengths(example)), 1);

/** Where tokens are hidden, there is one that stands in their place. */
async function newTokenizer(found: Found, texts: AsyncIterable<string>, settings: DataSettings, signal?: AbortSignal): Promise<Tokenizer> {
  const tokenizer = await tokenizerOf(found, texts, settings, signal);
  return found.task === "mlm" ? unframed(withMask(tokenizer)) : tokenizer;
}

async function tokenizerOf(found: Found, texts: AsyncIterable<string>, settings: DataSettings, signal?: AbortSignal): Promise<Tokenizer> {
  const { tokenizer: wanted, vocab, lowercase, normalize } = settings;
  const kind = wanted ?? (found.task === "tag" ? tagTokenizer(found.train ?? []) : tokenizerFor[found.task]);
  if ((tokenizerKinds as readonly string[]).includes(kind))
    return trainTokenizer(kind as TokenizerKind, texts, { vocab, lowercase, normalize, signal });
  if (!kind.endsWith(".json"))
    throw new ConfigError(
      `there is no tokenizer called "${kind}"${suggest(kind, tokenizerKinds) || `; there are ${tokenizerKinds.join(", ")}, or give a tokenizer.json`}`,
      { code: "config.unknown-name", path: "tokenizer" },
    );
  const own = vocab !== undefined ? "vocab" : lowercase ? "lowercase" : normalize !== undefined ? "normalize" : undefined;
  if (own !== undefined)
    throw new ConfigError(sentence`${setting(own)} is for a tokenizer that is trained; ${kind} has its own`, {
      code: "config.conflict",
      path: own,
    });
  return unframed(parseTokenizer(await readTokenizer(kind), kind));
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
