import { openWeights } from "../disk/weight-file.ts";
import { requireTask } from "../evaluation/task.ts";
import { translateTexts } from "../evaluation/translate.ts";
import { openRun } from "../runs/folder.ts";
import type { Precision } from "../trained/baked.ts";
import { bareCommand } from "./commands.ts";
import { addFlags } from "./flags.ts";
import { printEach, printJson } from "./predictions.ts";
import { givenTexts } from "./texts.ts";
import { beamFlags, engineFlags, refuseLonePenalty } from "./writing-flags.ts";

interface Options {
  readonly beams?: number;
  readonly lengthPenalty?: number;
  readonly weights?: Precision;
  readonly threads?: number;
  readonly json?: boolean;
}

export const translate = addFlags(bareCommand("translate"), beamFlags, engineFlags);

translate.action(async (folder: string, given: string[], { beams, lengthPenalty, weights: precision, threads, json }: Options) => {
  const run = openRun(folder);
  requireTask(run, "translate");
  refuseLonePenalty({ beams, lengthPenalty });
  const { unit, texts } = givenTexts(given, process.stdin);
  const warn = (sentence: string) => console.error(`warning: ${sentence}`);
  const options = { unit, warn, beams, lengthPenalty, precision, threads: threads ?? run.config.training.threads };
  const translations = translateTexts(run, openWeights(run), texts, options);
  if (json) await printJson(translations);
  else await printEach(translations, ({ target }) => target);
});
