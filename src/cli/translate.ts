import type { Command } from "commander";
import { translateTexts } from "../evaluation/translate.ts";
import { open } from "../library/trained.ts";
import type { DeviceName } from "../node/devices.ts";
import type { Precision } from "../runtime/device.ts";
import { bareCommand } from "./commands.ts";
import { answerFile, asksForFile, type FileFlags, fileFlags } from "./files.ts";
import { addFlags } from "./flags.ts";
import { answersTo, printEach, printJson } from "./predictions.ts";
import { givenTexts } from "./texts.ts";
import { beamFlags, engineFlags, refuseLonePenalty } from "./writing-flags.ts";

interface Options extends FileFlags {
  readonly beams?: number;
  readonly lengthPenalty?: number;
  readonly weights?: Precision;
  readonly threads?: number;
  readonly device?: DeviceName;
  readonly adapter?: string;
}

export const translate = addFlags(bareCommand("translate"), fileFlags, beamFlags, engineFlags);

translate.action(async (folder: string, given: string[], options: Options, command: Command) => {
  const { beams, lengthPenalty, weights: precision, threads, device, adapter, json } = options;
  const run = open(folder, { threads, device, precision, adapter });
  run.require("translate");
  refuseLonePenalty({ beams, lengthPenalty });
  if (asksForFile(given, options, command)) return answerFile(run, "translate", options, { beams, lengthPenalty });
  const from = givenTexts(given, process.stdin, options);
  const { all } = answersTo(
    from,
    run,
    (texts, asked) => translateTexts(run, texts, { ...asked, beams, lengthPenalty }),
    (source) => ({ source, target: "", logProbability: null }),
  );
  if (json) await printJson(all);
  else await printEach(all, ({ target }) => target);
});
