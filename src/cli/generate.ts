import type { Command } from "commander";
import { ConfigError, NonFiniteError, QkvError } from "../base/errors.ts";
import { cacheFolder } from "../data/cache.ts";
import { ownData } from "../data/held-out.ts";
import { type Rounding, roundingOf } from "../evaluation/rounding.ts";
import { type Sample, type WriteOptions, write, writeBest } from "../generation/writer.ts";
import { open, type Trained } from "../library/trained.ts";
import { readsSource } from "../models/any.ts";
import type { Precision } from "../runtime/device.ts";
import { bareCommand } from "./commands.ts";
import { told } from "./flag-words.ts";
import { addFlags, typedFlags } from "./flags.ts";
import { amountFlags, beamFlags, engineFlags, refuseLonePenalty, samplingFlags } from "./writing-flags.ts";

interface Options extends WriteOptions {
  readonly beams?: number;
  readonly lengthPenalty?: number;
  readonly ids?: boolean;
  readonly logProbabilities?: boolean;
  readonly weights?: Precision;
  readonly threads?: number;
  readonly json?: boolean;
}

export const generate = addFlags(
  bareCommand("generate")
    .option("--strict", "refuse a prompt that is longer than the context")
    .option("--ids", "the prompt is a list of token ids, such as 5,17,3")
    .option("--log-probabilities", "with --json: every token with its log-probability"),
  amountFlags,
  samplingFlags,
  beamFlags,
  engineFlags,
).action(async (folder: string, prompt: string, given: Options, command: Command) => {
  const options = withBeams(given, command);
  const run = open(folder, { threads: options.threads, precision: options.weights });
  const begin = options.ids ? idList(prompt) : prompt;
  const shown = !options.json;
  const before = options.ids || readsSource(run.model) ? "" : prompt;
  const show = shown ? (text: string) => process.stdout.write(text) : undefined;
  const samples = await written(run, begin, options, show, before);
  const rounding = await roundingOr(run, options);
  if (!shown) console.log(JSON.stringify(answer(prompt, samples, rounding, options)));
});

generate.registeredArguments[1].default("");

/** Writes as it comes where there is one text; several come one after the other, when all are there. */
async function written(
  run: Trained,
  begin: string | Int32Array,
  options: Options,
  show: ((text: string) => void) | undefined,
  before: string,
): Promise<readonly Sample[]> {
  const { beams = 1, lengthPenalty, ids, logProbabilities, weights, threads, json, ...asked } = options;
  const { tokens, samples, stop, strict } = asked;
  const warn = (sentence: string) => console.error(`warning: ${sentence}`);
  if (beams > 1) {
    const [found] = await writeBest(run, [begin], { beams, lengthPenalty, tokens, samples, stop, strict, warn });
    if (show) showAll(found, before, show);
    return found;
  }
  const writing = write(run, [begin], { ...asked, warn });
  const streams = show !== undefined && samples === 1;
  let any = false;
  for (;;) {
    const { done, value } = await writing.next();
    if (done) {
      if (streams) show(any ? "\n" : `${before}\n`);
      else if (show) showAll(value[0], before, show);
      return value[0];
    }
    if (streams) show(any ? value.text : before + value.text);
    any = true;
    if (streams && !process.stdout.writable) return []; // whoever read it has gone (`| head`)
  }
}

function showAll(samples: readonly Sample[], before: string, show: (text: string) => void): void {
  for (const [i, { text }] of samples.entries()) show(`${samples.length > 1 ? `${i > 0 ? "\n" : ""}[${i + 1}]\n` : ""}${before}${text}\n`);
}

function answer(prompt: string, samples: readonly Sample[], rounding: Rounding | undefined, { logProbabilities }: Options) {
  return {
    prompt,
    samples: samples.map(({ text, tokens, logProbability, finish }) => ({
      text,
      tokens: tokens.length,
      logProbability,
      finish,
      ...(logProbabilities && { logProbabilities: tokens.map(({ piece, ...token }) => ({ token: piece, ...token })) }),
    })),
    ...(rounding && { rounding }),
  };
}

/** One beam is the greedy choice, unless flags ask for chance; several look for the likeliest text, and exclude these flags. */
function withBeams(options: Options, command: Command): Options {
  const { beams, temperature } = options;
  refuseLonePenalty(options);
  const harmless = temperature === 0 ? ["--seed", "--temperature"] : ["--seed"];
  const [typed] = typedFlags(command, samplingFlags).filter((flag) => !harmless.includes(flag));
  if (beams === undefined || (beams === 1 && typed)) return options;
  if (typed)
    throw new ConfigError(`${typed} is for texts that are drawn by chance; beams look for the likeliest one, so leave one of them out`);
  return { ...options, temperature: 0 };
}

/** Rounded weights are worse by a little: says by how much, on data that was held out, where that is quickly found. */
async function roundingOr(run: Trained, { weights = "f32" }: Options): Promise<Rounding | undefined> {
  if (weights === "f32") return undefined;
  const { folder, config } = run.run;
  if (config.task === "lm" && config.data.train > largest) {
    console.error(`what ${weights} costs in perplexity: qkv eval ${folder} --weights ${weights}`);
    return undefined;
  }
  try {
    const warn = (sentence: string) => console.error(`warning: ${sentence}`);
    const held = await ownData(run.run, cacheFolder(), warn);
    const found = await roundingOf(run, held.data).finally(held.close);
    const change = (100 * (found.rounded / found.f32 - 1)).toFixed(2).replace("-0.00", "0.00");
    console.error(
      `${weights}: perplexity ${found.f32.toFixed(4)} → ${found.rounded.toFixed(4)} (${change.startsWith("-") ? "" : "+"}${change} %) on ${found.tokens.toLocaleString("en")} held-out tokens`,
    );
    return found;
  } catch (error) {
    if (!(error instanceof QkvError) || error instanceof NonFiniteError) throw error; // the text is there; this is only beside it
    console.error(`${weights}: what it costs in perplexity is not known here (${told(error)})`);
    return undefined;
  }
}

/** Reading more bytes than this only to see what rounding costs would take too long. */
const largest = 100e6;

function idList(text: string): Int32Array {
  if (text === "") return new Int32Array(0);
  const numbers = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  const wrong = numbers.findIndex((id) => !Number.isInteger(id) || Math.abs(id) > 2 ** 31 - 1);
  if (wrong >= 0) throw new ConfigError(`--ids wants whole numbers with commas in between, not ${JSON.stringify(text.split(",")[wrong])}`);
  return Int32Array.from(numbers);
}
