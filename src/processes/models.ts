import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pause } from "../base/turns.ts";
import { type Answered, AskError, type Listener } from "../protocol/asking.ts";
import type { Ask, Load, ModelFacts, ToldError } from "../protocol/messages.ts";
import { failed, ModelProcess, type ProcessOptions } from "./model-process.ts";
import type { ModelSettings } from "./model-settings.ts";

// Several models, each in a process of its own, in a memory that may be too small for all of them at once.

export type ModelState = "unloaded" | "loading" | "ready" | "failed";

export interface ModelStatus {
  readonly name: string;
  readonly state: ModelState;
  /** Known once it was open. */
  readonly facts?: ModelFacts;
  readonly load?: Load;
  readonly pid?: number;
  /** How often its process ended by itself. */
  readonly crashes: number;
  /** Why it could not be opened, or why its process ended last. */
  readonly error?: ToldError;
}

export interface ModelsOptions extends ProcessOptions {
  /** Bytes for all of them: weights, and what is kept of texts. */
  readonly memory: number;
  /** Told what happens to processes. */
  log?(event: ModelEvent): void;
}

export interface ModelEvent {
  readonly event: "loading" | "ready" | "unloaded" | "ended" | "failed";
  readonly model: string;
  readonly pid?: number;
  readonly seconds?: number;
  readonly error?: ToldError;
}

interface Entry {
  readonly name: string;
  readonly settings: ModelSettings;
  process: ModelProcess | undefined;
  state: ModelState;
  facts: ModelFacts | undefined;
  error: ToldError | undefined;
  crashes: number;
  /** Crashes or failed starts in a row, and when it may be tried again. */
  failures: number;
  after: number;
  /** Bytes that it takes while it does nothing: guessed by its files, and then measured. */
  need: number;
  /** When it was asked last, by the count of all questions. */
  used: number;
  /** Who is being answered, and who waits for it to be open. */
  users: number;
  wanted: number;
  /** Shared by all who wait. */
  opening: Promise<ModelProcess> | undefined;
  /** Nobody new is answered: it makes room when those who are there have gone. */
  leaving: boolean;
}

const wait = (milliseconds: number): Promise<void> =>
  milliseconds > 0 ? new Promise((resolve) => setTimeout(resolve, milliseconds).unref()) : Promise.resolve();

/** After a failure it is tried again at once, then after 1, 2, 4 … seconds. */
const longestRest = 30_000;
const restAfter = (failures: number): number => (failures <= 1 ? 0 : Math.min(longestRest, 500 * 2 ** (failures - 1)));

/** One that has run for so long was well. */
const wellAfter = 60_000;

/** A model that is not opened after all, through no fault of its own. */
class GaveUp extends AskError {
  constructor(message: string) {
    super(failed("stopping", message));
  }
}

/** What a process takes beside weights. */
const bareProcess = 100 * 2 ** 20;

export class Models {
  readonly #entries: Map<string, Entry>;
  readonly #options: ModelsOptions;
  /** One is opened at a time: what each takes is known only then. */
  #opening: Promise<unknown> = Promise.resolve();
  #clock = 0;
  #closed = false;

  constructor(models: Readonly<Record<string, ModelSettings>>, options: ModelsOptions) {
    this.#options = options;
    this.#entries = new Map(Object.entries(models).map(([name, settings]) => [name, entryOf(name, settings)]));
  }

  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  get statuses(): readonly ModelStatus[] {
    return [...this.#entries.values()].map(({ name, state, facts, process, crashes, error }) => ({
      name,
      state,
      ...(facts && { facts }),
      ...(process?.alive && { load: process.load, pid: process.pid }),
      crashes,
      ...(error && { error }),
    }));
  }

  /** Opens all of them in turn, as far as the memory goes, so that what is wrong with one is known at once. */
  async open(): Promise<void> {
    for (const entry of this.#entries.values())
      await this.#ready(entry).catch((error) => {
        if (!(error instanceof GaveUp)) throw error; // others are being answered where it would be; it is opened when it is asked
      });
  }

  /** Asks a model, which is opened if it is not open. */
  async ask<A extends Ask>(name: string, ask: A, listener: Listener, signal: AbortSignal): Promise<Answered<A["kind"]>> {
    const entry = this.#entries.get(name);
    if (!entry) throw new AskError({ fault: "asked", code: "model_not_found", path: "model", message: `there is no model called ${name}` });
    entry.used = ++this.#clock;
    const process = await this.#held(entry, signal);
    try {
      return await process.ask(ask, listener, signal);
    } finally {
      entry.users--;
    }
  }

  /** Its process, with one user more. */
  async #held(entry: Entry, signal: AbortSignal): Promise<ModelProcess> {
    entry.wanted++;
    try {
      for (;;) {
        const process = await unlessAborted(this.#ready(entry), signal);
        if (entry.process !== process || entry.leaving) continue; // it made room for another meanwhile
        entry.users++;
        return process;
      }
    } finally {
      entry.wanted--;
    }
  }

  async close(reason: ToldError): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#entries.values()].map(({ process }) => process?.stop(reason)));
  }

  async #ready(entry: Entry): Promise<ModelProcess> {
    if (isOpen(entry)) return entry.process;
    if (performance.now() < entry.after && entry.error && entry.state === "failed") throw new AskError(unavailable(entry));
    entry.opening ??= this.#inTurn(entry).finally(() => {
      entry.opening = undefined;
    });
    return entry.opening;
  }

  async #inTurn(entry: Entry): Promise<ModelProcess> {
    await wait(entry.after - performance.now()); // one that crashes again and again is not started by everybody who asks
    const mine = this.#opening.then(() => this.#opened(entry));
    this.#opening = mine.catch(() => {});
    return mine;
  }

  async #opened(entry: Entry): Promise<ModelProcess> {
    if (isOpen(entry)) return entry.process;
    if (this.#closed) throw new AskError(failed("stopping", "the server is stopping"));
    const began = performance.now();
    let process: ModelProcess | undefined;
    try {
      await this.#makeRoom(entry);
      entry.state = "loading";
      process = new ModelProcess({ name: entry.name, ...entry.settings }, this.#options);
      entry.process = process;
      this.#log({ event: "loading", model: entry.name, pid: process.pid });
      entry.facts = await process.ready;
      entry.need = process.load.memory;
      await this.#makeRoom(entry); // it may take more than its files let guess
    } catch (error) {
      const told = error instanceof AskError ? error.told : failed("unexpected", String(error));
      await process?.stop(told);
      entry.process = undefined;
      if (error instanceof GaveUp) {
        entry.state = "unloaded";
        throw error;
      }
      this.#failed(entry, told);
      throw new AskError(unavailable(entry));
    }
    const opened = process;
    entry.state = "ready";
    entry.error = undefined;
    const now = performance.now();
    this.#log({ event: "ready", model: entry.name, pid: process.pid, seconds: (now - began) / 1000 });
    void opened.ended.then((reason) => this.#ended(entry, opened, reason, now));
    this.#share();
    return opened;
  }

  #failed(entry: Entry, error: ToldError): void {
    entry.state = "failed";
    entry.error = error;
    entry.failures++;
    const rest = Math.max(1000, restAfter(entry.failures));
    entry.after = performance.now() + rest;
    this.#log({ event: "failed", model: entry.name, error });
    this.#share();
    if (entry.facts) void this.#again(entry, rest); // it was well once; one that never was is tried when somebody asks
  }

  /** One that ended by itself is started again; one that was ended to make room is not. */
  async #ended(entry: Entry, process: ModelProcess, error: ToldError, began: number): Promise<void> {
    if (entry.process !== process || this.#closed) return;
    entry.process = undefined;
    entry.state = "loading";
    entry.error = error;
    entry.crashes++;
    entry.failures = performance.now() - began > wellAfter ? 1 : entry.failures + 1;
    this.#log({ event: "ended", model: entry.name, pid: process.pid, error });
    const rest = restAfter(entry.failures);
    entry.after = performance.now() + rest;
    await this.#again(entry, rest);
  }

  /** Opens it after a rest, unless somebody did. */
  async #again(entry: Entry, rest: number): Promise<void> {
    await wait(rest);
    if (this.#closed || entry.process) return;
    await this.#ready(entry).catch(() => {}); // its state says why not
  }

  /** Ends those that were not asked for longest, until there is memory for one more. Nobody who is being answered is ended. */
  async #makeRoom(entry: Entry): Promise<void> {
    const { memory } = this.#options;
    if (entry.need > memory)
      throw new AskError(
        failed("memory", `${entry.name} takes about ${mebibytes(entry.need)}, and all models together may take ${mebibytes(memory)}`),
      );
    const others = [...this.#entries.values()].filter((other) => other !== entry);
    try {
      for (;;) {
        await pause(); // whoever waited for one that has just been opened is answered first
        const open = others.filter(({ process }) => process?.alive).sort((a, b) => a.used - b.used);
        const taken = open.reduce((sum, { need }) => sum + need, 0);
        if (taken + entry.need <= memory) return;
        if (this.#closed) throw new GaveUp("the server is stopping");
        const idle = open.find(({ users }) => users === 0);
        if (idle) await this.#unload(idle);
        else if (entry.wanted === 0) throw new GaveUp("nobody waits for the model any more");
        else {
          open[0].leaving = true;
          await wait(20); // for those who are there to be answered
        }
      }
    } finally {
      for (const other of others) other.leaving = false;
    }
  }

  async #unload(entry: Entry): Promise<void> {
    const { process } = entry;
    entry.process = undefined;
    entry.state = "unloaded";
    entry.leaving = false;
    await process?.stop(failed("unloaded", "the model made room for another"));
    this.#log({ event: "unloaded", model: entry.name, pid: process?.pid });
  }

  /** What weights leave of the memory is for texts, the same for each model. Growing takes twice what is there, so rows get half. */
  #share(): void {
    const open = [...this.#entries.values()].filter(({ state, process }) => state === "ready" && process?.alive);
    const left = this.#options.memory - open.reduce((sum, { need }) => sum + need, 0);
    for (const { process } of open) process?.give(Math.max(0, left / open.length / 2));
  }

  #log(event: ModelEvent): void {
    this.#options.log?.(event);
  }
}

function entryOf(name: string, settings: ModelSettings): Entry {
  const fresh = { state: "unloaded", process: undefined, facts: undefined, error: undefined } as const;
  return {
    name,
    settings,
    ...fresh,
    crashes: 0,
    failures: 0,
    after: 0,
    need: bareProcess + weightBytes(settings.folder),
    used: 0,
    users: 0,
    wanted: 0,
    opening: undefined,
    leaving: false,
  };
}

const isOpen = (entry: Entry): entry is Entry & { readonly process: ModelProcess } =>
  entry.process?.alive === true && entry.state === "ready" && !entry.leaving;

const unavailable = ({ name, error }: Entry): ToldError => failed("model_unavailable", `${name} cannot be opened: ${error?.message}`);

/** The files that weights are in; of a folder that is not there, nothing. */
function weightBytes(path: string): number {
  try {
    if (!statSync(path).isDirectory()) return statSync(path).size;
    const files = readdirSync(path).filter((name) => name.endsWith(".safetensors"));
    return files.reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
  } catch {
    return 0;
  }
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20).toLocaleString("en")} MiB`;

/** Does not wait any longer than somebody wants it. */
function unlessAborted<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    value.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort)); // also where nobody waits any more: a failure is heard
    if (signal.aborted) abort();
  });
}
