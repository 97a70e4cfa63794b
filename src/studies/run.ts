import { ConfigError, NonFiniteError } from "../base/errors.ts";
import { sentence, setting, type Words } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { readIfThere } from "../disk/text-files.ts";
import { open } from "../library/trained.ts";
import type { RunEvent, TrainOptions, TrainResult } from "../runs/drive.ts";
import { makeFolder, paths } from "../runs/folder.ts";
import { resumeRun, trainRun } from "../runs/train-run.ts";
import { allFound, alone, type Group } from "../training/group.ts";
import { totalsOf } from "./log.ts";
import { type Results, type RowResult, readResults, writeResults } from "./results.ts";
import { type Span, settingsOf, withSteps } from "./settings.ts";
import { stepsWithin } from "./speed.ts";
import type { Row, Study } from "./study.ts";

export interface StudyOptions extends Span, Omit<TrainOptions, "checkpoints" | "rows" | "group" | "shardOptimizer"> {
  /** The folder for all of it: a run for each row, results.json, table.md and pictures. */
  readonly out: string;
  readonly threads?: number;
  /** One row alone, by its name. */
  readonly only?: string;
  /** In whose words results.json says why a row has no figures. */
  readonly words?: Words;
  /** Who does it together, each rank some of the rows, on a disk that all share; rank 0 writes the results. */
  readonly group?: Group;
}

/** What a study tells whoever listens. */
export type StudyEvent =
  | { readonly kind: "known" | "timing" | "training" | "measuring"; readonly row: Row }
  | { readonly kind: "event"; readonly row: Row; readonly event: RunEvent }
  | { readonly kind: "measured"; readonly row: Row; readonly result: RowResult };

export interface StudyOutcome {
  readonly results: Results;
  /** Whether it was asked to stop before its end. */
  readonly interrupted: boolean;
}

/** Trains and measures the rows that are not measured yet, one after the other. One that was stopped goes on where it was. */
export async function* runStudy(study: Study, options: StudyOptions): AsyncGenerator<StudyEvent, StudyOutcome> {
  const { out, group = alone } = options;
  const rows = chosenRows(study, options.only);
  const span = spanOf(study, options);
  makeFolder(out);
  let results = await readResults(out, study, span);
  const write = () => group.leads && writeResults(out, study, results);
  const begin = write; // from now on the folder is for rows that are trained so long
  const own = new Map<number, readonly [name: string, result: RowResult] | null>();
  const known = (name: string, result: RowResult) => {
    results = { ...results, rows: { ...results.rows, [name]: result } };
    write();
  };
  for (const [i, row] of rows.entries()) {
    if (i % group.size !== group.rank) continue;
    if (Object.hasOwn(results.rows, row.name)) {
      yield { kind: "known", row };
      continue;
    }
    const result = yield* resultOf(row, span, { ...options, begin });
    own.set(i, result ? [row.name, result] : null);
    if (!result) break;
    known(row.name, result);
    yield { kind: "measured", row, result };
  }
  const all = await allFound(group, own);
  for (const found of all) if (found && !Object.hasOwn(results.rows, found[0])) known(...found);
  return { results, interrupted: all.includes(null) };
}

function chosenRows({ name, rows }: Study, only: string | undefined): readonly Row[] {
  if (only === undefined) return rows;
  const names = rows.map((row) => row.name);
  if (!names.includes(only))
    throw new ConfigError(`the study ${name} has no row called "${only}"${suggest(only, names) || `; there are ${names.join(", ")}`}`, {
      code: "config.unknown-name",
      path: "only",
    });
  return rows.filter((row) => row.name === only);
}

function spanOf({ minutes: usual }: Study, { minutes, steps }: Span): Span {
  if (minutes !== undefined && steps !== undefined)
    throw new ConfigError(sentence`${setting("minutes")} and ${setting("steps")} both say how long a row is trained; give one`, {
      code: "config.conflict",
      path: "minutes",
    });
  if (steps !== undefined) return { steps };
  const length = minutes ?? usual;
  return length === undefined ? {} : { minutes: length };
}

interface RowOptions extends StudyOptions {
  /** Called when training is about to begin. */
  readonly begin: () => void;
}

async function* resultOf(row: Row, span: Span, options: RowOptions): AsyncGenerator<StudyEvent, RowResult | undefined> {
  const folder = `${options.out}/${row.name}`;
  const trained = yield* trainedRow(row, folder, span, options);
  if (trained === "interrupted") return undefined;
  const { steps, seconds, tokens } = totalsOf(folder);
  const { failed, validLoss, parameters } = trained;
  const facts = { validLoss, parameters, tokensPerSecond: seconds > 0 ? tokens / seconds : 0, steps, seconds };
  if (failed !== undefined) return { figures: {}, breakdowns: {}, failed, ...facts };
  yield { kind: "measuring", row };
  const run = open(folder, { warn: false });
  const { figures, breakdowns = {} } = await row.measure(run).finally(() => run.release());
  const tables = Object.entries(breakdowns).map(([title, cells]) => [title, finite(cells)] as const);
  return { figures: finite(figures), breakdowns: Object.fromEntries(tables), ...facts };
}

/** What does not exist, such as a share of nothing, is left out; JSON could not say it. */
const finite = (numbers: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(numbers).filter(([, value]) => Number.isFinite(value)));

type Outcome = Pick<TrainResult, "validLoss" | "parameters"> & { readonly failed?: string };

/** A model whose loss became NaN is a finding, not the end of the study. */
async function* trainedRow(row: Row, folder: string, span: Span, options: RowOptions): AsyncGenerator<StudyEvent, Outcome | "interrupted"> {
  let parameters = 0;
  try {
    const events = yield* started(row, folder, span, options);
    if (!events) return "interrupted";
    for (;;) {
      const { done, value } = await events.next();
      if (done) return value.ending === "interrupted" ? "interrupted" : value;
      if (value.kind === "ready") parameters = value.parameters;
      yield { kind: "event", row, event: value };
    }
  } catch (error) {
    if (options.signal?.aborted && error === options.signal.reason) return "interrupted"; // before there was anything to save
    if (!(error instanceof NonFiniteError)) throw error;
    return { validLoss: null, parameters, failed: error.sentence.in(options.words) };
  }
}

/** The training of a row, from its beginning or from its last checkpoint; nothing if it was interrupted before that. */
async function* started(
  row: Row,
  folder: string,
  { minutes, steps }: Span,
  options: RowOptions,
): AsyncGenerator<StudyEvent, AsyncGenerator<RunEvent, TrainResult> | undefined> {
  const settings = await settingsOf(row, options.out, options.threads);
  const { cache, clock, signal } = options;
  const host = { cache, clock, signal };
  const begun = (await readIfThere(paths(folder).config)) !== undefined;
  if (!begun && minutes !== undefined) yield { kind: "timing", row };
  const fitting = !begun && minutes !== undefined ? await stepsWithin(60 * minutes, `${folder}.trial`, settings, host) : steps;
  if (signal?.aborted) return undefined;
  options.begin();
  yield { kind: "training", row };
  return begun ? resumeRun(folder, {}, host) : trainRun(folder, withSteps(settings, fitting), host);
}
