import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { DataError, RunError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { forEachItem, Turns } from "../base/turns.ts";
import { formatOf, readExamples, readTextColumn } from "../disk/text-files.ts";
import { type LongerTests, recipe } from "../recipes/index.ts";
import { contradictions, smallClasses } from "../text/classes.ts";
import type { TextTask } from "../text/columns.ts";
import { answerOf, type Example, type ExampleTask, inputOf, type Labelling, type Task, textsIn } from "../text/examples.ts";
import { type Given, type GivenRows, RowReader } from "../text/given.ts";
import { distinct, type SplitRule, splittingExamples } from "../text/split.ts";
import type { DataSource, FileSource, MemorySource, Rows } from "./source.ts";
import {
  bytesOf,
  divideTexts,
  drained,
  inspectTexts,
  openTexts,
  readPart,
  type TextPart,
  trainingParts,
  validationParts,
  wholePieces,
} from "./texts.ts";

// Data as it was found: text or examples, in parts to train on, to validate with, and (recipes) to test on.

interface Hashed {
  /** SHA-256 of everything that training sees. */
  readonly sha256: string;
  readonly warnings: readonly string[];
}

export interface RawText extends Hashed {
  readonly kind: "text";
  readonly task: TextTask;
  readonly train: readonly TextPart[];
  readonly valid: readonly TextPart[];
  /** Pieces that are scored each by itself. */
  readonly test?: readonly TextPart[];
}

export interface RawExamples extends Hashed {
  readonly kind: "examples";
  readonly task: ExampleTask;
  readonly train: readonly Example[];
  readonly valid: readonly Example[];
  readonly test?: readonly Example[];
  readonly longer?: LongerTests;
}

export type Raw = RawText | RawExamples;

/** How much there is: bytes of text, or examples. */
export const amount = (raw: Raw, part: "train" | "valid"): number => (raw.kind === "text" ? bytesOf(raw[part]) : raw[part].length);

/** Told of the text to train on while it is read, so that nothing is read again to learn a vocabulary from it. */
export type Learn = (found: Found, texts: AsyncIterable<string>) => Promise<void>;

/** What is known of data when its text comes. */
export type Found =
  | { readonly task: TextTask; readonly train?: undefined }
  | { readonly task: ExampleTask; readonly train: readonly Example[] };

export interface LoadOptions {
  /** The task that the data must be for. */
  readonly task?: Task;
  readonly learn?: Learn;
  /** Of a source in memory. */
  readonly rows?: Rows;
  readonly signal?: AbortSignal;
}

/** Reads data, all of it once. */
export async function loadRaw(source: DataSource, options: LoadOptions = {}): Promise<Raw> {
  const { learn = async () => {} } = options;
  const raw = await loaded(source, { ...options, learn });
  if (raw.kind === "examples") await learn({ task: raw.task, train: raw.train }, textsOf(raw.train));
  return raw;
}

function loaded(source: DataSource, options: LoadOptions & { readonly learn: Learn }): Promise<Raw> {
  switch (source.kind) {
    case "recipe":
      return loadRecipe(source.name, source.full, options);
    case "memory":
      return loadRows(source, options);
    case "files":
      return loadFiles(source, options.task, options.learn);
    case "hub":
      throw new DataError(
        sentence`the model came from ${source.from}, and what it was trained on is not known here; name a file, or go on from it with data of your own: ${setting("from")}`,
        { code: "run.rows" },
      );
  }
}

async function* textsOf(examples: readonly Example[]): AsyncGenerator<string> {
  for (const example of examples) yield* textsIn(example);
}

async function loadFiles(source: FileSource, task: Task | undefined, learn: Learn): Promise<Raw> {
  for (const file of [...source.files, ...(source.valid ? [source.valid] : [])]) {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw new DataError(`${file}: this is a folder; name a file in it`);
  }
  const texts = source.files.filter((file) => formatOf(file) === "txt");
  if (texts.length > 0 && texts.length < source.files.length)
    throw new DataError(
      `${texts[0]} is text, and ${source.files.find((file) => formatOf(file) !== "txt")} has examples; train on one kind at a time`,
    );
  if (texts.length > 0) {
    if (task !== undefined && !isTextTask(task))
      throw new DataError(
        sentence`a .txt is plain text, for ${setting("task", "lm")}; ${setting("task", task)} wants a .tsv, .csv or .jsonl with examples`,
        { code: "data.task", file: texts[0] },
      );
    return loadTexts(source, learn, task);
  }
  return task === "mlm" ? loadColumn(source, learn) : loadExamples(source, task);
}

const isTextTask = (task: Task): task is TextTask => task === "lm" || task === "mlm";

/** What text is for: a language model, unless something else is asked for. */
const textTask = (task: Task | undefined): TextTask => (task === "mlm" ? task : "lm");

/** The texts of a table, whatever else it has. */
async function loadColumn({ files, valid: other, validFraction, columns }: FileSource, learn: Learn): Promise<RawText> {
  const texts = await readTextColumn(files, columns);
  const held = other === undefined ? undefined : await readTextColumn([other], columns);
  return textsInMemory(texts, held, validFraction, "mlm", learn);
}

async function textsInMemory(
  texts: readonly string[],
  held: readonly string[] | undefined,
  validFraction: number,
  task: TextTask,
  learn: Learn,
): Promise<RawText> {
  const { train, valid, sha256 } = divideTexts(texts, validFraction);
  const others = held && divideTexts(held, 0);
  await learn({ task }, allPieces(train));
  if (!others) return { kind: "text", task, train, valid, sha256, warnings: [] };
  return { kind: "text", task, train, valid: others.train, sha256: joinedHash(sha256, others.sha256), warnings: [] };
}

async function loadRows(
  { valid: withValid, validFraction, split }: MemorySource,
  { task, learn, rows, signal }: LoadOptions & { readonly learn: Learn },
): Promise<Raw> {
  if (rows === undefined) throw rowsMissing(withValid);
  const turns = new Turns(signal);
  const given = await readRows(rows.data, task, "data", turns);
  if (withValid && rows.valid === undefined) throw rowsMissing(withValid);
  const labelling = given.kind === "texts" ? undefined : labellingOf(given.examples);
  const other = withValid && rows.valid !== undefined ? await readRows(rows.valid, given.task, "valid", turns, labelling) : undefined;
  if (other && other.kind !== given.kind)
    throw new DataError(`the rows are ${given.kind}, and those to validate with ${other.kind}; give rows of one kind`, { at: "valid" });
  if (given.kind === "examples")
    return turns.through(
      dividing(given.task, given.examples, { validFraction, split }, other?.kind === "examples" ? other.examples : undefined),
    );
  return textsInMemory(given.texts, other?.kind === "texts" ? other.texts : undefined, validFraction, given.task, learn);
}

const rowsMissing = (withValid: boolean): RunError =>
  new RunError(
    `the run was trained on rows that a program held in memory, which it does not keep; go on in a program that has them: resume(folder, { data${withValid ? ", valid" : ""} })`,
    { code: "run.rows" },
  );

/** Rows in memory, checked one by one; `name` is what errors call them. */
export async function readRows(rows: GivenRows, task: Task | undefined, name: string, turns: Turns, labelling?: Labelling): Promise<Given> {
  const reader = new RowReader(task, name, labelling);
  for await (const row of rows) {
    reader.add(row);
    if (turns.over) await turns.rest();
  }
  return reader.given;
}

async function* allPieces(parts: readonly TextPart[]): AsyncGenerator<string> {
  for (const part of parts) yield* wholePieces(readPart(part));
}

async function loadRecipe(name: string, full: boolean, { task: asked, learn }: LoadOptions & { readonly learn: Learn }): Promise<Raw> {
  const data = await recipe(name).data(full);
  if (data.kind === "text") return loadTexts({ kind: "files", files: [data.file], validFraction: data.validFraction }, learn, asked);
  if (data.kind === "made-text") {
    const task = textTask(asked);
    await learn({ task }, wholePieces(readPart({ text: data.train })));
    const [train, valid] = [[{ text: data.train }], [{ text: data.valid }]];
    return {
      kind: "text",
      task,
      train,
      valid,
      test: data.test.map((text) => ({ text })),
      sha256: joinedHash(data.train, data.valid),
      warnings: [],
    };
  }
  return { ...data, sha256: await new Turns().through(hashExamples(data.train, data.valid)), warnings: [] };
}

async function loadTexts({ files, valid, validFraction }: FileSource, learn: Learn, asked?: Task): Promise<RawText> {
  const task = textTask(asked);
  if (valid !== undefined && formatOf(valid) !== "txt")
    throw new DataError(`${valid}: the training data is text, so the validation data must be a .txt too`);
  const documents = await openTexts(files, valid === undefined ? validFraction : 0);
  const other = valid === undefined ? [] : await openTexts([valid], 0); // a wrong name is told before anything is learned
  const text = inspectTexts(documents);
  const heard = listening(text);
  await learn({ task }, heard);
  const sha256 = heard.result ?? (await drained(text)); // what nobody listened to is inspected all the same
  const train = trainingParts(documents);
  if (valid === undefined) return { kind: "text", task, train, valid: validationParts(documents), sha256, warnings: [] };
  const otherHash = await drained(inspectTexts(other));
  return { kind: "text", task, train, valid: trainingParts(other), sha256: joinedHash(sha256, otherHash), warnings: [] };
}

/** A generator to listen to, which remembers what it gave back in the end, and can be left before. */
function listening<Result>(pieces: AsyncGenerator<string, Result>): AsyncIterable<string> & { readonly result?: Result } {
  const state: { result?: Result } = {};
  return {
    get result() {
      return state.result;
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const { done, value } = await pieces.next();
        if (done) {
          state.result = value;
          return;
        }
        yield value;
      }
    },
  };
}

async function loadExamples({ files, valid, validFraction, columns, split }: FileSource, task?: ExampleTask): Promise<RawExamples> {
  const read = await readExamples(files, { task, columns });
  const options = { task: read.task, columns, labelling: labellingOf(read.examples) };
  const held = valid === undefined ? undefined : (await readExamples([valid], options)).examples;
  return new Turns().through(dividing(read.task, read.examples, { validFraction, split }, held));
}

/** Examples, each once, in a part to train on and one to validate with: a share of them, or others that were given. */
export function* dividing(
  task: ExampleTask,
  found: readonly Example[],
  { validFraction, split = "hash" }: { readonly validFraction: number; readonly split?: SplitRule },
  held?: readonly Example[],
): Generator<void, RawExamples> {
  if (held === undefined) {
    const { train, valid, duplicates } = yield* splittingExamples(found, validFraction, split);
    return yield* parts(task, train, valid, duplicates, split === "stratified" ? yield* smallClasses({ train, valid }) : []);
  }
  const train = yield* distinct(found);
  const inputs = new Set(train.map(inputOf));
  const seen = held.filter((example) => inputs.has(inputOf(example))).length;
  const both = seen > 0 ? [`${seen} of the ${held.length} validation examples have an input that is trained on too`] : [];
  return yield* parts(task, train, held, found.length - train.length, both);
}

/** Whether texts have one label or several; nothing for examples without labels. */
export const labellingOf = ([first]: readonly Example[]): Labelling | undefined =>
  first === undefined ? undefined : "labels" in first ? "several" : "label" in first ? "one" : undefined;

function* parts(
  task: ExampleTask,
  train: readonly Example[],
  valid: readonly Example[],
  duplicates: number,
  others: readonly string[] = [],
): Generator<void, RawExamples> {
  const twice = duplicates > 0 ? [copiesSentence(duplicates)] : [];
  const warnings = [...twice, ...(yield* contradictions([...train, ...valid])), ...others];
  return { kind: "examples", task, train, valid, sha256: yield* hashExamples(train, valid), warnings };
}

const copiesSentence = (count: number): string =>
  count === 1
    ? "1 example is a copy of another and is left out"
    : `${count.toLocaleString("en")} examples are copies of others and are left out`;

/** Of what the examples say, not of where they were read. */
function* hashExamples(...lists: readonly (readonly Example[])[]): Generator<void, string> {
  const hash = createHash("sha256");
  for (const list of lists) {
    yield* forEachItem(list, (example) => hash.update(JSON.stringify([inputOf(example), answerOf(example)])));
    hash.update("\n");
  }
  return hash.digest("hex");
}

const joinedHash = (...parts: readonly string[]): string => createHash("sha256").update(parts.join()).digest("hex");

/** The task that data is for. */
export const taskOfData = (raw: Raw): Task => raw.task;
