import { ConfigError, RunError } from "../base/errors.ts";
import { plainError } from "../protocol/words.ts";
import type { FromWorker, Job, JobAnswers, JobKind, ToWorker, WorkerReport } from "../worker/messages.ts";
import type { Asked } from "./asked.ts";
import { closed, type Reader, type Waiting } from "./reader.ts";
import { type Following, following, type Trainings } from "./trainings.ts";

// One page that is connected: its jobs and its models, under its own numbers. When it goes, what only it wanted goes too; trainings go on.

/** Models that one page may have open, and jobs that it may wait for, at once. */
const most = { models: 16, jobs: 256 };

export interface Rooms {
  readonly reader: Reader;
  readonly trainings: Trainings;
  readonly report: WorkerReport;
}

/** A job that is under way: how it is stopped by its page, and how it is left when the page goes. */
type Open = Following;

export class Client {
  readonly #rooms: Rooms;
  readonly #send: (said: FromWorker) => void;
  readonly #jobs = new Map<number, Open>();
  readonly #models = new Set<number>();
  #gone = false;

  constructor(rooms: Rooms, send: (said: FromWorker) => void) {
    this.#rooms = rooms;
    this.#send = send;
  }

  hear(asked: Asked): void {
    if ("message" in asked) this.#heard(asked.message);
    else if (asked.job !== undefined) this.#send({ job: asked.job, error: asked.error, stopped: false });
    else if (asked.model !== undefined && asked.id !== undefined)
      this.#send({ model: asked.model, said: [{ id: asked.id, error: asked.error }] });
    else this.#send({ broken: asked.error });
  }

  /** The page has gone. */
  leave(): void {
    this.#gone = true;
    for (const job of this.#jobs.values()) job.leave();
    this.#jobs.clear();
    for (const model of this.#models) this.#rooms.reader.close(model);
    this.#models.clear();
  }

  #heard(message: ToWorker): void {
    if ("start" in message) this.#send({ ready: this.#rooms.report });
    else if ("work" in message) this.#begin(message.job, message.work);
    else if ("stop" in message) this.#jobs.get(message.stop)?.stop();
    else if ("pause" in message) this.#jobs.get(message.pause)?.pause();
    else if ("go" in message) this.#jobs.get(message.go)?.go();
    else {
      const { model, ask } = message;
      const error = this.#models.has(model) ? this.#rooms.reader.ask(model, ask) : closed;
      if (error && "id" in ask) this.#send({ model, said: [{ id: ask.id, error }] });
    }
  }

  #begin(job: number, work: Job): void {
    const failed = (error: unknown) => this.#send({ job, error: plainError(error), stopped: false });
    const over = (say: () => void) => {
      this.#jobs.delete(job);
      if (!this.#gone) say();
    };
    let isOver = false;
    const waiting: Waiting = {
      events: (events) => this.#send({ job, events }),
      answer: (answer) => {
        isOver = true;
        if (this.#gone && work.kind === "open") this.#rooms.reader.drop((answer as JobAnswers["open"]).model); // nobody is there to use it
        over(() => this.#send({ job, answer: this.#told(work, answer) }));
      },
      error: (error, stopped) => {
        isOver = true;
        over(() => this.#send({ job, error, stopped }));
      },
    };
    try {
      if (this.#jobs.has(job)) throw new ConfigError(`there is a job ${job} already`, { path: "job" });
      if (this.#jobs.size >= most.jobs) throw new ConfigError(`${most.jobs} jobs are under way already; wait for some of them`);
      const open = this.#opened(work, waiting);
      if (!isOver && open) this.#jobs.set(job, open);
    } catch (error) {
      failed(error);
    }
  }

  #opened(work: Job, waiting: Waiting): Open | undefined {
    const { reader, trainings } = this.#rooms;
    switch (work.kind) {
      case "train":
      case "resume":
        return following(trainings.begin(work), waiting);
      case "follow":
        return trainings.follow(work.run, waiting);
      case "trainings":
        waiting.answer(trainings.facts);
        return undefined;
      case "close":
        if (!this.#models.delete(work.model)) throw new ConfigError(closed.message, { path: "model" });
        reader.close(work.model, waiting);
        return undefined;
      case "remove":
        if (trainings.preparing)
          throw new RunError("a training is being prepared at this moment; remove it when that one has begun", { code: "run.busy" });
        break;
      case "open":
        if (this.#models.size >= most.models)
          throw new ConfigError(`${most.models} models are open already; close one of them`, { code: "config.range" });
        break;
    }
    const { stop, pause, go } = reader.begin(work, waiting);
    return { stop, pause, go, leave: stop };
  }

  /** An answer with numbers of this page's, and with what only the studio knows. */
  #told({ kind }: Job, answer: JobAnswers[JobKind]): JobAnswers[JobKind] {
    const { reader, trainings } = this.#rooms;
    if (kind === "open") {
      const opened = answer as JobAnswers["open"];
      const model = reader.keep(opened.model, (said) => this.#send({ model, said }));
      this.#models.add(model);
      return { ...opened, model };
    }
    if (kind !== "runs") return answer;
    const states = new Map(trainings.facts.map(({ run, state }) => [run, state]));
    return (answer as JobAnswers["runs"]).map((facts) => {
      const state = states.get(facts.run);
      return state ? { ...facts, training: state } : facts;
    });
  }
}
