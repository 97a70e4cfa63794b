import { existsSync, realpathSync } from "node:fs";
import { stat } from "node:fs/promises";
import { extname } from "node:path";
import { ConfigError, DataError, RunError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { isAlive } from "../disk/files.ts";
import { isWriting, PartFile, type PartState, readPart } from "../disk/part-file.ts";
import { hashFiles, unreadable } from "../disk/text-files.ts";
import { noWeights, sha256, shippedFile } from "../runs/folder.ts";
import { quoted } from "../text/quote.ts";
import type { StreamedRow } from "../text/row-stream.ts";
import { type Cell, rowWriter } from "../text/row-writer.ts";
import type { TableFormat } from "../text/rows.ts";
import { cutSentence, teller, unknownIn, unknownSentence, type Warn } from "../trained/reading.ts";
import { alone, type Group } from "../training/group.ts";
import { type Answering, type AnswerKind, type AnswerOptions, answeringOf } from "./answering.ts";
import { groups, mostCharacters, rowHash, rowsOf, type Survey, surveyed, textIn } from "./survey.ts";
import type { Trained } from "./trained.ts";

// A file in, a file out. The whole file is read once before anything is computed, so that what is wrong with it is said at once; then row by
// row, in groups that are cut at the same places whatever happened before, so that the bytes are the same after any number of kills.

export interface PredictFileOptions extends AnswerOptions {
  /** What to do with the texts; what the run was trained for, if left out. */
  readonly as?: AnswerKind;
  /** The column that holds the text. If left out, that of the run's own data, or `text`, `source` or `prompt`. */
  readonly column?: string;
  /** Put before the names of the columns that are added. */
  readonly prefix?: string;
  /** Replace the file if it is there, and a part of it that was made of something else. */
  readonly overwrite?: boolean;
  /** Stops between two groups of rows; the same call goes on from there. */
  readonly signal?: AbortSignal;
  /** Told once, when all rows are through; as the model tells it if left out, nobody if false. */
  readonly warn?: Warn | false;
  readonly listen?: (event: PredictFileEvent) => void;
  /** Who answers together, each some of the rows; rank 0 writes them. */
  readonly group?: Group;
}

export interface PredictFileEvent {
  /** Rows that are answered. */
  readonly done: number;
  /** Rows that stay, whatever happens. */
  readonly saved: number;
  /** All of them. */
  readonly rows: number;
  /** Rows that were done when this call began. */
  readonly begun: number;
}

export interface PredictFileResult {
  readonly out: string;
  readonly rows: number;
  /** Rows that were done when this call began. */
  readonly begun: number;
  /** Rows with nothing to read in them, whose answer is empty. */
  readonly empty: number;
  /** Rows that were longer than the context. */
  readonly cut: number;
}

const secondsBetweenSaves = 0.5;

/** What a run was trained for. */
function usualAnswer({ task, name }: Trained): AnswerKind {
  if (task === "embed" || task === "mlm")
    throw new ConfigError(`${name} is for ${task}; a file's rows are answered by models that classify, tag, translate or continue text`, {
      code: "config.task",
    });
  return task === "lm" ? "generate" : task;
}

/** Reads rows, and writes them with the answers beside them. Killed at any moment, the same call goes on where it was. */
export async function predictFile(run: Trained, from: string, to: string, options: PredictFileOptions = {}): Promise<PredictFileResult> {
  const { as = usualAnswer(run), column, prefix = "", overwrite, signal, warn, listen, group = alone, ...asked } = options;
  const toWarn = teller({ warn }, run);
  const [input, output] = [inputFormat(from), outputFormat(to)];
  const answering = answeringOf(run, as, output, asked);
  if (!group.leads) return assisted(run, from, to, { answering, group, input, strict: asked.strict });
  const added = answering.added.map((name) => prefix + name);
  await refusePlaces(from, to, overwrite);
  const before = readPart(to);
  refuseBusy(before, to);
  const names = column === undefined ? usualNames(run, answering) : [column];
  const survey = await surveyed(from, input, { names, output, digestOf: before?.rows });
  refuseTwin(added, survey, from);
  const made = await madeOf(run, { as, ...asked }, { added, survey, size: answering.rows });
  const state = before && (goesOn(before, made, survey, to, overwrite) ? before : undefined);
  const work: Work = { run, from, answering, column: survey.column, strict: asked.strict };
  const counts = { ...noCounts, ...state?.counts };
  const begun = state?.rows ?? 0;
  await group.told(JSON.stringify({ begun, column: survey.column } satisfies Assignment));
  let [done, saved, savedAt] = [0, begun, performance.now()];
  const tell = (): void => listen?.({ done: Math.max(begun, done), saved, rows: survey.rows, begun });
  tell();

  const writer = rowWriter(output, survey.columns, added);
  const part = new PartFile(to, state?.bytes);
  const read = rowHash();
  const save = (): void => {
    part.save({ made, rows: done, read: read.soFar(), counts });
    [saved, savedAt] = [done, performance.now()];
  };
  try {
    if (state)
      part.save(state); // others see whose it is now
    else {
      part.append(writer.header);
      save();
    }
    for await (const { rows, answer } of answered(groups(rowsOf(from, input), answering.rows), begun, work, group)) {
      if (done >= begun && signal?.aborted) {
        if (done > saved) save();
        signal.throwIfAborted();
      }
      for (const row of rows) read.add(row);
      if (answer) {
        part.append(rows.map((row, i) => writer.row(row, answer.cells[i])).join(""));
        for (const name of countNames) counts[name] += answer.counts[name];
      }
      done += rows.length;
      if (done <= begun) continue;
      if (performance.now() - savedAt >= 1000 * secondsBetweenSaves) save();
      tell();
    }
    part.finish();
  } finally {
    part.close();
  }
  const { empty, cut, unknown } = counts;
  const blank = empty > 0 ? [`${empty} of ${done} rows have nothing in them that the model could read, so their answers are empty`] : [];
  for (const said of [...blank, ...cutSentence(cut, done, "rows", answering.longest), ...unknownSentence(unknown)]) toWarn(said);
  return { out: to, rows: done, begun, empty, cut };
}

interface Work {
  readonly run: Trained;
  readonly from: string;
  readonly answering: Answering;
  readonly column: Survey["column"];
  readonly strict?: boolean;
}

const countNames = ["empty", "cut", "unknown"] as const;
const noCounts = { empty: 0, cut: 0, unknown: 0 };

/** What a group of rows is answered with, and what was noteworthy about it. */
interface GroupAnswer {
  readonly cells: readonly (readonly Cell[])[];
  readonly counts: Readonly<typeof noCounts>;
}

/** Groups with their answers. So many rows were answered before, and are only read; the others are divided, a group to each rank in turn. */
async function* answered(
  all: AsyncIterable<readonly StreamedRow[]>,
  begun: number,
  work: Work,
  ranks: Group,
): AsyncGenerator<{ readonly rows: readonly StreamedRow[]; readonly answer?: GroupAnswer }> {
  let round: { readonly rows: readonly StreamedRow[]; readonly first: number }[] = [];
  const finish = async () => {
    const own = round[ranks.rank];
    const answer = own && (await answersTo(own.rows, own.first, work));
    const answers = ranks.size === 1 ? [answer] : (await ranks.exchange(JSON.stringify(answer ?? null))).map((text) => JSON.parse(text));
    const found = round.map(({ rows }, i) => ({ rows, answer: answers[i] as GroupAnswer }));
    round = [];
    return found;
  };
  let first = 0;
  for await (const rows of all) {
    if (first + rows.length > begun) round.push({ rows, first });
    else yield { rows };
    first += rows.length;
    if (round.length === ranks.size) yield* await finish();
  }
  if (round.length > 0) yield* await finish();
}

/** What rank 0 tells the others. */
interface Assignment {
  readonly begun: number;
  readonly column: Survey["column"];
}

/** Another rank than 0: it answers its groups, and writes nothing. */
async function assisted(
  run: Trained,
  from: string,
  to: string,
  { answering, group, input, strict }: { answering: Answering; group: Group; input: TableFormat; strict?: boolean },
): Promise<PredictFileResult> {
  const { begun, column } = JSON.parse(await group.told("")) as Assignment;
  let [rows, empty, cut] = [0, 0, 0];
  for await (const one of answered(groups(rowsOf(from, input), answering.rows), begun, { run, from, answering, column, strict }, group)) {
    rows += one.rows.length;
    empty += one.answer?.counts.empty ?? 0;
    cut += one.answer?.counts.cut ?? 0;
  }
  return { out: to, rows, begun, empty, cut };
}

/** The answers of a group, in its order; those of rows with nothing in them are empty. */
async function answersTo(group: readonly StreamedRow[], first: number, work: Work): Promise<GroupAnswer> {
  const { run, from, answering, column, strict } = work;
  const counts = { ...noCounts };
  const texts = group.map((row) => textIn(row, column, from));
  const places = texts.flatMap((text, i) => {
    const ids = answering.ids(text);
    counts.unknown += unknownIn(ids, run.tokenizer);
    if (ids.length > answering.longest) {
      if (strict) throw tooLong(ids.length, answering.longest, { file: from, line: group[i].line });
      counts.cut++;
    }
    return isEmpty(text, ids, answering) ? [] : [i];
  });
  counts.empty += texts.length - places.length;
  const found =
    places.length > 0
      ? await answering.answer(
          places.map((i) => texts[i]),
          places.map((i) => first + i),
        )
      : [];
  const cells: (readonly Cell[])[] = texts.map(() => answering.added.map(() => null));
  for (const [n, i] of places.entries()) cells[i] = found[n];
  return { cells, counts };
}

const isEmpty = (text: string, ids: Int32Array, { answersNothing }: Answering): boolean =>
  answersNothing ? ids.length === 0 && text !== "" : ids.length === 0 || text.trim() === "";

const tooLong = (tokens: number, context: number, place: { readonly file: string; readonly line: number }): DataError =>
  new DataError(sentence`${tokens} tokens, and the context has ${context}; shorten it, or leave out ${setting("strict")}`, {
    ...place,
    code: "data.too-much",
  });

/** The name that the run's own data has for it goes first. */
function usualNames(run: Trained, { column }: Answering): string[] {
  const { source } = run.run.config.data;
  const own = source.kind === "files" && column !== "prompt" ? source.columns?.[column] : undefined;
  return own === undefined ? [column] : [own, column];
}

const endings: readonly string[] = ["csv", "tsv", "jsonl"] satisfies TableFormat[];
const isFormat = (ending: string): ending is TableFormat => endings.includes(ending);
const endingOf = (file: string): string => extname(file).slice(1).toLowerCase();

function inputFormat(file: string): TableFormat {
  const ending = endingOf(file);
  if (isFormat(ending)) return ending;
  const found = ending === "" ? "no ending" : `the ending .${ending}`;
  throw new DataError(`${found}; rows are read from a .csv, a .tsv or a .jsonl, so rename the file or convert it`, {
    code: "data.file",
    file,
  });
}

function outputFormat(file: string): TableFormat {
  const ending = endingOf(file);
  if (isFormat(ending)) return ending;
  throw new ConfigError(sentence`${file}: rows are written as .csv, .tsv or .jsonl; end the name of ${setting("out")} in one of them`, {
    code: "config.choice",
    path: "out",
  });
}

async function refusePlaces(from: string, to: string, overwrite = false): Promise<void> {
  const found = await stat(from).catch(async (cause: unknown) => {
    throw await unreadable(from, cause);
  });
  if (!found.isFile())
    throw new DataError("this is no plain file; it is read twice, once to check it, so write it to a file first", {
      code: "data.file",
      file: from,
    });
  if (!existsSync(to)) return;
  if (realpathSync(from) === realpathSync(to))
    throw new ConfigError(sentence`${to} is what is read; choose another ${setting("out")}`, { code: "config.conflict", path: "out" });
  if (!overwrite)
    throw new RunError(
      sentence`${to} is there already; choose another ${setting("out")}, or replace it with ${setting("overwrite", true)}`,
      {
        code: "run.exists",
      },
    );
}

/** Two that write into one file would tear it apart. */
function refuseBusy(before: PartState | undefined, to: string): void {
  const other = before !== undefined && before.process !== process.pid && isAlive(before.process);
  if (!other && !isWriting(to)) return;
  const who = other ? `process ${before.process}` : "this process";
  throw new RunError(
    `${who} is writing ${to}.part at this moment; wait for it or stop it${other ? ` (if there is none, remove ${to}.part.json)` : ""}`,
    {
      code: "run.busy",
    },
  );
}

function refuseTwin(added: readonly string[], { columns }: Survey, file: string): void {
  const twin = added.find((name, i) => columns.includes(name) || added.indexOf(name) < i);
  if (twin === undefined) return;
  throw new ConfigError(
    sentence`${file} has a column ${quoted(twin)} already; put something before the names of those that are added, such as ${setting("prefix", "predicted_")}`,
    { code: "config.conflict", path: "prefix" },
  );
}

interface Making {
  readonly added: readonly string[];
  readonly survey: Survey;
  /** Rows of a group. */
  readonly size: number;
}

/** What rows follow from, beside what was read: where all of it is the same, they are the same. */
async function madeOf(run: Trained, options: object, { added, survey, size }: Making): Promise<PartState["made"]> {
  const { folder, config } = run.run;
  const { training: _, data: __, ...model } = config;
  const files = run.run.outside?.files ?? [shippedFile(folder)];
  if (files.some((file) => !existsSync(file))) throw noWeights(folder);
  const plain = (_: string, value: unknown) => (value instanceof Map ? [...value] : value);
  return {
    model: sha256(JSON.stringify([model, await hashFiles(files), run.device.precision ?? "f32", run.temperature])),
    column: survey.column,
    columns: JSON.stringify(survey.columns),
    options: JSON.stringify(options, plain),
    added: JSON.stringify(added),
    groups: `${size} rows, ${mostCharacters} characters`,
  };
}

const differences: Readonly<Record<string, string>> = {
  model: "another model",
  column: "another column of texts",
  columns: "rows with other columns",
  options: "other options",
  added: "other names for what is added",
};

/** Whether a part that is there is the beginning of this very work. If not, it is only thrown away by whoever says so. */
function goesOn(before: PartState, made: PartState["made"], { read }: Survey, to: string, overwrite = false): boolean {
  const [other] = Object.keys(made).filter((name) => before.made[name] !== made[name]);
  const what = other === undefined ? "rows that have changed since" : (differences[other] ?? "another version of qkv");
  if (other === undefined && (before.rows === 0 || before.read === read)) return true;
  if (overwrite) return false;
  throw new RunError(
    sentence`${to}.part holds ${before.rows} rows that were made with ${what}; finish it with the same input and settings as before, choose another ${setting("out")}, or begin again with ${setting("overwrite", true)}`,
    { code: "run.changed" },
  );
}
