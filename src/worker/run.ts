import type { Measures } from "../evaluation/evaluate.ts";
import type { Filling } from "../evaluation/fill.ts";
import type { Classification, Tagging } from "../evaluation/predict.ts";
import type { Translation } from "../evaluation/translate.ts";
import type { SamplingInput } from "../generation/sampling.ts";
import type { Sample } from "../generation/writing.ts";
import type { Activation } from "../inspection/observe.ts";
import type { Answered, Asking, Listener } from "../protocol/asking.ts";
import type {
  Answers,
  Ask,
  AskedChange,
  Begun,
  EmbedAsk,
  Form,
  GivenPrompt,
  LookAsk,
  ModelFacts,
  PatchAsk,
  Piece,
  SweepAsk,
  ToldActivation,
  ToldToken,
  WriteAsk,
} from "../protocol/messages.ts";
import type { TrainResult } from "../runs/drive.ts";
import type { PackedAttention, PackedView } from "../views/packed.ts";
import type { ViewName } from "../views/views.ts";
import { Channel } from "./channel.ts";
import type { PageData } from "./computer.ts";
import { tarOf } from "./tar.ts";
import { unwanted, wantedCount, wantedInteger, wantedPrompt, wantedPrompts, wantedText, wantedTexts } from "./wanted.ts";

// A trained model, as a page has it: every call goes to the worker, and comes back typed.

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Told what is noteworthy; the console, if left out. */
  readonly warn?: (sentence: string) => void;
}

export interface PageWriteOptions extends Omit<SamplingInput, "bias">, CallOptions {
  readonly tokens?: number;
  /** The same seed writes the same text, here and in Node. */
  readonly seed?: number;
  readonly stop?: readonly string[];
  readonly strict?: boolean;
  /** The form that the answer must have: a JSON schema, or any JSON. */
  readonly form?: Form;
}

/** A text that was written, and its tokens where they were asked for. */
export type PageSample = Pick<Sample, "text" | "finish"> & {
  readonly count: number;
  readonly told: readonly ToldToken[];
  /** How likely its end was, where its tokens are told and it has one. */
  readonly ended?: Piece["ended"];
};

/** What was written just now: whole characters, the tokens, and how it ended, if it did. */
export interface WrittenPiece extends Pick<Piece, "text" | "count" | "ended" | "finish"> {
  readonly tokens: readonly ToldToken[];
  /** Told first, where it was asked for: the prompt as the model reads it. The first token has nothing before it. */
  readonly prompt?: NonNullable<Begun["prompts"][number]["scored"]>;
}

/** What a run needs of who opened it. */
export interface RunHome {
  readonly asking: Asking;
  evaluate(data: PageData, signal?: AbortSignal): Promise<{ readonly measures: Measures; readonly warnings: readonly string[] }>;
  files(): Promise<readonly File[]>;
  close(): Promise<void>;
}

const usualTokens = 200;
const usualBeams = 4;

export class Run {
  /** Where it lies in the storage of this page. */
  readonly run: string;
  readonly facts: ModelFacts;
  /** How its training went, where it was trained just now. */
  readonly result: TrainResult | undefined;
  readonly #home: RunHome;

  constructor(run: string, facts: ModelFacts, home: RunHome, result?: TrainResult) {
    this.run = run;
    this.facts = facts;
    this.result = result;
    this.#home = home;
  }

  /** Goes on with a prompt, answers a source or a conversation, piece by piece as it is written. */
  async *generate(prompt: GivenPrompt, options: PageWriteOptions = {}): AsyncGenerator<string> {
    const ask = writeAsk([wantedPrompt(prompt)], options);
    yield* this.#streamed<string>(ask, options, (pieces) => ({ piece: ({ text }) => text !== "" && pieces.push(text) }));
  }

  async *#streamed<Item>(ask: WriteAsk, options: CallOptions, listener: (pieces: Channel<Item>) => Listener): AsyncGenerator<Item> {
    const pieces = new Channel<Item>();
    const leaving = new AbortController(); // whoever stops listening need not say so
    const signal = options.signal ? AbortSignal.any([options.signal, leaving.signal]) : leaving.signal;
    const written = this.#ask(ask, { ...options, signal }, listener(pieces));
    written.then(
      () => pieces.end(),
      (error) => pieces.end({ error }),
    );
    try {
      yield* pieces;
    } finally {
      leaving.abort();
    }
  }

  /**
   * The same token by token, each with its log-probability and so many others that could have come; with `echo`, first the prompt's own. Prompts may
   * be token ids: what was written with another token in some place is gone on with from there.
   */
  async *write(
    prompt: GivenPrompt,
    { top = 0, echo = false, ...options }: PageWriteOptions & { readonly top?: number; readonly echo?: boolean } = {},
  ): AsyncGenerator<WrittenPiece> {
    const ask = { ...writeAsk([wantedPrompt(prompt)], options), top, ...(echo && { echo }) };
    yield* this.#streamed<WrittenPiece>(ask, options, (pieces) => ({
      begun: ({ prompts: [begun] }) => echo && pieces.push({ text: "", count: 0, tokens: [], prompt: begun.scored ?? [] }),
      piece: ({ text, count, tokens = [], ended, finish }) =>
        pieces.push({ text, count, tokens, ...(ended && { ended }), ...(finish && { finish }) }),
    }));
  }

  /** Whole texts for many prompts at once: for each prompt, its samples. With `top`, every token comes with its log-probability and that many others. */
  async samples(
    prompts: readonly GivenPrompt[],
    { samples = 1, top, ...options }: PageWriteOptions & { readonly samples?: number; readonly top?: number } = {},
  ): Promise<PageSample[][]> {
    const count = wantedCount("samples", samples, wantedPrompts(prompts).length);
    const ask = { ...writeAsk(prompts, options), samples: count, ...(top !== undefined && { top }) };
    return this.#written(ask, options);
  }

  /** The likeliest texts as a whole, by beam search, with their tokens. */
  async best(
    prompts: readonly GivenPrompt[],
    {
      beams,
      lengthPenalty,
      samples = 1,
      ...options
    }: PageWriteOptions & { readonly beams: number; readonly lengthPenalty?: number; readonly samples?: number } = { beams: usualBeams },
  ): Promise<PageSample[][]> {
    const counts = { samples: wantedCount("samples", samples, wantedPrompts(prompts).length), beams: wantedCount("beams", beams) };
    const ask = { ...writeAsk(prompts, options), ...counts, top: 0, ...(lengthPenalty !== undefined && { lengthPenalty }) };
    return this.#written(ask, options);
  }

  async classify(texts: readonly string[], options: CallOptions = {}): Promise<readonly Classification[]> {
    return this.#answer({ kind: "classify", texts: wantedTexts("texts", texts) }, options);
  }

  async tag(texts: readonly string[], options: CallOptions = {}): Promise<readonly Tagging[]> {
    return this.#answer({ kind: "tag", texts: wantedTexts("texts", texts) }, options);
  }

  async translate(
    texts: readonly string[],
    { beams, lengthPenalty, ...options }: CallOptions & { readonly beams?: number; readonly lengthPenalty?: number } = {},
  ): Promise<readonly Translation[]> {
    const search = {
      ...(beams !== undefined && { beams: wantedCount("beams", beams) }),
      ...(lengthPenalty !== undefined && { lengthPenalty }),
    };
    return this.#answer({ kind: "translate", texts: wantedTexts("texts", texts), ...search }, options);
  }

  async fill(texts: readonly string[], { top, ...options }: CallOptions & { readonly top?: number } = {}): Promise<readonly Filling[]> {
    return this.#answer({ kind: "fill", texts: wantedTexts("texts", texts), ...(top !== undefined && { top }) }, options);
  }

  /** The vector of each text, from an encoder of any task. */
  async embed(
    texts: readonly string[],
    { pool, normalise, ...options }: CallOptions & Pick<EmbedAsk, "pool" | "normalise"> = {},
  ): Promise<Float32Array[]> {
    const { vectors } = await this.#answer(
      { kind: "embed", texts: wantedTexts("texts", texts), ...(pool && { pool }), ...(normalise !== undefined && { normalise }) },
      options,
    );
    return vectors.map((vector) => Float32Array.from(vector));
  }

  /** A look inside: the numbers of a view. */
  async look(view: ViewName, text = "", { signal, warn, ...options }: CallOptions & LookAsk["options"] = {}): Promise<unknown> {
    const found = await this.#answer({ kind: "look", view, text: wantedText("text", text), options, as: "json" }, { signal, warn });
    return "json" in found ? JSON.parse(found.json) : undefined;
  }

  /** A look inside as a picture: the text of an SVG. */
  async picture(view: ViewName, text = "", { signal, warn, ...options }: CallOptions & LookAsk["options"] = {}): Promise<string> {
    const found = await this.#answer({ kind: "look", view, text: wantedText("text", text), options, as: "svg" }, { signal, warn });
    return "svg" in found ? found.svg : "";
  }

  /** A look inside as a page of its own, which needs nothing else. */
  async page(view: ViewName, text = "", { signal, warn, ...options }: CallOptions & LookAsk["options"] = {}): Promise<string> {
    const found = await this.#answer({ kind: "look", view, text: wantedText("text", text), options, as: "html" }, { signal, warn });
    return "html" in found ? found.html : "";
  }

  /** The weights of attention in few bytes: of all heads with at most `side` cells a side, or of the layer and head that are asked for. */
  async packed(
    view: PackedView,
    text: string,
    { signal, warn, side, ...options }: CallOptions & LookAsk["options"] & { readonly side?: number } = {},
  ): Promise<PackedAttention> {
    const asked = {
      kind: "look",
      view,
      text: wantedText("text", text),
      options,
      as: "packed",
      ...(side !== undefined && { side }),
    } as const;
    const found = await this.#answer(asked, { signal, warn });
    if (!("json" in found)) throw unwanted("view", `the view ${view} has no weights to pack`);
    return JSON.parse(found.json) as PackedAttention;
  }

  /** Any activation while it reads a text, by the names of its taps; without names, which taps there are. */
  async taps(
    text = "",
    names: readonly string[] = [],
    { target, head, ...options }: CallOptions & { readonly target?: string; readonly head?: number } = {},
  ): Promise<Omit<Answers["taps"], "activations"> & { readonly activations: ReadonlyMap<string, Activation> }> {
    const asked = { text: wantedText("text", text), names: wantedTexts("names", names) };
    const found = await this.#answer(
      { kind: "taps", ...asked, ...(target !== undefined && { target }), ...(head !== undefined && { head: wantedInteger("head", head) }) },
      options,
    );
    return { ...found, activations: new Map(found.activations.map((one) => [one.name, activationOf(one)])) };
  }

  /** What would be said of a text if some activations were others. */
  async patch(
    text: string,
    changes: readonly AskedChange[],
    { target, position, top, ...options }: CallOptions & Pick<PatchAsk, "target" | "position" | "top"> = {},
  ): Promise<Answers["patch"]> {
    if (!Array.isArray(changes)) throw unwanted("changes", "changes: a list is wanted, such as [{ layer: 0, head: 1 }]");
    const told = {
      ...(target !== undefined && { target }),
      ...(position !== undefined && { position: wantedInteger("position", position) }),
      ...(top !== undefined && { top: wantedCount("top", top) }),
    };
    return this.#answer({ kind: "patch", text: wantedText("text", text), changes, ...told }, options);
  }

  /** One position or head of a tap after the other is replaced, and each time an answer's probability asked for. */
  async sweep(text: string, asked: Omit<SweepAsk, "kind" | "text">, options: CallOptions = {}): Promise<Answers["sweep"]> {
    return this.#answer({ kind: "sweep", text: wantedText("text", text), ...asked }, options);
  }

  async tokenize(given: Extract<Ask, { kind: "tokenize" }>["given"], options: CallOptions = {}): Promise<Answers["tokenize"]> {
    wantedPrompt(given);
    return this.#answer({ kind: "tokenize", given }, options);
  }

  /** The measures of its task: on data, or on the part of its own that was held out. */
  async evaluate(data: PageData = [], { signal, warn = console.warn }: CallOptions = {}): Promise<Measures> {
    const { measures, warnings } = await this.#home.evaluate(data, signal);
    for (const sentence of warnings) warn(sentence);
    return measures;
  }

  /** What makes it a run elsewhere: config.json, tokenizer.json, model.safetensors. */
  files(): Promise<readonly File[]> {
    return this.#home.files();
  }

  /** The same as one .tar, a folder when it is unpacked: `tar xf`, and `npx qkv` opens it. */
  async archive(): Promise<Blob> {
    return tarOf(this.run.split("/").at(-1) ?? "run", await this.files());
  }

  /** Gives back its memory. */
  close(): Promise<void> {
    return this.#home.close();
  }

  async #written(ask: WriteAsk, options: CallOptions): Promise<PageSample[][]> {
    const all = ask.prompts.map(() =>
      Array.from({ length: ask.samples }, () => ({
        text: "",
        finish: "length" as Sample["finish"],
        count: 0,
        told: [] as ToldToken[],
        ended: undefined as Piece["ended"],
      })),
    );
    await this.#ask(ask, options, {
      piece({ prompt, sample, text, count, tokens = [], ended, finish }) {
        const one = all[prompt][sample];
        one.text += text;
        one.count = count;
        one.told.push(...tokens);
        if (finish) one.finish = finish;
        if (ended) one.ended = ended;
      },
    });
    return all;
  }

  async #answer<A extends Ask>(ask: A, options: CallOptions): Promise<Answers[A["kind"]]> {
    return (await this.#ask(ask, options)).answer;
  }

  async #ask<A extends Ask>(ask: A, { signal, warn = console.warn }: CallOptions, listener: Listener = {}): Promise<Answered<A["kind"]>> {
    const answered = await this.#home.asking.ask(ask, listener, signal);
    for (const sentence of answered.warnings) warn(sentence);
    return answered;
  }
}

function writeAsk(prompts: readonly GivenPrompt[], options: PageWriteOptions): WriteAsk {
  const { tokens = usualTokens, seed = 1, stop = [], strict = false, form, signal: _, warn: __, ...sampling } = options;
  wantedInteger("seed", seed);
  wantedTexts("stop", stop);
  return { kind: "write", prompts, samples: 1, tokens, sampling, seed, stop, strict, ...(form && { form }) };
}

const activationOf = ({ data, ...rest }: ToldActivation): Activation => ({ ...rest, data: Float32Array.from(data) });
