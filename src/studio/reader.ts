import type { FromModel, ToldError, ToModel } from "../protocol/messages.ts";
import type { FromWorker, Job, JobAnswers, JobEvent, JobKind } from "../worker/messages.ts";
import { Child } from "./child.ts";
import type { ChildSettings } from "./settings.ts";

// The process that opens, answers and lists for everybody. One that crashes is followed by another when it is next needed.

/** Whoever waits for a job. */
export interface Waiting {
  events(events: readonly JobEvent[]): void;
  answer(answer: JobAnswers[JobKind]): void;
  error(error: ToldError, stopped: boolean): void;
}

/** A job that can be stopped, and rests and goes on if it is a training. */
export interface Handle {
  stop(): void;
  pause(): void;
  go(): void;
}

/** A model that is open, and what was asked of it and is not answered yet. */
interface OpenModel {
  /** Its number in the process. */
  readonly inner: number;
  readonly hear: (said: readonly FromModel[]) => void;
  readonly asked: Set<number>;
}

export const closed: ToldError = { fault: "asked", code: "closed", message: "this model was closed; open it again" };

/** Questions to one model that wait for their answers. */
const mostAsked = 1024;
const tooMany: ToldError = {
  fault: "asked",
  code: "data.too-much",
  message: `${mostAsked} questions to this model wait already; wait for some answers`,
};

export class Reader {
  readonly #settings: ChildSettings;
  #child: Child | undefined;
  readonly #jobs = new Map<number, Waiting>();
  /** By numbers of our own, which no two processes share. */
  readonly #models = new Map<number, OpenModel>();
  #next = 1;
  #over: ToldError | undefined;

  constructor(settings: ChildSettings) {
    this.#settings = settings;
    this.#started(); // whoever asks first need not wait for it
  }

  begin(work: Job, waiting: Waiting): Handle {
    const job = this.#next++;
    if (this.#over) {
      waiting.error(this.#over, false);
      return { stop() {}, pause() {}, go() {} };
    }
    const child = this.#started();
    this.#jobs.set(job, waiting);
    child.send({ job, work });
    return { stop: () => child.send({ stop: job }), pause: () => child.send({ pause: job }), go: () => child.send({ go: job }) };
  }

  /** Remembers a model that a job has opened; what is said of it goes to `hear`. Gives its number. */
  keep(inner: number, hear: OpenModel["hear"]): number {
    const model = this.#next++;
    this.#models.set(model, { inner, hear, asked: new Set() });
    return model;
  }

  /** Asks it; gives back why it cannot be asked. */
  ask(model: number, message: ToModel): ToldError | undefined {
    const open = this.#models.get(model);
    if (!open) return closed;
    if ("ask" in message && open.asked.size >= mostAsked) return tooMany;
    if ("ask" in message) open.asked.add(message.id);
    this.#child?.send({ model: open.inner, ask: message });
    return undefined;
  }

  /** Closes a model that a job has opened for nobody. */
  drop(inner: number): void {
    this.begin({ kind: "close", model: inner }, nobody);
  }

  /** Whoever waits for an answer of it is told that it is closed. */
  close(model: number, waiting: Waiting = nobody): void {
    const open = this.#models.get(model);
    this.#models.delete(model);
    if (open) this.begin({ kind: "close", model: open.inner }, waiting);
    else waiting.answer(null);
  }

  end(reason: ToldError): void {
    this.#over = reason;
    this.#child?.kill();
  }

  #started(): Child {
    if (this.#child) return this.#child;
    const child = new Child(this.#settings, (said) => this.#hear(said));
    this.#child = child;
    void child.ended.then((reason) => this.#lost(this.#over ?? reason));
    return child;
  }

  #lost(reason: ToldError): void {
    this.#child = undefined;
    const [jobs, models] = [[...this.#jobs.values()], [...this.#models.values()]];
    this.#jobs.clear();
    this.#models.clear();
    for (const { error } of jobs) error(reason, false);
    for (const { asked, hear } of models) if (asked.size > 0) hear([...asked].map((id) => ({ id, error: reason })));
  }

  #hear(said: Exclude<FromWorker, { ready: unknown }>): void {
    if ("said" in said) {
      for (const open of this.#models.values()) {
        if (open.inner !== said.model) continue;
        for (const one of said.said) if ("answer" in one || "error" in one) open.asked.delete(one.id);
        open.hear(said.said);
      }
      return;
    }
    if (!("job" in said)) return;
    const waiting = this.#jobs.get(said.job);
    if (!waiting) return;
    if ("events" in said) waiting.events(said.events);
    else {
      this.#jobs.delete(said.job);
      if ("answer" in said) waiting.answer(said.answer);
      else waiting.error(said.error, said.stopped);
    }
  }
}

/** For what nobody waits for. */
export const nobody: Waiting = { events() {}, answer() {}, error() {} };
