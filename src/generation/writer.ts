import { chance } from "../base/chance.ts";
import { ConfigError } from "../base/errors.ts";
import type { ModelConfig } from "../models/any.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { beamSearch } from "./beam.ts";
import { checkLimits } from "./limits.ts";
import type { SpeakerOptions } from "./memory.ts";
import { type PromptOptions, promptOf, promptOfIds, unwritten } from "./prompt.ts";
import { type Finish, type Request, RunningBatch } from "./running-batch.ts";
import { type SamplingInput, sampling } from "./sampling.ts";
import { speakerOf } from "./speaker.ts";
import type { Prompt, Speaker } from "./speech.ts";
import { TextStream } from "./text-stream.ts";

export interface WriteOptions extends SamplingInput, PromptOptions {
  /** The most tokens to write. */
  readonly tokens?: number;
  /** How many texts to write for each prompt. */
  readonly samples?: number;
  /** Everything random follows from it: the same seed writes the same text, whatever else is written at the same time. */
  readonly seed?: number;
  /** Strings at which to stop; they are not part of the text. */
  readonly stop?: readonly string[];
}

export interface BeamWriteOptions extends PromptOptions {
  readonly tokens?: number;
  readonly beams: number;
  readonly lengthPenalty?: number;
  /** How many of the best texts to give, at most as many as there are beams. */
  readonly samples?: number;
  readonly stop?: readonly string[];
}

/** A token as it was chosen. */
export interface WrittenToken {
  readonly id: number;
  readonly piece: string;
  /** Natural logarithm, under the model's own distribution: before temperature and filters. */
  readonly logProbability: number;
}

export interface Sample {
  readonly text: string;
  readonly tokens: readonly WrittenToken[];
  /** Of all tokens together, with the `</s>` that ended them. */
  readonly logProbability: number;
  /** What ended it: `</s>`, the number of tokens, or a stop string. */
  readonly finish: Finish | "stop";
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

interface Writing {
  readonly request: Request;
  readonly place: { readonly prompt: number; readonly sample: number };
  readonly stream: TextStream;
  readonly tokens: WrittenToken[];
  logProbability: number;
  finish?: Sample["finish"];
}

/** A trained model that writes: it goes on with prompts, or answers sources. */
export class Writer {
  readonly #model: ModelConfig;
  readonly #tokenizer: Tokenizer;
  readonly #speaker: Speaker;

  constructor({ model, tokenizer }: { readonly model: ModelConfig; readonly tokenizer: Tokenizer }, options: SpeakerOptions) {
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.#speaker = speakerOf(model, options);
  }

  /** Writes for all prompts at once. Gives the text as it comes, and in the end all samples of each prompt. */
  async *write(prompts: readonly (string | Int32Array)[], options: WriteOptions = {}): AsyncGenerator<Piece, Sample[][]> {
    checkLimits(options);
    checkStops(options.stop);
    const { samples = 1 } = options;
    const writings = prompts.flatMap((prompt, i) => {
      const begin = this.#prompt(prompt, options);
      return Array.from({ length: samples }, (_, sample) => this.#writing(begin, { prompt: i, sample }, options));
    });
    const byRequest = new Map(writings.map((one) => [one.request, one]));
    const waiting = [...byRequest.keys()].reverse();
    const batch = new RunningBatch(this.#speaker);
    while (batch.size > 0 || waiting.length > 0) {
      while (batch.size < rowsAtOnce && waiting.length > 0) batch.add(waiting.pop() as Request);
      for (const said of await batch.step()) {
        if (said.error) throw said.error;
        const { request, token, logProbability, finish } = said;
        const one = byRequest.get(request) as Writing;
        one.logProbability += logProbability;
        let text = "";
        if (token !== undefined) {
          one.tokens.push({ id: token, piece: this.#tokenizer.piece(token), logProbability });
          text = one.stream.push(token);
        }
        if (finish && !one.stream.stopped) text += one.stream.end();
        one.finish = one.stream.stopped ? "stop" : finish;
        if (one.finish === "stop") batch.remove(request);
        if (text !== "") yield { ...one.place, text };
      }
    }
    return prompts.map((_, i) => writings.filter(({ place }) => place.prompt === i).map(sampleOf));
  }

  /** The same without waiting for every piece. */
  async samples(prompts: readonly (string | Int32Array)[], options: WriteOptions = {}): Promise<Sample[][]> {
    const writing = this.write(prompts, options);
    for (;;) {
      const { done, value } = await writing.next();
      if (done) return value;
    }
  }

  /** The likeliest texts as a whole, found by following several at once. */
  async best(prompts: readonly (string | Int32Array)[], options: BeamWriteOptions): Promise<Sample[][]> {
    const { beams, lengthPenalty, tokens = usualTokens, samples = 1, stop = [] } = options;
    checkLimits({ tokens, samples, beams, lengthPenalty });
    checkStops(stop);
    if (samples > beams) throw new ConfigError(`${beams} beams give at most ${beams} samples, not ${samples}`);
    const { end } = this.#tokenizer;
    const begun = prompts.map((prompt) => this.#withRoom(this.#prompt(prompt, options), tokens, options));
    const found = await beamSearch(this.#speaker, begun, { beams, lengthPenalty, tokens, end, forbidden: unwritten(this.#tokenizer) });
    return found.map((hypotheses, i) =>
      hypotheses.slice(0, samples).map((one) => {
        const stream = new TextStream(this.#tokenizer, begun[i].source ? [] : begun[i].ids, stop);
        const written: WrittenToken[] = [];
        for (const [t, id] of one.tokens.entries()) {
          if (stream.stopped) break;
          stream.push(id);
          written.push({ id, piece: this.#tokenizer.piece(id), logProbability: one.logProbabilities[t] });
        }
        stream.end();
        if (!stream.stopped) return { text: stream.text, tokens: written, logProbability: one.logProbability, finish: one.finish };
        const logProbability = written.reduce((sum, token) => sum + token.logProbability, 0);
        return { text: stream.text, tokens: written, logProbability, finish: "stop" };
      }),
    );
  }

  release(): Promise<void> {
    return this.#speaker.release();
  }

  #prompt(prompt: string | Int32Array, options: PromptOptions): Prompt {
    return typeof prompt === "string"
      ? promptOf(prompt, this.#model, this.#tokenizer, options)
      : promptOfIds(prompt, this.#model, this.#tokenizer, options);
  }

  #writing(prompt: Prompt, place: Writing["place"], options: WriteOptions): Writing {
    const { tokens = usualTokens, seed = 1, stop = [], samples: _, strict: __, warn: ___, ...rest } = options; // the rest is for sampling
    const never = [...unwritten(this.#tokenizer)].map((id): [number, number] => [id, Number.NEGATIVE_INFINITY]);
    const settings = sampling({ ...rest, bias: new Map([...never, ...(rest.bias ?? [])]) });
    const wrong = [...settings.bias.keys()].find((id) => id >= this.#speaker.vocab);
    if (wrong !== undefined)
      throw new ConfigError(
        `at sampling.bias: the token id ${wrong} is not in the vocabulary, which goes from 0 to ${this.#speaker.vocab - 1}`,
      );
    const own = chance(seed).fork("sampling").fork(place.sample);
    const request = { ...prompt, tokens, sampling: settings, chance: own, end: this.#tokenizer.end };
    return {
      request,
      place,
      stream: new TextStream(this.#tokenizer, prompt.source ? [] : prompt.ids, stop),
      tokens: [],
      logProbability: 0,
    };
  }

  /** Beams are not read again from their later half: a prompt makes room for what is to come, down to half of the context. */
  #withRoom(prompt: Prompt, tokens: number, { strict, warn }: PromptOptions): Prompt {
    const { longest } = this.#speaker;
    const { length } = prompt.ids;
    if (prompt.source || length + tokens <= longest + 1) return prompt;
    const sentence = `${length} tokens of the prompt and ${tokens} new ones are more than the context of ${longest}`;
    if (strict) throw new ConfigError(`${sentence}; ask for fewer, or leave out --strict to drop the prompt's beginning`);
    const kept = Math.min(length, Math.max(longest - tokens + 1, longest >> 1, 1));
    const room = longest - kept + 1;
    const dropped = kept < length ? [`the first ${length - kept} tokens of the prompt are dropped`] : [];
    const fewer = room < tokens ? [`at most ${room} are written`] : [];
    warn?.(`${sentence}: ${[...dropped, ...fewer].join(", and ")}`);
    return { ids: Array.from(prompt.ids).slice(-kept) };
  }
}

function checkStops(stop: unknown): void {
  if (stop !== undefined && !Array.isArray(stop)) throw new ConfigError(`at stop: a list of texts is wanted, not a ${typeof stop}`);
}

const sampleOf = ({ stream, tokens, logProbability, finish = "length" }: Writing): Sample => ({
  text: stream.text,
  tokens,
  logProbability,
  finish,
});
