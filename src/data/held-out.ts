import { resolve } from "node:path";
import { DataError } from "../base/errors.ts";
import { Turns } from "../base/turns.ts";
import { formatOf, readExamples, readTextColumn } from "../disk/text-files.ts";
import type { EvaluationData } from "../evaluation/evaluate.ts";
import { dataTask, givesSeveral, type ModelConfig } from "../models/any.ts";
import type { ModelTask } from "../text/columns.ts";
import { type Columns, type Example, inputOf, type Labelling, type Task } from "../text/examples.ts";
import type { GivenRows } from "../text/given.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { Warn } from "../trained/reading.ts";
import { loadRaw, type Raw, readRows } from "./raw.ts";
import type { DataSource, Rows } from "./source.ts";
import { bytesOf, divideTexts, drained, inspectTexts, openTexts, readPart, type TextPart, trainingParts } from "./texts.ts";
import { type TokenisedText, tokenise } from "./tokenised.ts";

// What a run is evaluated on: files that are given, or the part of its own data that was held out.

/** A run, as far as its data goes. */
export interface DataOwner {
  readonly config: {
    readonly task: ModelTask;
    readonly model: ModelConfig;
    readonly data: { readonly source: DataSource; readonly sha256: string };
    readonly tokenizer: { readonly sha256: string };
  };
  readonly tokenizer: Tokenizer;
}

/** Data to evaluate on, and what closes the files that it is read from. */
export interface HeldOut {
  readonly data: EvaluationData;
  close(): void;
}

const nothingToClose = () => {};

/** The data that was given, read as the run's task wants it. */
export async function givenData(
  owner: DataOwner,
  files: readonly string[],
  columns: Columns,
  cache: string,
  warn: Warn = () => {},
): Promise<HeldOut> {
  const { data, model } = owner.config;
  const task = dataTask(owner.config.task);
  if ((task === "lm" || task === "mlm") && files.some((file) => formatOf(file) === "txt")) {
    const wrong = files.find((file) => formatOf(file) !== "txt");
    if (wrong) throw new DataError(`${wrong} has examples, and others are text; evaluate on one kind at a time`);
    const documents = await openTexts(files, 0);
    const sha256 = await drained(inspectTexts(documents));
    for (const sentence of trainedTexts(owner, files, sha256)) warn(sentence);
    return textData(owner, [trainingParts(documents)], sha256, cache);
  }
  const known = data.source.kind === "files" ? data.source.columns : undefined;
  if (task === "mlm") {
    const { train, sha256 } = divideTexts(await readTextColumn(files, { ...known, ...columns }), 0);
    for (const sentence of trainedTexts(owner, files, sha256)) warn(sentence);
    return textData(owner, [train], sha256, cache);
  }
  const { examples } = await readExamples(files, { task, labelling: labellingFor(task, model), columns: { ...known, ...columns } });
  for (const sentence of await trainedExamples(owner, examples)) warn(sentence);
  return { data: { kind: "examples", examples }, close: nothingToClose };
}

/** Data to measure a classifier on has as many labels for a text as its own data had. */
const labellingFor = (task: Task, model: ModelConfig): Labelling | undefined =>
  task !== "classify" ? undefined : givesSeveral(model) ? "several" : "one";

/** What is to be said of texts that were trained on: the same files, or files that hold the same. */
function trainedTexts({ config: { data } }: DataOwner, files: readonly string[], sha256: string): string[] {
  const { source } = data;
  const own = source.kind === "files" ? source.files : [];
  const seen = sha256 === data.sha256 ? files : files.filter((file) => own.includes(resolve(file)));
  return seen.length > 0
    ? [`the run was trained on ${seen.join(", ")}, so this says little about new text; without a file, what was held out is measured`]
    : [];
}

/** The same of examples, by their inputs. Where the data of the run is not there any more, nobody can tell. */
async function trainedExamples({ config: { task, data } }: DataOwner, examples: readonly Example[]): Promise<string[]> {
  if (data.source.kind !== "files") return [];
  const raw = await loadRaw(data.source, { task: dataTask(task) }).catch((error) => {
    if (error instanceof DataError) return undefined;
    throw error;
  });
  if (raw?.kind !== "examples") return [];
  const trained = new Set(raw.train.map(inputOf));
  const seen = examples.filter((example) => trained.has(inputOf(example))).length;
  return seen > 0 ? [`the run was trained on ${seen} of these ${examples.length} examples, so this says little about new ones`] : [];
}

/** Rows in memory, all of them to evaluate on. */
export async function givenRows(owner: DataOwner, data: GivenRows, cache: string, warn: Warn, signal?: AbortSignal): Promise<HeldOut> {
  const { model } = owner.config;
  const task = dataTask(owner.config.task);
  const given = await readRows(data, task, "data", new Turns(signal), labellingFor(task, model));
  if (given.kind === "examples") {
    for (const sentence of await trainedExamples(owner, given.examples)) warn(sentence);
    return { data: { kind: "examples", examples: given.examples }, close: nothingToClose };
  }
  const { train, sha256 } = divideTexts(given.texts, 0);
  return textData(owner, [train], sha256, cache);
}

interface OwnAsked {
  /** Those that it was trained on, where a program held them. */
  readonly rows?: Rows;
  readonly signal?: AbortSignal;
}

async function ownRaw({ config: { task, data } }: DataOwner, { rows, signal }: OwnAsked): Promise<Raw> {
  if (data.source.kind === "memory" && rows === undefined)
    throw new DataError(
      "the run was trained on rows that a program held in memory, which it does not keep; name a file to evaluate on, or in a program give rows: evaluate(rows), or evaluate([], { own }) with those that it was trained on",
      { code: "run.rows" },
    );
  return loadRaw(data.source, { task: dataTask(task), rows, signal });
}

/** How what was held out of the run's own data begins, in a few words: a text's first whole line that says something, or the first input. */
export async function ownPassage(owner: DataOwner, asked: OwnAsked = {}): Promise<string> {
  const raw = await ownRaw(owner, asked);
  const found =
    raw.kind === "examples"
      ? [...(raw.test ?? raw.valid), ...raw.train].map(inputOf)[0]
      : await firstLine([...(raw.test ?? raw.valid), ...raw.train]);
  return fewWords(found ?? "", owner.tokenizer);
}

/** What is held out begins within a line; where no line follows, the next word has to do. */
async function firstLine(parts: readonly TextPart[]): Promise<string | undefined> {
  for (const part of parts)
    for await (const piece of readPart(part)) {
      const beginning = piece.slice(0, longestSearch);
      const [, ...lines] = beginning.split(/\s*\n\s*/);
      return lines.find((line) => line.length >= shortestLine) ?? beginning.replace(/^\S*\s+/, "");
    }
  return undefined;
}

/** Characters: of a beginning that is looked through, and of a line that says something. */
const [longestSearch, shortestLine] = [4000, 16];
/** Tokens that can be taken in at a glance, letter by letter or word by word. */
const mostPassage = 32;

/** As many of its words as the tokens allow. */
function fewWords(text: string, tokenizer: Tokenizer): string {
  const words = text.trim().split(/\s+/).slice(0, mostPassage);
  while (words.length > 1 && tokenizer.encode(words.join(" ")).length > mostPassage) words.pop();
  return words.length > 1 ? words.join(" ") : [...words.join("")].slice(0, mostPassage).join("");
}

/** The run's own held-out part: a recipe's test, else what it was validated with. */
export async function ownData(owner: DataOwner, cache: string, warn: Warn, asked: OwnAsked = {}): Promise<HeldOut> {
  const raw = await ownRaw(owner, asked);
  if (raw.sha256 !== owner.config.data.sha256)
    warn("the data has changed since the run was trained, so some of it may have been trained on");
  const none = () => new DataError("the run has no validation data; name a file to evaluate on");
  if (raw.kind === "text") {
    if (raw.test)
      return textData(
        owner,
        raw.test.map((part) => [part]),
        `${raw.sha256} test`,
        cache,
      );
    if (raw.valid.length === 0) throw none();
    return textData(owner, [raw.valid], `${raw.sha256} valid`, cache);
  }
  const examples = raw.test ?? raw.valid;
  if (examples.length === 0) throw none();
  return { data: { kind: "examples", examples, longer: raw.longer }, close: nothingToClose };
}

/** Texts as ids, each by itself; one text may be in several parts. */
async function textData(
  { tokenizer, config }: DataOwner,
  texts: readonly (readonly TextPart[])[],
  sha256: string,
  cache: string,
): Promise<HeldOut> {
  const tokenised: TokenisedText[] = [];
  const close = () => {
    for (const { ids } of tokenised) ids.close();
  };
  try {
    for (const parts of texts) tokenised.push(await tokenise(parts, sha256, tokenizer, config.tokenizer.sha256, cache));
  } catch (error) {
    close();
    throw error;
  }
  return {
    data: {
      kind: "text",
      texts: tokenised.map(({ ids }) => ids),
      bytes: bytesOf(texts.flat()),
      unknown: tokenised.reduce((total, { unknown }) => total + unknown, 0),
    },
    close,
  };
}
