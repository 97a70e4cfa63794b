import { pause, Queue } from "../base/turns.ts";
import { modelLoss, readsSource, taskOf } from "../models/any.ts";
import { parametersOf } from "../runtime/compile.ts";
import { maskOf } from "../trained/hiding.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { answerTo } from "./answers.ts";
import type { Answers, Ask, AskKind, Begun, FromModel, Load, ModelFacts, Piece, ToModel, WriteAsk } from "./messages.ts";
import { type Telling, toldError } from "./words.ts";
import { Writers, type WritersOptions, type WritingJob } from "./writers.ts";

export interface DeskOptions extends WritersOptions {
  /** Hears what is said: everything of one step of the engine together. */
  tell(said: readonly FromModel[]): void;
  /** Bytes that this process takes. */
  memory(): number;
  /** How errors are told; to whoever asks by fields, if left out. */
  readonly telling?: Telling;
  /** Told when nothing is under way any more. */
  idle?(): void;
}

/** Where a model is asked: whoever holds the other end of a pipe, a worker's port or a socket asks here, and is told. */
export class Desk {
  readonly #trained: TrainedModel;
  readonly #options: DeskOptions;
  readonly #writers: Writers;
  readonly #jobs = new Map<number, AbortController>();
  /** All but writing goes one after the other: a text is short, and memory is not. */
  readonly #queue = new Queue();
  #said: FromModel[] = [];

  constructor(trained: TrainedModel, options: DeskOptions) {
    this.#trained = trained;
    this.#options = options;
    this.#writers = new Writers(trained, options);
  }

  get facts(): ModelFacts {
    const { model, tokenizer, labels, chat } = this.#trained;
    const task = taskOf(model);
    const writing = task === "lm" || task === "translate";
    return {
      task,
      model: model.model,
      parameters: parametersOf(modelLoss(model)).total,
      context: model.context,
      vocab: model.vocab,
      tokenizer: tokenizer.kind,
      labels,
      chat: !writing ? "none" : chat ? "own" : "plain",
      ...(task === "mlm" && { mask: maskOf(this.#trained).token }),
      writes: writing,
      readsSource: readsSource(model),
    };
  }

  /** Compiles what will be used, and runs it once: whoever asks first waits no longer than others, and damaged weights show themselves. */
  async warmUp(): Promise<void> {
    const { task, tokenizer, model } = this.#trained;
    const quiet = { signal: new AbortController().signal, warn: () => {} };
    if (this.facts.writes) return this.#writers.warmUp();
    const text = tokenizer.decode([...Array(tokenizer.size).keys()].slice(0, Math.min(64, model.context)));
    if (text.trim() === "" || task === "mlm") return;
    const kind = task === "classify" || task === "tag" ? task : "embed";
    await answerTo(this.#trained, { kind, texts: [text] }, quiet);
  }

  get #telling(): Telling {
    return this.#options.telling ?? toldError;
  }

  /** Whether anything is under way. */
  get busy(): boolean {
    return this.#jobs.size > 0;
  }

  /** Leaves everything that is under way, and lets go of what it holds of the model. */
  async end(): Promise<void> {
    for (const stop of this.#jobs.values()) stop.abort();
    await this.#writers.end();
  }

  /** Gives back what is kept of prompts. */
  forget(): void {
    this.#writers.forget();
  }

  get load(): Load {
    return { ...this.#writers.load, memory: this.#options.memory() };
  }

  hear(message: ToModel): void {
    if ("ask" in message) void this.#answer(message.id, message.ask);
    else if ("cancel" in message) this.#jobs.get(message.cancel)?.abort();
    else if ("room" in message) this.#writers.room = message.room;
    else this.#tell({ pong: message.ping, load: this.load });
  }

  async #answer(id: number, ask: Ask): Promise<void> {
    const stop = new AbortController();
    const warnings = new Set<string>();
    const options = { signal: stop.signal, warn: (sentence: string) => void warnings.add(sentence) };
    this.#jobs.set(id, stop);
    try {
      const answer = await (ask.kind === "write"
        ? this.#write(id, ask, options, warnings)
        : this.#queue.run<Answers[AskKind]>(() => {
            this.#tell({ id, begun: { prompts: [] } });
            return answerTo(this.#trained, ask, options);
          }, stop.signal));
      this.#tell({ id, answer, warnings: [...warnings] });
    } catch (error) {
      if (!stop.signal.aborted) this.#tell({ id, error: this.#telling(error) });
    } finally {
      this.#jobs.delete(id);
      if (this.#jobs.size === 0) this.#options.idle?.();
    }
  }

  #write(id: number, ask: WriteAsk, options: Pick<WritingJob, "signal" | "warn">, warnings: ReadonlySet<string>): Promise<null> {
    const begun = (said: Begun) => this.#tell({ id, begun: { ...said, warnings: [...warnings] } });
    const piece = (said: Piece) => this.#tell({ id, piece: said });
    return this.#writers.write(ask, { ...options, begun, piece });
  }

  #tell(said: FromModel): void {
    this.#said.push(said);
    if (this.#said.length > 1) return;
    void pause().then(() => {
      const all = this.#said;
      this.#said = [];
      try {
        this.#options.tell(all);
      } catch (error) {
        const asked = new Set(all.flatMap((one) => ("id" in one ? [one.id] : [])));
        this.#options.tell([...asked].map((id) => ({ id, error: this.#telling(error) }))); // what cannot be sent is told to those whose it is
      }
    });
  }
}
