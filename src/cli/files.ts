import { statSync } from "node:fs";
import { extname } from "node:path";
import { type Command, Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import type { AnswerKind, AnswerOptions } from "../library/answering.ts";
import type { PredictFileEvent } from "../library/predict-file.ts";
import type { Trained } from "../library/trained.ts";
import type { Group } from "../training/group.ts";
import { typedFlags } from "./flags.ts";
import { together } from "./ranks.ts";
import { RowProgress } from "./row-progress.ts";
import { duration } from "./terminal.ts";

// Files in, files out: what is the same for every command that answers texts.

export interface FileFlags {
  readonly in?: string;
  readonly out?: string;
  readonly column?: string;
  readonly prefix?: string;
  readonly overwrite?: boolean;
  readonly text?: boolean;
  readonly json?: boolean;
}

const onlyWithIn: readonly Option[] = [
  new Option("--out <file>", "where the rows go, with their answers, as .csv, .tsv or .jsonl"),
  new Option("--column <name>", "the column that holds the text (default: that of the run's data, or text, source or prompt)"),
  new Option("--prefix <text>", "put before the names of the columns that are added"),
  new Option("--overwrite", "replace --out if it is there"),
];

export const fileFlags: readonly Option[] = [
  new Option("--in <file>", "answer every row of a .csv, .tsv or .jsonl; stopped or killed, the same command goes on where it was"),
  ...onlyWithIn,
  new Option("--text", "the arguments are texts, even where a file has that name"),
];

/** Whether a file is to be answered, and nothing else with it. */
export function asksForFile(given: readonly string[], { in: from, out }: FileFlags, command: Command): boolean {
  if (from === undefined) {
    const [lonely] = typedFlags(command, onlyWithIn);
    if (lonely !== undefined) throw new ConfigError(`${lonely} goes with --in, which names the file to read`);
    return false;
  }
  if (out === undefined)
    throw new ConfigError("--in names the file to read; name the one to write with --out, such as --out predictions.csv");
  if (given.length > 0) throw new ConfigError(`either texts or --in, not both; leave out ${JSON.stringify(given[0])} or --in ${from}`);
  return true;
}

/** Asks about a text that is the path of a file. */
export function refusePaths(texts: readonly string[], { text }: FileFlags): void {
  const file = text ? undefined : texts.find(isFile);
  if (file === undefined) return;
  const rows = [".csv", ".tsv", ".jsonl"].includes(extname(file).toLowerCase());
  const meant = rows ? `--in ${file} --out predictions${extname(file)}` : `… < ${file}, for its lines`;
  throw new ConfigError(`${JSON.stringify(file)} is a file; did you mean ${meant}? To have the name itself taken as a text, add --text`);
}

/** Only what looks like a path: a word is a word, though a file may have that name. */
function isFile(text: string): boolean {
  if (!/^[^\n\0]{1,4096}$/.test(text) || !/[/\\]|\.\w{1,8}$/.test(text)) return false;
  try {
    return statSync(text).isFile();
  } catch {
    return false; // whatever the system says of it, it is no file to be read
  }
}

/** Answers every row of a file, with progress on standard error; under a launcher of MPI, each rank some of them. */
export async function answerFile(run: Trained, as: AnswerKind, flags: FileFlags, answers: AnswerOptions): Promise<void> {
  await together({ clock }, async (ranks) => {
    if (ranks && !ranks.group.leads)
      await run.predictFile(flags.in ?? "", flags.out ?? "", { ...answers, as, group: ranks.group, warn: false });
    else await answerRows(run, as, flags, { ...answers, ...(ranks && { group: ranks.group }) });
  });
}

const clock = () => performance.now() / 1000;

async function answerRows(
  run: Trained,
  as: AnswerKind,
  flags: FileFlags,
  answers: AnswerOptions & { readonly group?: Group },
): Promise<void> {
  const { in: from = "", out = "", column, prefix, overwrite, json } = flags;
  const begin = clock();
  const progress = new RowProgress(process.stderr, clock);
  const stop = stopsWithWord(progress);
  const listen = (event: PredictFileEvent): void => {
    stop.latest = event;
    progress.show(event);
  };
  const warnings: string[] = [];
  try {
    const result = await run.predictFile(from, out, {
      ...answers,
      as,
      column,
      prefix,
      overwrite,
      listen,
      warn: (said) => warnings.push(said),
    });
    progress.end();
    for (const said of warnings) console.error(`warning: ${said}`);
    const seconds = clock() - begin;
    const rate = (result.rows - result.begun) / seconds;
    if (json) console.log(JSON.stringify({ ...result, seconds, rowsPerSecond: rate }));
    else
      console.log(
        `${result.rows.toLocaleString("en")} rows to ${out} in ${duration(seconds)} (${Math.round(rate).toLocaleString("en")} rows/s)`,
      );
  } finally {
    progress.end();
    stop.release();
  }
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Ctrl-C ends at once, since nothing is lost, and says how to go on. */
function stopsWithWord(progress: RowProgress): { latest?: PredictFileEvent; release(): void } {
  const stop: { latest?: PredictFileEvent; release(): void } = {
    release: () => {
      for (const signal of signals) process.off(signal, handle);
    },
  };
  const handle = (): void => {
    progress.end();
    const { saved, rows } = stop.latest ?? { saved: 0, rows: 0 };
    const where =
      saved > 0 ? ` after ${saved.toLocaleString("en")} of ${rows.toLocaleString("en")} rows; the same command goes on from there` : "";
    console.error(`stopped${where || " before a row was saved; the same command begins again"}`);
    process.exit(130);
  };
  for (const signal of signals) process.on(signal, handle);
  return stop;
}
