import type { Command } from "commander";
import { ConfigError, NonFiniteError, QkvError } from "../base/errors.ts";
import { cacheFolder } from "../data/cache.ts";
import { ownData } from "../data/held-out.ts";
import { chunks } from "../evaluation/predict.ts";
import { type Rounding, roundingOf } from "../evaluation/rounding.ts";
import type { Given } from "../generation/prompt.ts";
import { type Sample, type WriteOptions, write, writeBest, writeSamples } from "../generation/writer.ts";
import { open, type Trained } from "../library/trained.ts";
import { readsSource } from "../models/any.ts";
import type { DeviceName } from "../node/devices.ts";
import type { Precision } from "../runtime/device.ts";
import { bareCommand } from "./commands.ts";
import { answerFile, asksForFile, type FileFlags, fileFlags, refusePaths } from "./files.ts";
import { told } from "./flag-words.ts";
import { addFlags, typedFlags } from "./flags.ts";
import { inputLines } from "./texts.ts";
import { amountFlags, beamFlags, engineFlags, refuseLonePenalty, samplingFlags } from "./writing-flags.ts";

interface Options extends WriteOptions, FileFlags {
  readonly beams?: number;
  readonly lengthPenalty?: number;
  readonly chat?: boolean;
  readonly system?: string;
  readonly ids?: boolean;
  readonly logProbabilities?: boolean;
  readonly weights?: Precision;
  readonly threads?: number;
  readonly device?: DeviceName;
  readonly adapter?: string;
}

export const generate = addFlags(
  bareCommand("generate")
    .option("--strict", "refuse a prompt that is longer than the context")
    .option("--chat", "the prompt is a question to a model that knows conversations, read by its chat template")
    .option("--system <text>", "with --chat: what the model is told before the question")
    .option("--ids", "the prompt is a list of token ids, such as 5,17,3")
    .option("--log-probabilities", "with --json: every token with its log-probability"),
  fileFlags,
  amountFlags,
  samplingFlags,
  beamFlags,
  engineFlags,
).action(async (folder: string, prompt: string | undefined, given: Options, command: Command) => {
  const options = withBeams(given, command);
  refuseMixed(options);
  const run = open(folder, { threads: options.threads, device: options.device, precision: options.weights, adapter: options.adapter });
  const arguments_ = prompt === undefined ? [] : [prompt];
  if (asksForFile(arguments_, options, command)) return writeFile(run, options);
  refusePaths(arguments_, options);
  const { first, others, line } = await givenPrompts(prompt, run, process.stdin);
  if (others) return writeLines(run, first, others, options);
  const begin = begunWith(first, options);
  const shown = !options.json;
  const show = shown ? (text: string) => process.stdout.write(text) : undefined;
  const samples = await written(run, begin, options, show, shownBefore(first, run, options));
  const rounding = await roundingOr(run, options);
  const result = answer(first, samples, options);
  // A line of standard input is one of any number, too.
  if (!shown) console.log(JSON.stringify({ ...result, ...(line && { results: [result] }), ...(rounding && { rounding }) }));
});

/** What stands before what is written: the prompt that goes on, and nothing where it is answered. */
const shownBefore = (prompt: string, { model }: Trained, { ids, chat }: Options): string =>
  ids || chat || readsSource(model) ? "" : prompt;

/** A prompt as the writer is given it. */
function begunWith(prompt: string, { ids, chat, system }: Options): Given {
  if (ids) return idList(prompt);
  if (!chat) return prompt;
  return [...(system === undefined ? [] : [{ role: "system", content: system }]), { role: "user", content: prompt }];
}

function refuseMixed({ chat, system, ids }: Options): void {
  if (chat && ids) throw new ConfigError("--chat reads a question, and --ids token ids; leave one of them out");
  if (system !== undefined && !chat) throw new ConfigError("--system is said before a question, so it wants --chat");
}

interface GivenPrompts {
  readonly first: string;
  readonly others?: AsyncIterable<string>;
  /** Whether they are lines of standard input. */
  readonly line?: boolean;
}

/** The one prompt, or the first of several lines of standard input, and the others. Without any, the empty prompt. */
async function givenPrompts(prompt: string | undefined, { model }: Trained, input: NodeJS.ReadStream): Promise<GivenPrompts> {
  if (prompt !== undefined || input.isTTY) return { first: prompt ?? "" };
  const lines = inputLines(input);
  const [first, second] = [await lines.next(), await lines.next()];
  if (first.done) return { first: "" };
  async function* others(): AsyncGenerator<string> {
    if (second.done) return;
    yield second.value;
    yield* lines;
  }
  const alone = second.done && !(readsSource(model) && first.value.trim() === ""); // which has an empty answer, not a text of its own
  return { first: first.value, line: true, ...(!alone && { others: others() }) };
}

/** Lines that are written for together. */
const linesAtOnce = 64;

/** Every line is a prompt: what is written for it comes in its order, with an empty row between two. */
async function writeLines(run: Trained, first: string, others: AsyncIterable<string>, options: Options): Promise<void> {
  async function* all(): AsyncGenerator<string> {
    yield first;
    yield* others;
  }
  const results: string[] = [];
  let any = false;
  let before = 0; // lines that were written for
  for await (const lines of chunks(all(), linesAtOnce)) {
    const samples = await samplesFor(run, lines, before, options);
    before += lines.length;
    for (const [i, line] of lines.entries()) {
      if (options.json) results.push(JSON.stringify(answer(line, samples[i], options)));
      else {
        if (any) process.stdout.write("\n");
        showAll(samples[i], shownBefore(line, run, options), (text) => process.stdout.write(text));
        if (samples[i].length === 0) process.stdout.write("\n");
      }
      any = true;
    }
    if (!process.stdout.writable) return; // whoever read it has gone (`| head`)
  }
  const rounding = await roundingOr(run, options);
  if (options.json)
    process.stdout.write(`{"results":[${results.join(",")}]${rounding ? `,"rounding":${JSON.stringify(rounding)}` : ""}}\n`);
}

/** Samples of every line; none of a line with nothing in it, where nothing can come of that. */
async function samplesFor(
  run: Trained,
  lines: readonly string[],
  before: number,
  options: Options,
): Promise<readonly (readonly Sample[])[]> {
  const { beams, lengthPenalty, asked } = writingOf(options);
  const { tokens, samples, stop, strict } = asked;
  const source = readsSource(run.model);
  const nothing = (line: string) =>
    options.ids ? source && line.trim() === "" : run.tokenizer.encode(line).length === 0 && (source || line !== "");
  const places = lines.flatMap((line, i) => (nothing(line) ? [] : [i]));
  const begun = places.map((i) => begunWith(lines[i], options));
  const found =
    beams > 1
      ? await writeBest(run, begun, { beams, lengthPenalty, tokens, samples, stop, strict, warn })
      : await writeSamples(run, begun, { ...asked, draws: places.map((i) => before + i), warn });
  const all: (readonly Sample[])[] = lines.map(() => []);
  for (const [n, i] of places.entries()) all[i] = found[n];
  return all;
}

/** A file gets one text a row. */
function writeFile(run: Trained, options: Options): Promise<void> {
  const { samples = 1, ids, chat, logProbabilities } = options;
  const [wrong] = [
    ...(chat ? ["--chat"] : []),
    ...(samples > 1 ? ["--samples"] : []),
    ...(ids ? ["--ids"] : []),
    ...(logProbabilities ? ["--log-probabilities"] : []),
  ];
  if (wrong) throw new ConfigError(`${wrong} is for prompts on the command line; with --in every row gets one text`);
  const { beams, lengthPenalty, tokens, temperature, topK, topP, minP, repetitionPenalty, bias, seed, stop, strict } = options;
  const asked = { beams, lengthPenalty, tokens, temperature, topK, topP, minP, repetitionPenalty, bias, seed, stop, strict };
  return answerFile(run, "generate", options, asked);
}

const warn = (sentence: string) => console.error(`warning: ${sentence}`);

/** What is asked of the writer; it knows nothing of files, flags of the model, and how a prompt is read. */
function writingOf(options: Options) {
  const {
    in: _,
    out,
    column,
    prefix,
    overwrite,
    text,
    ids,
    chat,
    system,
    logProbabilities,
    weights,
    threads,
    device,
    adapter,
    json,
    ...rest
  } = options;
  const { beams = 1, lengthPenalty, ...asked } = rest;
  return { beams, lengthPenalty, asked };
}

/** Writes as it comes where there is one text; several come one after the other, when all are there. */
async function written(
  run: Trained,
  begin: Given,
  options: Options,
  show: ((text: string) => void) | undefined,
  before: string,
): Promise<readonly Sample[]> {
  const { beams, lengthPenalty, asked } = writingOf(options);
  const { tokens, samples, stop, strict } = asked;
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

function answer(prompt: string, samples: readonly Sample[], { logProbabilities }: Options) {
  return {
    prompt,
    samples: samples.map(({ text, tokens, logProbability, finish }) => ({
      text,
      tokens: tokens.length,
      logProbability,
      finish,
      ...(logProbabilities && { logProbabilities: tokens.map(({ piece, ...token }) => ({ token: piece, ...token })) }),
    })),
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
  if (config.data.source.kind === "hub") {
    console.error(`what ${weights} costs in perplexity on a text of yours: qkv eval ${folder} <file> --weights ${weights}`);
    return undefined;
  }
  if (config.task === "lm" && config.data.train > largest) {
    console.error(`what ${weights} costs in perplexity: qkv eval ${folder} --weights ${weights}`);
    return undefined;
  }
  try {
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
