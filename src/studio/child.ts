import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ToldError } from "../protocol/messages.ts";
import type { FromWorker, ToWorker } from "../worker/messages.ts";
import { decoded, encoded, type Frame } from "../worker/wire.ts";
import type { ChildSettings } from "./settings.ts";

// One child process of a studio, seen from its parent. It may crash or be killed at any moment: then whoever started it is told so.

/** For the C library of Linux: large pieces of memory go back to the machine when they are let go of, and do not stay for the next. */
const returning = { MALLOC_MMAP_THRESHOLD_: "1048576", MALLOC_TRIM_THRESHOLD_: "16777216" };
/** Of what it writes to standard error, the end is kept: what an engine says before it goes. */
const lastWords = 4096;

const main = fileURLToPath(new URL("./child-main.js", import.meta.url));

export class Child {
  /** Why it ended; never rejected. */
  readonly ended: Promise<ToldError>;
  readonly #child: ChildProcess;
  #words = "";

  constructor(settings: ChildSettings, hear: (said: Exclude<FromWorker, { ready: unknown }>) => void) {
    const child = fork(main, [JSON.stringify(settings)], {
      serialization: "advanced",
      env: { ...process.env, ...returning },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child = child;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#words = (this.#words + text).slice(-lastWords);
    });
    child.on("message", (said: FromWorker | { readonly frame: Frame }) => {
      if (!("ready" in said)) hear(("frame" in said ? decoded(said.frame) : said) as Exclude<FromWorker, { ready: unknown }>);
    });
    this.ended = new Promise((resolve) => {
      child.once("error", (error) => resolve(failed(`could not be started: ${error.message}`)));
      child.once("close", (code, signal) => resolve(crashed(code, signal, this.#words)));
    });
  }

  send(message: Exclude<ToWorker, { start: unknown }>): void {
    if (this.#child.connected) this.#child.send({ frame: encoded(message) }, () => {}); // one that has gone is noticed by its end
  }

  /** Nothing more is asked of it: it ends by itself, and what trains is saved before. */
  leave(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  /** Ends it at once. */
  kill(): void {
    this.#child.kill("SIGKILL"); // it may be deep inside the engine, where it hears nothing else
  }
}

const failed = (how: string): ToldError => ({
  fault: "failed",
  code: "worker.crashed",
  message: `the process that computes ${how}; what was saved is there, and whoever asks again is answered by another`,
});

function crashed(code: number | null, signal: string | null, words: string): ToldError {
  const memory = /heap out of memory|bad_alloc|allocation failed/i.test(words) ? ", for want of memory" : "";
  return failed(`${signal ? `was ended by ${signal}` : `ended with code ${code}`}${memory}`);
}
