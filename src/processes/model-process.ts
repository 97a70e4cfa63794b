import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Answered, AskError, Asking, type Listener } from "../protocol/asking.ts";
import type { Ask, FromModel, Load, ModelFacts, ToldError, ToModel } from "../protocol/messages.ts";
import type { ModelSettings } from "./model-settings.ts";

// One child process that computes, seen from its parent. It may crash, hang or be killed at any moment: then everybody who waits for it
// is told so.

export interface ProcessOptions {
  /** Milliseconds without a sign of life after which a process is ended. */
  readonly watchdog: number;
  /** Milliseconds in which it must have opened its model. */
  readonly loading: number;
}

/** Between two questions whether it is still there. */
const pulse = 500;
/** Of what it writes to standard error, the end is kept: what an engine says before it goes. */
const lastWords = 4096;

/** For the C library of Linux: large pieces of memory go back to the machine when they are let go of, and do not stay for the next. */
const returning = { MALLOC_MMAP_THRESHOLD_: "1048576", MALLOC_TRIM_THRESHOLD_: "16777216" };

const main = fileURLToPath(new URL("./model-main.js", import.meta.url));

/** The life of one process, from its start to its end. */
export class ModelProcess {
  readonly ready: Promise<ModelFacts>;
  /** Why it ended; it is never rejected. */
  readonly ended: Promise<ToldError>;
  readonly #child: ChildProcess;
  readonly #asking = new Asking((message) => this.#send(message));
  #load: Load = { rows: 0, waiting: 0, kept: 0, memory: 0 };
  /** Why it was ended by us. */
  #reason: ToldError | undefined;
  #heard = performance.now();
  #words = "";

  constructor(settings: ModelSettings, { watchdog, loading }: ProcessOptions) {
    this.#child = fork(main, [JSON.stringify(settings)], {
      execArgv: ["--expose-gc"],
      env: { ...process.env, ...returning },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    const child = this.#child;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#words = (this.#words + text).slice(-lastWords);
    });
    let limit = loading;
    const timer = setInterval(
      () => {
        if (performance.now() - this.#heard > limit) this.#end(hung(limit));
        else if (limit !== loading) this.#send({ ping: performance.now() });
      },
      Math.min(pulse, watchdog / 4),
    );
    this.ended = new Promise<ToldError>((resolve) => {
      child.once("error", (error) => resolve(failed("model_crashed", `the process that computes could not be started: ${error.message}`)));
      child.once("close", (code, signal) => resolve(this.#reason ?? crashed(code, signal, this.#words)));
    }).then((reason) => {
      clearInterval(timer);
      this.#asking.end(reason);
      return reason;
    });
    this.ready = new Promise((resolve, reject) => {
      void this.ended.then((reason) => reject(new AskError(reason)));
      child.on("message", (all: readonly FromModel[]) => {
        this.#heard = performance.now();
        for (const said of all)
          if ("ready" in said) {
            limit = watchdog;
            this.#load = said.load;
            resolve(said.ready);
          } else if ("broken" in said) this.#reason = said.broken;
          else if ("pong" in said) this.#load = said.load;
          else this.#asking.hear(said);
      });
    });
    this.ready.catch(() => {}); // whoever cares waits for it, and hears it then
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What it said last of its work. */
  get load(): Load {
    return this.#load;
  }

  get alive(): boolean {
    return this.#asking.over === undefined;
  }

  /** Asks; what is heard on the way goes to the listener. Aborted, it is asked no more, and the signal's reason is thrown. */
  ask<A extends Ask>(ask: A, listener: Listener, signal: AbortSignal): Promise<Answered<A["kind"]>> {
    return this.#asking.ask(ask, listener, signal);
  }

  /** Tells it how much its rows may take. */
  give(room: number): void {
    this.#send({ room });
  }

  /** Ends it. Who still waits is told why. */
  async stop(reason: ToldError): Promise<void> {
    this.#end(reason);
    await this.ended;
  }

  #end(reason: ToldError): void {
    this.#reason ??= reason;
    this.#child.kill("SIGKILL"); // it may be deep inside the engine, where it hears nothing else
  }

  #send(message: ToModel): void {
    if (this.#child.connected) this.#child.send(message, () => {}); // one that has gone is noticed by its end
  }
}

export const failed = (code: string, message: string): ToldError => ({ fault: "failed", code, message });

const hung = (limit: number): ToldError =>
  failed("model_hung", `the process that computes gave no sign of life for ${limit / 1000} seconds, and was ended; ask again`);

function crashed(code: number | null, signal: string | null, words: string): ToldError {
  const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
  const memory = /heap out of memory|bad_alloc|allocation failed/i.test(words) ? ", for want of memory" : "";
  return failed("model_crashed", `the process that computes ${how}${memory}; it is started again, so ask again in a moment`);
}
