import { type Chance, chance } from "../base/chance.ts";
import { ConfigError } from "../base/errors.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { shownPiece, unwritten } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { EndedPrompt } from "./prompt.ts";
import type { Finish, Request, SaidToken } from "./running-batch.ts";
import { type SamplingInput, sampling } from "./sampling.ts";
import { TextStream } from "./text-stream.ts";

// One text on its way: what a batch is asked for, and the tokens that come back, as text.

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

export interface WritingOptions extends Partial<Pick<Request, "top" | "constraint">> {
  readonly tokens: number;
  readonly sampling: SamplingInput;
  /** Everything random follows from it, and from the number of the sample. */
  readonly seed: number;
  readonly sample: number;
  /** Mixed into the seed: equal prompts with different numbers are different texts. */
  readonly draw?: number;
  readonly stop?: readonly string[];
}

/** So much of a prompt decides how what follows it reads. */
const readBefore = 256;

export class Writing {
  readonly request: Request;
  readonly #tokenizer: Tokenizer;
  readonly #stream: TextStream;
  readonly #tokens: WrittenToken[] = [];
  #logProbability = 0;
  #finish: Sample["finish"] | undefined;

  constructor(trained: TrainedModel, prompt: EndedPrompt, options: WritingOptions) {
    const { tokenizer } = trained;
    const { tokens, stop = [], top, constraint } = options;
    this.#tokenizer = tokenizer;
    this.#stream = new TextStream(tokenizer, prompt.source ? [] : Array.from(prompt.ids).slice(-readBefore), stop);
    this.request = {
      ...prompt,
      tokens,
      sampling: samplingFor(trained, options.sampling),
      chance: chanceOf(options),
      end: tokenizer.end,
      ends: endsOf(tokenizer, [prompt]),
      ...(top !== undefined && { top }),
      ...(constraint && { constraint }),
    };
  }

  /** Why it is over, once it is. One that met a stop string is over before its request is. */
  get finish(): Sample["finish"] | undefined {
    return this.#finish;
  }

  /** Takes what was said, and gives the text that is certain now. */
  hear({ token, logProbability, finish }: SaidToken): string {
    this.#logProbability += logProbability;
    let text = "";
    if (token !== undefined) {
      this.#tokens.push({ id: token, piece: shownPiece(this.#tokenizer, token), logProbability });
      text = this.#stream.push(token);
    }
    if (finish && !this.#stream.stopped) text += this.#stream.end();
    this.#finish = this.#stream.stopped ? "stop" : finish;
    return text;
  }

  get sample(): Sample {
    return { text: this.#stream.text, tokens: this.#tokens, logProbability: this.#logProbability, finish: this.#finish ?? "length" };
  }
}

/** All tokens that end a text. */
export const endsOf = ({ ends = [] }: Tokenizer, prompts: readonly EndedPrompt[]): readonly number[] => [
  ...new Set([...ends, ...prompts.flatMap((prompt) => prompt.ends ?? [])]),
];

/** Checked settings, in which what is never written is forbidden. */
function samplingFor(trained: TrainedModel, given: SamplingInput): Request["sampling"] {
  const never = [...unwritten(trained)].map((id): [number, number] => [id, Number.NEGATIVE_INFINITY]);
  const settings = sampling({ ...given, bias: new Map([...(given.bias ?? []), ...never]) }); // whatever is wished: nobody could read them
  const { vocab } = trained.model;
  const wrong = [...settings.bias.keys()].find((id) => id >= vocab);
  if (wrong !== undefined)
    throw new ConfigError(`the token id ${wrong} is not in the vocabulary, which goes from 0 to ${vocab - 1}`, {
      code: "config.range",
      at: "sampling.bias",
    });
  return settings;
}

function chanceOf({ seed, sample, draw = 0 }: WritingOptions): Chance {
  const all = chance(seed).fork("sampling").fork(sample);
  return draw === 0 ? all : all.fork("draw").fork(draw);
}
