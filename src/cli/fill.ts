import { Option } from "commander";
import { type Filling, fillTexts } from "../evaluation/fill.ts";
import { open } from "../library/trained.ts";
import type { DeviceName } from "../node/devices.ts";
import type { Precision } from "../runtime/device.ts";
import { bareCommand } from "./commands.ts";
import { addFlags } from "./flags.ts";
import { answersTo, printEach, printJson } from "./predictions.ts";
import { givenTexts } from "./texts.ts";
import { wholeNumber } from "./values.ts";
import { engineFlags } from "./writing-flags.ts";

interface Options {
  readonly top?: number;
  readonly weights?: Precision;
  readonly threads?: number;
  readonly device?: DeviceName;
  readonly json?: boolean;
}

const flags = [new Option("--top <n>", "how many candidates for each mask (default: 5)").argParser(wholeNumber)];

export const fill = addFlags(bareCommand("fill"), flags, engineFlags);

fill.action(async (folder: string, given: string[], { top, weights: precision, threads, device, json }: Options) => {
  const run = open(folder, { threads, device, precision });
  const { all, isEmpty } = answersTo(
    givenTexts(given, process.stdin),
    run,
    (texts, asked) => fillTexts(run, texts, { ...asked, top }),
    (text) => ({ text, masks: [] }),
  );
  if (json) await printJson(all);
  else await printEach(all, (answer) => (isEmpty(answer) ? "" : shown(answer)));
});

const shown = ({ text, masks }: Filling): string =>
  [text, ...masks.flat().map(({ probability, text: filled }) => `  ${probability.toFixed(2)}  ${filled}`)].join("\n");
