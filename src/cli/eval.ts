import { extname } from "node:path";
import { type Command, Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import type { Measures } from "../evaluation/evaluate.ts";
import { open, type Trained } from "../library/trained.ts";
import { givesSeveral } from "../models/any.ts";
import type { DeviceName } from "../node/devices.ts";
import { confusionMatrix } from "../pictures/confusion-matrix.ts";
import type { Precision } from "../runtime/device.ts";
import { alone, type Group } from "../training/group.ts";
import { bareCommand } from "./commands.ts";
import { report } from "./eval-report.ts";
import { addFlags, columnFlags, typedColumns } from "./flags.ts";
import { writeOutput } from "./output-file.ts";
import { pngOf } from "./png.ts";
import { together } from "./ranks.ts";
import { beamFlags, engineFlags, refuseLonePenalty } from "./writing-flags.ts";

interface Options {
  readonly json?: boolean;
  readonly threads?: number;
  readonly device?: DeviceName;
  readonly adapter?: string;
  readonly weights?: Precision;
  readonly beams?: number;
  readonly lengthPenalty?: number;
  readonly out?: string;
}

const pictureFlags: readonly Option[] = [new Option("--out <file>", "the confusion of labels or tags as a picture, .svg or .png")];

export const evalCommand = addFlags(bareCommand("eval"), pictureFlags, columnFlags, beamFlags, engineFlags).action(
  async (folder: string, files: string[], options: Options, command: Command) => {
    await together({ clock: () => performance.now() / 1000 }, (ranks) => measured(folder, files, options, command, ranks?.group));
  },
);

async function measured(folder: string, files: string[], options: Options, command: Command, group: Group = alone): Promise<void> {
  const { json, threads, device, adapter, weights: precision, beams, lengthPenalty, out } = options;
  const begin = performance.now();
  const run = open(folder, { threads, device, precision, adapter });
  const warn = (sentence: string) => group.leads && console.error(`warning: ${sentence}`);
  if (run.task !== "translate" && (beams ?? lengthPenalty) !== undefined)
    throw new ConfigError(`beams are for a run that translates; ${folder} is for ${run.task}`);
  refuseLonePenalty({ beams, lengthPenalty });
  const ending = out === undefined ? undefined : endingOf(out, run);
  const measures = await run.evaluate(files, { columns: typedColumns(command), warn, beams, lengthPenalty, group });
  if (!group.leads) return;
  if (out !== undefined && ending !== undefined) {
    const svg = pictureOf(measures, folder);
    writeOutput(out, ending === ".png" ? await pngOf(svg) : svg);
    console.error(`wrote ${out}`);
  }
  const result = { ...measures, seconds: (performance.now() - begin) / 1000 };
  console.log(json ? JSON.stringify(result) : report(result, { columns: process.stdout.columns ?? 100 }));
}

/** How the picture is to be written, if there is one of this run. */
function endingOf(out: string, { task, model }: Trained): ".svg" | ".png" {
  if (task !== "classify" && task !== "tag")
    throw new ConfigError(`--out draws the confusion of labels or tags; a run for ${task} has none, so leave it out`);
  if (givesSeveral(model))
    throw new ConfigError("--out draws labels that were taken for others, and those of this run do not exclude each other; leave it out");
  const ending = extname(out).toLowerCase();
  if (ending === ".svg" || ending === ".png") return ending;
  throw new ConfigError(`--out ${out}: the confusion can be written as .svg or .png; choose such a file name`);
}

function pictureOf(measures: Measures, folder: string): string {
  if (!("confusion" in measures) || "micro" in measures) throw new ConfigError("there is no confusion to draw");
  return confusionMatrix({ labels: measures.labels, confusion: measures.confusion, title: `Confusion of ${folder}` });
}
