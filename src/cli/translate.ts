import { translateTexts } from "../evaluation/translate.ts";
import { open } from "../library/trained.ts";
import type { Precision } from "../runtime/device.ts";
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
  const run = open(folder, { threads, precision });
  run.require("translate");
  refuseLonePenalty({ beams, lengthPenalty });
  const { unit, texts } = givenTexts(given, process.stdin);
  const warn = (sentence: string) => console.error(`warning: ${sentence}`);
  const translations = translateTexts(run, texts, { unit, warn, beams, lengthPenalty });
  if (json) await printJson(translations);
  else await printEach(translations, ({ target }) => target);
});
