import type { Command } from "commander";
import { ConfigError } from "../base/errors.ts";
import type { Measures } from "../evaluation/evaluate.ts";
import { open } from "../library/trained.ts";
import type { Precision } from "../runtime/device.ts";
import { bareCommand } from "./commands.ts";
import { addFlags, columnFlags, typedColumns } from "./flags.ts";
import { beamFlags, engineFlags, refuseLonePenalty } from "./writing-flags.ts";

interface Options {
  readonly json?: boolean;
  readonly threads?: number;
  readonly weights?: Precision;
  readonly beams?: number;
  readonly lengthPenalty?: number;
}

export const evalCommand = addFlags(bareCommand("eval"), columnFlags, beamFlags, engineFlags).action(
  async (folder: string, files: string[], { json, threads, weights: precision, beams, lengthPenalty }: Options, command: Command) => {
    const begin = performance.now();
    const run = open(folder, { threads, precision });
    const warn = (sentence: string) => console.error(`warning: ${sentence}`);
    if (run.task !== "translate" && (beams ?? lengthPenalty) !== undefined)
      throw new ConfigError(`beams are for a run that translates; ${folder} is for ${run.task}`);
    refuseLonePenalty({ beams, lengthPenalty });
    const measures = await run.evaluate(files, { columns: typedColumns(command), warn, beams, lengthPenalty });
    const result = { ...measures, seconds: (performance.now() - begin) / 1000 };
    console.log(json ? JSON.stringify(result) : report(result));
  },
);

const rounded = (value: number): string => (Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(4));

/** One line for each measure, and the confusion as a table. */
function report(result: Measures & { readonly seconds: number }): string {
  const lines = Object.entries(result)
    .filter(([, value]) => typeof value === "number")
    .map(([name, value]) => `${name.padEnd(16)}${rounded(value as number)}`);
  return "confusion" in result && result.labels.length <= 20 ? [...lines, "", confusionTable(result)].join("\n") : lines.join("\n");
}

function confusionTable({
  confusion,
  labels,
}: {
  readonly confusion: readonly (readonly number[])[];
  readonly labels: readonly string[];
}): string {
  const cells = [["true \\ found", ...labels], ...confusion.map((row, i) => [labels[i], ...row.map(String)])];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  return cells.map((row) => row.map((cell, column) => cell.padStart(widths[column])).join("  ")).join("\n");
}
