import { cacheFolder } from "../data/cache.ts";
import { givenData, givenRows, ownData } from "../data/held-out.ts";
import { type EmbedOptions, embedTexts } from "../evaluation/embed.ts";
import { type EvaluateOptions, evaluate, type Measures } from "../evaluation/evaluate.ts";
import { type Filling, type FillOptions, fillTexts } from "../evaluation/fill.ts";
import { type Classification, classifyTexts, type PredictOptions, type Tagging, tagTexts } from "../evaluation/predict.ts";
import { type Translation, translateTexts } from "../evaluation/translate.ts";
import type { TranslateOptions } from "../generation/translator.ts";
import { type BeamWriteOptions, type Sample, type WriteOptions, write, writeBest, writeSamples } from "../generation/writer.ts";
import { type AttentionOptions, attentionOf } from "../inspection/attention.ts";
import { type AttentionLook, type Looked, look } from "../inspection/look.ts";
import type { Read, ReadingOptions } from "../inspection/reading.ts";
import type { Definition } from "../models/own.ts";
import { type DeviceChoice, deviceOf } from "../node/devices.ts";
import type { OpenRun } from "../runs/folder.ts";
import { openModel } from "../runs/open-model.ts";
import { trainedParts } from "../runs/weights.ts";
import { withAdapter } from "../runs/with-adapter.ts";
import type { Device, Precision } from "../runtime/device.ts";
import type { ChatMessage, Columns } from "../text/examples.ts";
import type { GivenRows } from "../text/given.ts";
import { teller, type Warned } from "../trained/reading.ts";
import { TrainedModel as Model, type TrainedParts } from "../trained/trained.ts";
import { type PredictFileOptions, type PredictFileResult, predictFile } from "./predict-file.ts";
import { type Data, fileList, isFiles } from "./rows.ts";
import { processWarning } from "./warnings.ts";

/** A trained model of this process: what is noteworthy becomes a warning of the process, unless somebody else is told. */
export class TrainedModel extends Model {
  constructor(parts: TrainedParts) {
    super(parts, parts.warn ?? processWarning(parts.name));
  }
}

/** Told what is noteworthy, by every method that has no `warn` of its own; `false` for nobody, a warning of the process if left out. */
export interface OpenOptions extends Warned {
  /** What computes, or its name; the processor if left out. */
  readonly device?: Device | DeviceChoice;
  /** Threads of the device; if left out, its own, or those that the run was trained with. */
  readonly threads?: number;
  /** Weights as they were trained (f32), or rounded to 8 or 4 bits for writing and measuring; looking inside is at those that were trained. */
  readonly precision?: Precision;
  /** The definitions of models of one's own, by which a run of one of them is known. */
  readonly models?: readonly Definition[];
  /** An adapter that is put into the model: a run that was trained with LoRA from it, or a folder that PEFT wrote. */
  readonly adapter?: string;
}

export interface MeasureOptions extends EvaluateOptions {
  readonly columns?: Columns;
  readonly cache?: string;
  /** The rows that the run was trained on, if they were in memory: what was held out of them is measured. */
  readonly own?: GivenRows;
}

/** A trained model with a method for everything that it can do, which follows from what it was trained for. */
export class Trained extends TrainedModel {
  /** The run that it is of: its folder, and its config with the data and the settings that it was trained with. */
  readonly run: OpenRun;

  constructor(run: OpenRun, { device: given, threads: asked, precision, warn }: OpenOptions = {}) {
    const device = deviceOf(given);
    const threads = asked ?? device.threads ?? run.config.training.threads;
    super(trainedParts(run, { ...device, threads, ...(precision && { precision }) }, warn));
    this.run = run;
  }

  /** Goes on with a prompt, answers a source, or a conversation by its chat template, piece by piece as it is written. */
  async *generate(prompt: string | readonly ChatMessage[], options: Omit<WriteOptions, "samples"> = {}): AsyncGenerator<string> {
    for await (const { text } of write(this, [prompt], options)) yield text;
  }

  /** Whole texts for many prompts at once: for each prompt, its samples. */
  samples(prompts: readonly (string | readonly ChatMessage[])[], options: WriteOptions = {}): Promise<Sample[][]> {
    return writeSamples(this, prompts, options);
  }

  /** The likeliest texts as a whole, by beam search. */
  best(prompts: readonly (string | readonly ChatMessage[])[], options: BeamWriteOptions): Promise<Sample[][]> {
    return writeBest(this, prompts, options);
  }

  translate(texts: readonly string[], options: PredictOptions & TranslateOptions = {}): Promise<Translation[]> {
    return collected(translateTexts(this, texts, options));
  }

  classify(texts: readonly string[], options: PredictOptions = {}): Promise<Classification[]> {
    return collected(classifyTexts(this, texts, options));
  }

  tag(texts: readonly string[], options: PredictOptions = {}): Promise<Tagging[]> {
    return collected(tagTexts(this, texts, options));
  }

  /** The vector of each text, from an encoder of any task: for search, and to compare texts by meaning. */
  async embed(texts: readonly string[], options: EmbedOptions = {}): Promise<Float32Array[]> {
    return (await collected(embedTexts(this, texts, options))).map(({ vector }) => vector);
  }

  /** The likeliest words where texts have a mask, from a model that was trained on hidden words. */
  fill(texts: readonly string[], options: FillOptions = {}): Promise<Filling[]> {
    return collected(fillTexts(this, texts, options));
  }

  /** Answers every row of a .csv, .tsv or .jsonl, and writes the rows with their answers to another; stopped, the same call goes on where it was. */
  predictFile(from: string, to: string, options: PredictFileOptions = {}): Promise<PredictFileResult> {
    return predictFile(this, from, to, options);
  }

  /** The measures of its task: on files, on rows in memory, or on the part of its data that was held out. */
  async evaluate(data: Data = [], { columns = {}, cache = cacheFolder(), own, ...options }: MeasureOptions = {}): Promise<Measures> {
    options.signal?.throwIfAborted();
    const held = await this.#dataFrom(data, { columns, cache, own, ...options });
    return evaluate(this, held.data, options).finally(held.close);
  }

  #dataFrom(data: Data, { columns, cache, own, ...options }: MeasureOptions & { readonly columns: Columns; readonly cache: string }) {
    const { signal } = options;
    const warn = teller(options, this);
    if (!isFiles(data)) return givenRows(this.run, data, cache, warn, signal);
    const files = fileList(data);
    if (files.length > 0) return givenData(this.run, files, columns, cache, warn);
    return ownData(this.run, cache, warn, { rows: own && { data: own }, signal });
  }

  /** Any activation while it reads a text, by the names of its taps. */
  look(text: Read, taps: readonly string[], options: ReadingOptions = {}): Promise<Looked> {
    return look(this, text, taps, options);
  }

  /** Where it attends while it reads a text. */
  attention(text: Read, options: AttentionOptions = {}): Promise<AttentionLook> {
    return attentionOf(this, text, options);
  }
}

/** Opens a run folder, or a folder of Hugging Face. */
export function open(folder: string, options: OpenOptions = {}): Trained {
  const run = openModel(folder, options.models);
  return new Trained(options.adapter === undefined ? run : withAdapter(run, options.adapter), options);
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
