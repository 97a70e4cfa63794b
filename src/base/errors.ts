import { Sentence, type Wording } from "./sentence.ts";

/** What went wrong, for programs: these stay the same when sentences change. */
export type ErrorCode =
  | "graph"
  | "feed"
  | "non-finite"
  | "engine"
  /** The package that computes is not installed, or does not load. */
  | "engine.missing"
  /** Those who compute together do not understand each other. */
  | "engine.ranks"
  /** A device that this machine, or this installation, has not. */
  | "engine.device"
  /** Something that a device would have left to another. */
  | "engine.elsewhere"
  | "config"
  | "config.unknown-key"
  /** A preset, recipe, model, row … that there is not. */
  | "config.unknown-name"
  /** A setting that other models have; `models` says which. */
  | "config.other-model"
  | "config.range"
  | "config.type"
  | "config.choice"
  /** Settings that are each right, but not together. */
  | "config.conflict"
  /** A model, or a run, that is for another task. */
  | "config.task"
  | "data"
  /** A file that is not there or cannot be read. */
  | "data.file"
  | "data.line"
  | "data.columns"
  | "data.task"
  | "data.too-little"
  | "data.too-much"
  | "format"
  | "run"
  | "run.exists"
  | "run.missing"
  /** Its training has not come to a first save. */
  | "run.unsaved"
  /** Another process trains in it. */
  | "run.busy"
  /** Its data or its tokenizer is not what it was. */
  | "run.changed"
  /** It was trained on rows in memory, which nobody has kept: they must be given again. */
  | "run.rows"
  | "run.damaged"
  | "run.disk"
  /** A model that is too big for this machine. */
  | "memory"
  /** A server that cannot be reached, or does not answer as it should. */
  | "network"
  /** It has no such model, revision or file. */
  | "network.missing"
  /** It wants to know who asks, or does not let everybody have it. */
  | "network.forbidden"
  /** What came is not what was announced. */
  | "network.damaged";

/** What a program can know of an error. Where it is, `file`, `line`, `at` and `step`, stands in front of the sentence. */
export interface ErrorFacts {
  readonly code?: ErrorCode;
  /** The place in what was given: "model.positions", "training.steps", "columns.label". If left out, `at`. */
  readonly path?: string;
  /** How the sentence calls that place: "config.positions". If left out, the sentence says it by itself. */
  readonly at?: string;
  readonly file?: string;
  readonly line?: number;
  /** Of training. */
  readonly step?: number;
  /** Of a setting that this model does not have: the model, and those that have it. */
  readonly models?: { readonly given: string; readonly able: readonly string[] };
  readonly cause?: unknown;
}

/** Every error that qkv throws on purpose. Its message is a sentence for a person: where, what was found, what was wanted, a cure. */
export abstract class QkvError extends Error {
  /** What errors of a class are called where nothing more is known. */
  declare static readonly code: ErrorCode;
  /** The name of the class, spelled out: what makes a page smaller gives classes other names. */
  declare static readonly called: string;
  readonly code: ErrorCode;
  declare readonly path?: string;
  readonly #complaint: Sentence;
  readonly #facts: ErrorFacts;

  constructor(said: Wording, facts: ErrorFacts = {}) {
    super(`${placeOf(facts)}${said}`, facts);
    this.name = new.target.called;
    this.code = facts.code ?? new.target.code;
    const path = facts.path ?? facts.at;
    if (path !== undefined) this.path = path; // one that is not there is not shown either
    this.#complaint = typeof said === "string" ? new Sentence([said]) : said;
    this.#facts = { ...facts, code: this.code };
  }

  /** What is wrong, without where it is. */
  get complaint(): Sentence {
    return this.#complaint;
  }

  /** The whole message. */
  get sentence(): Sentence {
    return new Sentence([placeOf(this.#facts), this.#complaint]);
  }

  /** To tell the same error again with more words: `new RunError(sentence`${error.complaint}; …`, { ...error.facts, cause: error })`. */
  get facts(): ErrorFacts {
    return this.#facts;
  }
}

function placeOf({ file, line, at, step }: ErrorFacts): string {
  const places = [
    ...(file === undefined ? [] : [line === undefined ? file : `${file}, line ${line}`]),
    ...(at === undefined ? [] : [`at ${at}`]),
    ...(step === undefined ? [] : [`at step ${step}`]),
  ];
  return places.map((place) => `${place}: `).join("");
}

/** A graph that cannot be built: shapes, types or names that do not fit. */
export class GraphError extends QkvError {
  static override readonly called: string = "GraphError";
  static override readonly code = "graph";
}

/** A value fed to a compiled function that its inputs do not accept. */
export class FeedError extends QkvError {
  static override readonly called: string = "FeedError";
  static override readonly code = "feed";
}

/** A computation that gave NaN or infinity. */
export class NonFiniteError extends QkvError {
  static override readonly called: string = "NonFiniteError";
  static override readonly code = "non-finite";
}

/** The engine refused or failed. */
export class EngineError extends QkvError {
  static override readonly called: string = "EngineError";
  static override readonly code = "engine";
}

/** A setting with a value that makes no sense. */
export class ConfigError extends QkvError {
  static override readonly called: string = "ConfigError";
  static override readonly code = "config";
}

/** Data that cannot be trained on or read: the file, the line, what was found and what was wanted. */
export class DataError extends QkvError {
  static override readonly called: string = "DataError";
  static override readonly code = "data";

  constructor(said: Wording, facts: ErrorFacts = {}) {
    super(said, facts.line === undefined ? facts : { code: "data.line", ...facts });
  }
}

/** A file that is not what its name says: a damaged model.safetensors, a tokenizer.json that nobody could use. */
export class FormatError extends QkvError {
  static override readonly called: string = "FormatError";
  static override readonly code = "format";
}

/** A run that cannot start or go on: its folder, its disk, or something in it that changed. */
export class RunError extends QkvError {
  static override readonly called: string = "RunError";
  static override readonly code = "run";
}

/** A server that cannot be reached, refuses, or sends something else than it announced. */
export class NetworkError extends QkvError {
  static override readonly called: string = "NetworkError";
  static override readonly code = "network";
}
