import { cacheFolder } from "../data/cache.ts";
import { givenData, ownData } from "../data/held-out.ts";
import { openWeights } from "../disk/weight-file.ts";
import { type EvaluateOptions, evaluate, type Measures } from "../evaluation/evaluate.ts";
import { type Classification, classifyTexts, type PredictOptions, type Tagging, tagTexts } from "../evaluation/predict.ts";
import { type Translation, translateTexts } from "../evaluation/translate.ts";
import type { TranslateOptions } from "../generation/translator.ts";
import { type BeamWriteOptions, type Sample, type WriteOptions, Writer } from "../generation/writer.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type AttentionOptions, attentionOf } from "../inspection/attention.ts";
import { type AttentionLook, type Looked, look } from "../inspection/look.ts";
import type { ReadingOptions } from "../inspection/reading.ts";
import type { RunConfig } from "../runs/config.ts";
import { type OpenRun, openRun, readWeights } from "../runs/folder.ts";
import type { Columns } from "../text/examples.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { baked, type Precision } from "../trained/baked.ts";

export interface TrainedOptions {
  /** Weights as they were trained (f32), or rounded to 8 or 4 bits for writing. */
  readonly precision?: Precision;
  readonly threads?: number;
}

/** A trained model: what it can do follows from what it was trained for. */
export class Trained implements OpenRun {
  readonly folder: string;
  readonly config: RunConfig;
  readonly tokenizer: Tokenizer;
  readonly #options: TrainedOptions;
  #writer: Writer | undefined;
  #weights: ParameterBuffer | undefined;

  constructor({ folder, config, tokenizer }: OpenRun, options: TrainedOptions = {}) {
    this.folder = folder;
    this.config = config;
    this.tokenizer = tokenizer;
    this.#options = { threads: config.training.threads, ...options };
  }

  /** The numbers of all parameters, read when they are first wanted. */
  get weights(): ParameterBuffer {
    this.#weights ??= readWeights(this).weights;
    return this.#weights;
  }

  /** Goes on with a prompt (or answers a source), piece by piece as it is written. */
  async *generate(prompt: string, options: Omit<WriteOptions, "samples"> = {}): AsyncGenerator<string> {
    for await (const { text } of this.#writing().write([prompt], options)) yield text;
  }

  /** Whole texts for many prompts at once: for each prompt, its samples. */
  samples(prompts: readonly string[], options: WriteOptions = {}): Promise<Sample[][]> {
    return this.#writing().samples(prompts, options);
  }

  /** The likeliest texts as a whole, by beam search. */
  best(prompts: readonly string[], options: BeamWriteOptions): Promise<Sample[][]> {
    return this.#writing().best(prompts, options);
  }

  translate(texts: readonly string[], options: PredictOptions & TranslateOptions = {}): Promise<Translation[]> {
    return collected(translateTexts(this, openWeights(this), texts, { ...this.#options, ...options }));
  }

  classify(texts: readonly string[], options: PredictOptions = {}): Promise<Classification[]> {
    return collected(classifyTexts(this, this.weights, texts, { ...this.#options, ...options }));
  }

  tag(texts: readonly string[], options: PredictOptions = {}): Promise<Tagging[]> {
    return collected(tagTexts(this, this.weights, texts, { ...this.#options, ...options }));
  }

  /** The measures of its task: on files, or on the part of its data that was held out. */
  async evaluate(
    files: readonly string[] = [],
    options: Partial<EvaluateOptions> & { readonly columns?: Columns } = {},
  ): Promise<Measures> {
    const { columns = {}, warn = () => {} } = options;
    const data = files.length > 0 ? await givenData(this.config, files, columns) : await ownData(this.config, warn);
    return evaluate(this, this.weights, data, { cache: cacheFolder(), ...this.#options, ...options });
  }

  /** Any activation while it reads a text, by the names of its taps. */
  look(text: string, taps: readonly string[], options: ReadingOptions = {}): Promise<Looked> {
    return look(this, text, taps, { threads: this.#options.threads, ...options });
  }

  /** Where it attends while it reads a text. */
  attention(text: string, options: AttentionOptions = {}): Promise<AttentionLook> {
    return attentionOf(this, text, { threads: this.#options.threads, ...options });
  }

  /** Gives back the engine's memory. */
  async release(): Promise<void> {
    await this.#writer?.release();
    this.#writer = undefined;
  }

  #writing(): Writer {
    const { threads, precision } = this.#options;
    this.#writer ??= new Writer(
      { model: this.config.model, tokenizer: this.tokenizer },
      { threads, ...baked(openWeights(this), precision) },
    );
    return this.#writer;
  }
}

/** Opens a run folder. */
export const open = (folder: string, options: TrainedOptions = {}): Trained => new Trained(openRun(folder), options);

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
