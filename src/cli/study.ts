import { InvalidArgumentError } from "commander";
import { cacheFolder } from "../data/cache.ts";
import { runStudy, type Study, type StudyEvent, type StudyOutcome, studies, study } from "../studies/index.ts";
import { spanText } from "../studies/settings.ts";
import { studyTable } from "../studies/table.ts";
import { alone, type Group } from "../training/group.ts";
import { bareCommand } from "./commands.ts";
import { flagWords } from "./flag-words.ts";
import { Interrupt } from "./interrupt.ts";
import { together } from "./ranks.ts";
import { Progress } from "./terminal.ts";
import { wholeNumber } from "./values.ts";

interface Options {
  readonly minutes?: number;
  readonly steps?: number;
  readonly out?: string;
  readonly threads?: number;
  readonly only?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export const studyCommand = bareCommand("study")
  .option("--minutes <n>", "how long each row is trained", someMinutes)
  .option("--steps <n>", "so many steps for each row, in the place of a time", wholeNumber)
  .option("--out <folder>", "where runs, results.json, table.md and pictures go (default studies/<name>)")
  .option("--threads <n>", "threads of the engine", wholeNumber)
  .option("--only <row>", "one row alone")
  .option("--quiet", "no progress")
  .option("--json", "print one line of JSON and nothing else")
  .action(async (name: string | undefined, options: Options) => {
    if (name === undefined) console.log(options.json ? JSON.stringify({ studies: studies.map(facts) }) : studies.map(listed).join("\n\n"));
    else await together({ clock }, (ranks) => run(study(name), options, ranks?.group));
  });

const clock = () => performance.now() / 1000; // counted from the start of the process

function someMinutes(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value > 0 && value <= 1e6)) throw new InvalidArgumentError("a number of minutes above 0 is wanted.");
  return value;
}

const facts = ({ name, teaches, minutes, rows }: Study) => ({
  name,
  teaches,
  ...(minutes !== undefined && { minutes }),
  rows: rows.map((row) => ({ name: row.name, what: row.what })),
});

function listed({ name, teaches, minutes, rows }: Study): string {
  const names = rows.map((row) => row.name).join(", ");
  return [name, `teaches  ${teaches}`, `rows     ${names}; ${spanText({ minutes })}`, `run      npx qkv study ${name}`].join("\n");
}

async function run(
  chosen: Study,
  { out = `studies/${chosen.name}`, minutes, steps, threads, only, quiet, json }: Options,
  group: Group = alone,
): Promise<void> {
  const interrupt = new Interrupt((sentence) => group.leads && console.error(`\n${sentence}`));
  const show = quiet || !group.leads ? () => {} : shower(clock);
  try {
    const options = { out, minutes, steps, threads, only, cache: cacheFolder(), clock, signal: interrupt.signal, group };
    const events = runStudy(chosen, { ...options, words: flagWords });
    for (;;) {
      const { done, value } = await events.next();
      if (done) return group.leads ? finish(chosen, value, { out, json }) : undefined;
      interrupt.canSave = value.kind === "event";
      show(value);
    }
  } finally {
    interrupt.release();
  }
}

/** Says what is going on, row by row. */
function shower(clock: () => number): (event: StudyEvent) => void {
  let progress = new Progress(process.stderr, clock);
  const sentences = {
    known: "is measured already",
    timing: "takes a few steps, to see how many fit into its time",
    training: "trains",
    measuring: "is measured",
    measured: "is done",
  };
  return (told) => {
    if (told.kind === "event") {
      progress.show(told.event);
      return;
    }
    if (told.kind === "training") progress = new Progress(process.stderr, clock);
    if (told.kind === "measuring") progress.end();
    console.error(`${told.row.name} ${sentences[told.kind]}`);
  };
}

function finish(chosen: Study, { results, interrupted }: StudyOutcome, { out, json }: { out: string; json?: boolean }): void {
  if (interrupted) {
    console.error(`stopped; go on with the same command, and with what is in ${out}`);
    process.exitCode = 130;
  }
  if (json) console.log(JSON.stringify({ ...results, out }));
  else if (!interrupted) console.log(studyTable(chosen, results).trimEnd());
}
