import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { warnUnrounded } from "../trained/baked.ts";
import { type FitOptions, shownPiece, teller, unwritten } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { beamSearch, type Hypothesis } from "./beam.ts";
import { checkLimits } from "./limits.ts";
import { type Given, type PromptOptions, promptOf } from "./prompt.ts";
import { type Request, RunningBatch } from "./running-batch.ts";
import type { SamplingInput } from "./sampling.ts";
import { speakerFor } from "./speaker.ts";
import type { Prompt } from "./speech.ts";
import { TextStream } from "./text-stream.ts";
import { endsOf, type Sample, Writing, type WrittenToken } from "./writing.ts";

export type { Sample, WrittenToken } from "./writing.ts";

export interface WriteOptions extends SamplingInput, PromptOptions {
  /** The most tokens to write. */
  readonly tokens?: number;
  /** How many texts to write for each prompt. */
  readonly samples?: number;
  /** Everything random follows from it: the same seed writes the same text, whatever else is written at the same time. */
  readonly seed?: number;
  /** A number for each prompt, which is mixed into the seed: equal prompts with different numbers are different texts. 0 if left out. */
  readonly draws?: readonly number[];
  /** Strings at which to stop; they are not part of the text. */
  readonly stop?: readonly string[];
  /** Aborted, it leaves off before the next token, and throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface BeamWriteOptions extends PromptOptions {
  readonly tokens?: number;
  readonly beams: number;
  readonly lengthPenalty?: number;
  /** How many of the best texts to give, at most as many as there are beams. */
  readonly samples?: number;
  readonly stop?: readonly string[];
  readonly signal?: AbortSignal;
}

/** A piece of text, whole characters only, and the sample that it belongs to. */
export interface Piece {
  readonly prompt: number;
  readonly sample: number;
  readonly text: string;
}

const usualTokens = 200;

/** More wait until others are done: keys and values of every row take memory. */
const rowsAtOnce = 128;

interface Placed {
  readonly writing: Writing;
  readonly place: { readonly prompt: number; readonly sample: number };
}

/** Writes for all prompts at once. Gives the text as it comes, and in the end all samples of each prompt. */
export async function* write(
  trained: TrainedModel,
  prompts: readonly Given[],
  options: WriteOptions = {},
): AsyncGenerator<Piece, Sample[][]> {
  checkLimits(options);
  checkStops(options.stop);
  const { signal } = options;
  signal?.throwIfAborted();
  warnUnrounded(trained, teller(options, trained));
  const writings = writingsOf(trained, prompts, options);
  const waiting = [...writings.keys()].reverse();
  const { value: speaker, release } = await speakerFor(trained);
  try {
    const batch = new RunningBatch(speaker);
    while (batch.size > 0 || waiting.length > 0) {
      signal?.throwIfAborted();
      while (batch.size < rowsAtOnce && waiting.length > 0) batch.add(waiting.pop() as Request);
      for (const said of await batch.step()) {
        if (said.error) throw said.error;
        const { writing, place } = writings.get(said.request) as Placed;
        const text = writing.hear(said);
        if (writing.finish === "stop") batch.remove(said.request);
        if (text !== "") yield { ...place, text };
      }
    }
    const samples: Sample[][] = prompts.map(() => []);
    for (const { writing, place } of writings.values()) samples[place.prompt].push(writing.sample);
    return samples;
  } finally {
    await release();
  }
}

/** The same without waiting for every piece: for each prompt, its samples. */
export async function writeSamples(trained: TrainedModel, prompts: readonly Given[], options: WriteOptions = {}): Promise<Sample[][]> {
  const writing = write(trained, prompts, options);
  for (;;) {
    const { done, value } = await writing.next();
    if (done) return value;
  }
}

/** The likeliest texts as a whole, found by following several at once. */
export async function writeBest(trained: TrainedModel, prompts: readonly Given[], options: BeamWriteOptions): Promise<Sample[][]> {
  const { tokenizer } = trained;
  const { beams, lengthPenalty, tokens = usualTokens, samples = 1, stop = [], signal } = options;
  checkLimits({ tokens, samples, beams, lengthPenalty });
  checkStops(stop);
  if (samples > beams) throw new ConfigError(`${beams} beams give at most ${beams} samples, not ${samples}`);
  signal?.throwIfAborted();
  const warn = teller(options, trained);
  warnUnrounded(trained, warn);
  const { value: speaker, release } = await speakerFor(trained);
  try {
    const asked = prompts.map((prompt) => promptOf(prompt, trained, options));
    const begun = asked.map((prompt) => withRoom(prompt, speaker.longest, tokens, { strict: options.strict, warn }));
    const forbidden = unwritten(trained);
    const found = await beamSearch(speaker, begun, {
      beams,
      lengthPenalty,
      tokens,
      end: tokenizer.end,
      ends: endsOf(tokenizer, asked),
      forbidden,
      signal,
    });
    return found.map((hypotheses, i) => hypotheses.slice(0, samples).map((one) => wholeSample(one, tokenizer, begun[i], stop)));
  } finally {
    await release();
  }
}

/** The text of a hypothesis, up to the first stop string. */
function wholeSample(one: Hypothesis, tokenizer: Tokenizer, begun: Prompt, stop: readonly string[]): Sample {
  const stream = new TextStream(tokenizer, begun.source ? [] : begun.ids, stop);
  const written: WrittenToken[] = [];
  for (const [t, id] of one.tokens.entries()) {
    if (stream.stopped) break;
    stream.push(id);
    written.push({ id, piece: shownPiece(tokenizer, id), logProbability: one.logProbabilities[t] });
  }
  stream.end();
  if (!stream.stopped) return { text: stream.text, tokens: written, logProbability: one.logProbability, finish: one.finish };
  const logProbability = written.reduce((sum, token) => sum + token.logProbability, 0);
  return { text: stream.text, tokens: written, logProbability, finish: "stop" };
}

/** The texts to write, in the order of the prompts, each with its place. */
function writingsOf(trained: TrainedModel, prompts: readonly Given[], options: WriteOptions): Map<Request, Placed> {
  const { tokens = usualTokens, samples = 1, seed = 1, draws, stop, strict: _, warn: __, signal: ___, ...sampling } = options;
  const placed = prompts.flatMap((given, prompt) => {
    const begin = promptOf(given, trained, options);
    return Array.from({ length: samples }, (_, sample) => {
      const writing = new Writing(trained, begin, { tokens, sampling, seed, sample, draw: draws?.[prompt], stop });
      return { writing, place: { prompt, sample } };
    });
  });
  return new Map(placed.map((one) => [one.writing.request, one]));
}

/** Beams are not read again from their later half: a prompt makes room for what is to come, down to half of the context. */
function withRoom(prompt: Prompt, longest: number, tokens: number, { strict, warn }: Pick<FitOptions, "strict" | "warn">): Prompt {
  const { length } = prompt.ids;
  if (prompt.source || length + tokens <= longest + 1) return prompt;
  const found = `${length} tokens of the prompt and ${tokens} new ones are more than the context of ${longest}`;
  if (strict)
    throw new ConfigError(sentence`${found}; ask for fewer, or leave out ${setting("strict")} to drop the prompt's beginning`, {
      code: "config.range",
      path: "tokens",
    });
  const kept = Math.min(length, Math.max(longest - tokens + 1, longest >> 1, 1));
  const room = longest - kept + 1;
  const dropped = kept < length ? [`the first ${length - kept} tokens of the prompt are dropped`] : [];
  const fewer = room < tokens ? [`at most ${room} are written`] : [];
  warn?.(`${found}: ${[...dropped, ...fewer].join(", and ")}`);
  return { ids: Array.from(prompt.ids).slice(-kept) };
}

function checkStops(stop: unknown): void {
  if (stop !== undefined && !Array.isArray(stop))
    throw new ConfigError(`a list of texts is wanted, not a ${typeof stop}`, { code: "config.type", at: "stop" });
}
