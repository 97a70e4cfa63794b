import { ConfigError } from "../base/errors.ts";
import { call, sentence } from "../base/sentence.ts";
import { chatOf } from "../hub/chat.ts";
import type { HubRecord } from "../hub/record.ts";
import { described, type ModelConfig, taskOf } from "../models/any.ts";
import { Cache, type Held } from "../runtime/cache.ts";
import type { Device } from "../runtime/device.ts";
import type { ModelTask } from "../text/columns.ts";
import type { ChatFormat } from "../tokens/chat-template.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { Weights } from "../weights/weights.ts";
import type { Warn } from "./reading.ts";

/** What a trained model is made of, wherever it comes from: a run folder, another's checkpoint, a page. */
export interface TrainedParts {
  readonly model: ModelConfig;
  /** Left out where a model reads no text. */
  readonly tokenizer?: Tokenizer;
  /** Names of labels or tags, in the order of their scores. */
  readonly labels?: readonly string[];
  readonly weights: Weights;
  readonly device: Device;
  /** What a classifier's scores are divided by before they become probabilities; 1 if left out. */
  readonly temperature?: number;
  /** How it reads a conversation, where it was made for any. */
  readonly chat?: ChatFormat | undefined;
  /** What it is called in errors: its folder, or where else it came from. */
  readonly name?: string;
  /** What it came with, if it came from outside. */
  readonly hub?: HubRecord | undefined;
  /** Called when the engine's memory is given back. */
  release?(): void;
  /** Told what is noteworthy about texts and rounding, by whatever uses the model and has no `warn` of its own; nobody if left out. */
  readonly warn?: Warn | false;
}

/** Something that holds memory of the engine. */
export interface Releasable {
  release(): Promise<void>;
}

/** Compiled functions that stay; the one not used for longest goes first. */
const mostKept = 8;

const does: Readonly<Record<ModelTask, { readonly what: string; readonly command: string }>> = {
  lm: { what: "continues text", command: "generate" },
  classify: { what: "classifies", command: "classify" },
  tag: { what: "tags", command: "tag" },
  translate: { what: "translates", command: "translate" },
  embed: { what: "gives vectors of texts", command: "embed" },
  mlm: { what: "fills in tokens that are hidden", command: "fill" },
};

/**
 * A trained model: what generation, evaluation and inspection take. What they compile of it stays with it, so that a second text costs no
 * second session, and is released with it.
 */
export class TrainedModel implements TrainedParts {
  readonly model: ModelConfig;
  readonly labels: readonly string[];
  readonly device: Device;
  readonly name: string;
  readonly warn: Warn | false;
  readonly #named: boolean;
  readonly #parts: TrainedParts;
  #chat: ChatFormat | undefined;
  readonly #kept = new Cache<Releasable>(mostKept, (one) => one.release());

  constructor(parts: TrainedParts, warn: Warn | false = parts.warn ?? false) {
    const { model, labels = [], device, name = model.model === "own" ? described(model) : `this ${model.model}` } = parts;
    this.model = model;
    this.labels = labels;
    this.device = device;
    this.name = name;
    this.warn = warn;
    this.#named = parts.name !== undefined;
    this.#parts = parts;
  }

  /** Asked for when they are wanted: a run's file need not be opened to see what the run is. */
  get weights(): Weights {
    return this.#parts.weights;
  }

  get tokenizer(): Tokenizer {
    const { tokenizer } = this.#parts;
    if (!tokenizer) throw new ConfigError(`${this.name} has no tokenizer, so it reads no text; give one, or what it is fed`);
    return tokenizer;
  }

  /** What a classifier's scores are divided by before they become probabilities. */
  get temperature(): number {
    return this.#parts.temperature ?? 1;
  }

  /** How it reads a conversation, where it knows how. */
  get chat(): ChatFormat | undefined {
    this.#chat ??= chatOf(this.#parts);
    return this.#chat;
  }

  /** What it came with, if it came from outside: its family, its chat template. */
  get hub(): HubRecord | undefined {
    return this.#parts.hub;
  }

  get task(): ModelTask {
    return taskOf(this.model);
  }

  /** Refuses what it was not trained for, with what it is for. */
  require(task: ModelTask): void {
    if (this.task === task) return;
    const { what, command } = does[this.task];
    if (!this.#named) throw new ConfigError(`${this.name} ${what}, and cannot do ${task}`, { code: "config.task" });
    throw new ConfigError(sentence`${this.name}: this run ${what}; use ${call(command, this.name)}`, { code: "config.task" });
  }

  /** Something made of this model: made once for a key, and kept. It stays alive until it is let go of. */
  hold<Made extends Releasable>(key: string, make: () => Made): Promise<Held<Made>> {
    return this.#kept.hold(key, async () => make()) as Promise<Held<Made>>; // a key is only ever used with what it is made for
  }

  /** The same for as long as `body` runs. */
  async use<Made extends Releasable, Result>(key: string, make: () => Made, body: (made: Made) => Promise<Result>): Promise<Result> {
    const { value, release } = await this.hold(key, make);
    try {
      return await body(value);
    } finally {
      await release();
    }
  }

  /** How many compiled functions are kept. */
  get keptCount(): number {
    return this.#kept.size;
  }

  /** Gives back the engine's memory; what is used at this moment goes when it is done. */
  async release(): Promise<void> {
    await this.#kept.clear();
    this.#parts.release?.();
  }

  /** `await using model = open(…)` releases it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
