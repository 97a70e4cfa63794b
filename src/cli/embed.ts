import { Option } from "commander";
import { type Embedding, embedTexts } from "../evaluation/embed.ts";
import { open } from "../library/trained.ts";
import { pools } from "../models/config.ts";
import type { DeviceName } from "../node/devices.ts";
import type { Precision } from "../runtime/device.ts";
import { bareCommand } from "./commands.ts";
import { addFlags } from "./flags.ts";
import { answersTo, printEach, printJson } from "./predictions.ts";
import { givenTexts } from "./texts.ts";
import { engineFlags } from "./writing-flags.ts";

interface Options {
  readonly pool?: (typeof pools)[number];
  readonly normalise?: boolean;
  readonly weights?: Precision;
  readonly threads?: number;
  readonly device?: DeviceName;
  readonly json?: boolean;
}

const flags = [
  new Option("--pool <how>", "how the states of a text become one vector (default: as the model says, else the mean)").choices(pools),
  new Option("--normalise", "vectors of length 1, so that a product of two is their cosine (default: as the model says)"),
];

export const embed = addFlags(bareCommand("embed"), flags, engineFlags);

embed.action(async (folder: string, given: string[], { pool, normalise, weights: precision, threads, device, json }: Options) => {
  const run = open(folder, { threads, device, precision });
  const from = givenTexts(given, process.stdin);
  const { all, isEmpty } = answersTo<Embedding, { text: string; vector: null }>(
    from,
    run,
    (texts, asked) => embedTexts(run, texts, { ...asked, pool, normalise }),
    (text) => ({ text, vector: null }),
  );
  if (json) await printJson(asJson(all));
  else
    await printEach(all, (answer) =>
      isEmpty(answer) ? "" : Array.from(answer.vector, (number) => Number(number.toPrecision(6))).join(" "),
    );
});

/** A typed array would be written as an object. */
async function* asJson(all: AsyncIterable<Embedding | { text: string; vector: null }>) {
  for await (const { text, vector } of all) yield { text, vector: vector && Array.from(vector, (number) => Number(number.toPrecision(8))) };
}
