import type { CostFacts } from "../cost/facts.ts";
import { AskError, Asking } from "../protocol/asking.ts";
import type { ToldError } from "../protocol/messages.ts";
import type { RunConfig } from "../runs/config.ts";
import type { TrainResult } from "../runs/drive.ts";
import type { Changes } from "../runs/resume.ts";
import type { GivenRow } from "../text/given.ts";
import { askToPersist } from "../web/storage/persist.ts";
import { Channel } from "./channel.ts";
import type { CostSettings, HeldOutExamples, RunFacts, TrainingPlan } from "./found.ts";
import type {
  FromWorker,
  GivenFile,
  Job,
  JobAnswers,
  JobEvent,
  ModelPlace,
  OpenSettings,
  SentSettings,
  ToWorker,
  TrainingFacts,
  WorkerEnd,
  WorkerReport,
  WorkerSettings,
} from "./messages.ts";
import { Run } from "./run.ts";
import { shown, unwanted } from "./wanted.ts";

// A page's end of its worker: what can be done, as calls.

/** Data as a page has it: an address, a file that was chosen, a text with a name that tells its kind, or rows; or several files. */
export type PageFile = string | URL | File | { readonly text: string; readonly name?: string };
export type PageData = PageFile | readonly PageFile[] | FileList | readonly GivenRow[];

export interface PageTrainSettings extends Omit<SentSettings, "from">, Watched {
  /** A run of this page, or a model that was opened, whose weights are the start. */
  readonly from?: string | Kept;
  readonly valid?: PageFile | readonly GivenRow[];
}

export interface Watched {
  /** Called with everything that happens. */
  readonly listen?: (event: JobEvent) => void;
  /** Aborted, training is saved and ends. */
  readonly signal?: AbortSignal;
}

export interface ResumeChanges extends Omit<Changes, "device" | "threads">, Watched {}

/** An address, a run of this page, or files: those of a folder, or one .gguf. */
export type PagePlace = string | URL | Kept | File | readonly File[] | FileList;

/** A run of this page's storage. */
export interface Kept {
  readonly run: string;
}

export interface PageOpenOptions extends OpenSettings, Watched {
  /** The SHA-256 that files of an address must have, in hexadecimal. */
  readonly integrity?: Readonly<Record<string, string>>;
}

export interface ExamplesOptions extends OpenSettings, Pick<Watched, "signal"> {
  /** How many at most; all if left out. */
  readonly most?: number;
}

interface Waiting {
  readonly listen: (event: JobEvent) => void;
  resolve(answer: never): void;
  reject(error: unknown): void;
}

export interface ComputerOptions extends Partial<Omit<WorkerSettings, "storage" | "engine">> {
  /** The worker's file, where it does not lie beside this one. */
  readonly worker?: string | URL | (() => Worker);
  /** The address of onnxruntime-web's files. */
  readonly engine?: string | URL;
  /** The name of the storage; "memory" keeps nothing. */
  readonly storage?: string;
}

export class Computer {
  readonly report: WorkerReport;
  readonly #worker: WorkerEnd;
  readonly #jobs = new Map<number, Waiting>();
  readonly #models = new Map<number, Asking>();
  #next = 1;
  #over: ToldError | undefined;
  readonly #leaving = new AbortController();

  private constructor(worker: WorkerEnd, report: WorkerReport) {
    this.#worker = worker;
    this.report = report;
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#hear(data);
    worker.onerror = (event) => this.#end(crashed(event));
    const page = (globalThis as { readonly document?: EventTarget }).document; // whoever made this worker may be one himself
    const { signal } = this.#leaving;
    page?.addEventListener("freeze", () => this.#everybody({ kind: "frozen" }), { signal });
    page?.addEventListener("resume", () => this.#everybody({ kind: "thawed" }), { signal });
    worker.onmessageerror = () => this.#end(failed("worker.crashed", "a message of the worker could not be read"));
  }

  /** Starts a worker, and waits until it can compute. */
  static async start(settings: WorkerSettings, make: () => WorkerEnd): Promise<Computer> {
    const worker = make();
    const report = await new Promise<WorkerReport>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
        if ("ready" in data) resolve(data.ready);
        else if ("broken" in data) reject(new AskError(data.broken));
      };
      worker.onerror = (event) => reject(new AskError(crashed(event)));
      worker.postMessage({ start: settings } satisfies ToWorker);
    }).catch((error) => {
      worker.terminate();
      throw error;
    });
    return new Computer(worker, report);
  }

  /** Why its worker computes no more, if it was ended. */
  get over(): ToldError | undefined {
    return this.#over;
  }

  /** Trains, and opens the run that comes of it. */
  async train(data: PageData, settings: PageTrainSettings = {}): Promise<Run> {
    const warned = (event: JobEvent) => event.kind === "warning" && console.warn(event.sentence);
    return this.begin(data, { listen: warned, ...settings }).finished;
  }

  /** Begins to train; what comes back can be watched, paused and stopped. */
  begin(data: PageData, { listen, signal, ...settings }: PageTrainSettings = {}): Training {
    return this.#training(() => ({ kind: "train", ...sentTraining(data, settings) }), { listen, signal });
  }

  /** Goes on with a run exactly where it was saved. */
  resume(kept: Kept, { listen, signal, ...changes }: ResumeChanges = {}): Training {
    return this.#training(() => ({ kind: "resume", run: runOf(kept), changes }), { listen, signal });
  }

  /** Attaches to a training that goes on, whoever began it: what happened lately is told first. */
  follow(kept: Kept, watched: Watched = {}): Training {
    return this.#training(() => ({ kind: "follow", run: runOf(kept) }), watched);
  }

  /** The trainings that go on at this moment. */
  trainings(): Promise<readonly TrainingFacts[]> {
    return this.#do({ kind: "trainings" });
  }

  #training(work: () => Extract<Job, { kind: "train" | "resume" | "follow" }>, watched: Watched): Training {
    const events = new Channel<JobEvent>();
    const listen = (event: JobEvent) => {
      events.push(event);
      watched.listen?.(event);
    };
    const { number, answer } = this.#begin(work, { listen });
    const stop = () => this.#send({ stop: number });
    if (watched.signal?.aborted) stop();
    watched.signal?.addEventListener("abort", stop, { once: true });
    const result = answer.finally(() => watched.signal?.removeEventListener("abort", stop));
    result.then(
      () => events.end(),
      () => events.end(),
    );
    return new Training(events, result, {
      pause: () => this.#send({ pause: number }),
      go: () => this.#send({ go: number }),
      stop,
      open: async ({ result: found }) => this.#openRun(found.run, {}, found),
    });
  }

  /** Opens a run of this page, an address or files. */
  async open(place: PagePlace, { integrity, listen, signal, ...settings }: PageOpenOptions = {}): Promise<Run> {
    return this.#openRun(placeOf(place, integrity), { ...settings, listen, signal });
  }

  async #openRun(from: ModelPlace | string, { listen, signal, ...settings }: OpenSettings & Watched, result?: TrainResult): Promise<Run> {
    const place = typeof from === "string" ? { run: from } : from;
    const { model, run, facts } = await this.#do({ kind: "open", from: place, ...settings }, { listen, signal });
    const asking = new Asking((ask) => this.#send({ model, ask }));
    if (this.#over) asking.end(this.#over);
    this.#models.set(model, asking);
    const home = {
      asking,
      evaluate: async (data: PageData, stop?: AbortSignal) =>
        this.#do({ kind: "evaluate", run, data: givenFiles(data), ...settings }, { signal: stop }),
      files: () => this.#do({ kind: "files", run }),
      close: async () => {
        this.#models.delete(model);
        asking.end(closed);
        await this.#do({ kind: "close", model });
      },
    };
    return new Run(run, facts, home, result);
  }

  /** The runs that lie in the storage of this page. */
  runs(): Promise<readonly RunFacts[]> {
    return this.#do({ kind: "runs" });
  }

  /** The lines of a run's log. */
  async log(kept: Kept): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return this.#do({ kind: "log", run: runOf(kept) });
  }

  /** The steps of its checkpoints, the first first: `open` takes one of them. */
  async checkpoints(kept: Kept): Promise<readonly number[]> {
    return this.#do({ kind: "checkpoints", run: runOf(kept) });
  }

  /** Everything that it was trained with: model, data, settings. */
  async config(kept: Kept): Promise<RunConfig> {
    return this.#do({ kind: "config", run: runOf(kept) });
  }

  /** The part of its data that was held out, with what the model says of it: at most so many. */
  async examples(kept: Kept, { signal, ...settings }: ExamplesOptions = {}): Promise<HeldOutExamples> {
    return this.#do({ kind: "examples", run: runOf(kept), ...settings }, { signal });
  }

  /** A few words of what was held out of its data: something to show it that is of the kind it learned. */
  async passage(kept: Kept): Promise<string> {
    return this.#do({ kind: "passage", run: runOf(kept) });
  }

  /** What a training would be, before it begins; a setting that is wrong is an AskError with its place. */
  async plan(data: PageData, { valid, from, listen, signal, ...settings }: PageTrainSettings = {}): Promise<TrainingPlan> {
    return this.#do({ kind: "plan", ...sentTraining(data, { valid, from, ...settings }) }, { listen, signal });
  }

  /** What a model costs: arithmetic, bytes and memory, by part and layer. No data is needed. */
  cost(settings: CostSettings = {}, { signal }: Pick<Watched, "signal"> = {}): Promise<CostFacts> {
    return this.#do({ kind: "cost", settings }, { signal });
  }

  async remove(kept: Kept): Promise<void> {
    await this.#do({ kind: "remove", run: runOf(kept) });
  }

  /** Asks the browser to keep what is stored here also when its disk gets full; it may ask the user. */
  persist(): Promise<boolean> {
    return askToPersist(navigator.storage as { persist?(): Promise<boolean> }); // it is there in pages only
  }

  /** Ends the worker. What was saved stays. */
  end(): void {
    this.#end(failed("worker.ended", "the worker was ended; connect again"));
  }

  #do<J extends Job>(work: J, watched: Watched = {}): Promise<JobAnswers[J["kind"]]> {
    const { number, answer } = this.#begin(() => work, { listen: watched.listen ?? (() => {}) });
    const { signal } = watched;
    if (!signal) return answer;
    const stop = () => this.#send({ stop: number });
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    return answer.finally(() => signal.removeEventListener("abort", stop));
  }

  #begin<J extends Job>(
    work: () => J,
    { listen }: Pick<Waiting, "listen">,
  ): { readonly number: number; readonly answer: Promise<JobAnswers[J["kind"]]> } {
    const number = this.#next++;
    const answer = new Promise<JobAnswers[J["kind"]]>((resolve, reject) => {
      if (this.#over) throw new AskError(this.#over);
      this.#send({ job: number, work: work() });
      this.#jobs.set(number, { listen, resolve: resolve as (answer: never) => void, reject }); // answers come later than this
    });
    return { number, answer };
  }

  #send(message: ToWorker): void {
    try {
      this.#worker.postMessage(message);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw unwanted("", `what is given to a worker must be data: no functions, and no models of one's own (${why})`);
    }
  }

  #hear(said: FromWorker): void {
    if ("said" in said) {
      const asking = this.#models.get(said.model);
      for (const one of said.said) if ("id" in one) asking?.hear(one);
      return;
    }
    if (!("job" in said)) return;
    const waiting = this.#jobs.get(said.job);
    if (!waiting) return;
    if ("events" in said) {
      for (const event of said.events) waiting.listen(event);
      return;
    }
    this.#jobs.delete(said.job);
    if ("answer" in said) waiting.resolve(said.answer as never);
    else waiting.reject(said.stopped ? new DOMException(said.error.message, "AbortError") : new AskError(said.error));
  }

  #everybody(event: JobEvent): void {
    for (const { listen } of this.#jobs.values()) listen(event);
  }

  /** Everybody who waits is told why. */
  #end(reason: ToldError): void {
    this.#over ??= reason;
    this.#leaving.abort();
    this.#worker.terminate();
    for (const { reject } of this.#jobs.values()) reject(new AskError(this.#over));
    this.#jobs.clear();
    for (const asking of this.#models.values()) asking.end(this.#over);
    this.#models.clear();
  }
}

interface Controls {
  pause(): void;
  go(): void;
  stop(): void;
  open(answer: JobAnswers["train"]): Promise<Run>;
}

/** A training that is under way: its events one after the other, and the run at its end. */
export class Training implements AsyncIterable<JobEvent> {
  /** The run, opened, once all steps are taken; rejected with an AbortError when it is stopped before. */
  readonly finished: Promise<Run>;
  readonly #events: Channel<JobEvent>;
  readonly #result: Promise<JobAnswers["train"]>;
  readonly #controls: Controls;

  constructor(events: Channel<JobEvent>, result: Promise<JobAnswers["train"]>, controls: Controls) {
    this.#events = events;
    this.#result = result;
    this.#controls = controls;
    this.finished = result.then((answer) => controls.open(answer));
    this.finished.catch(() => {}); // whoever cares waits for it, and hears it then
  }

  /** Rests after the step under way, which is told by an event, until `go`. */
  pause(): void {
    this.#controls.pause();
  }

  go(): void {
    this.#controls.go();
  }

  /** Saves after the step under way, and ends; `resume` goes on. */
  async stop(): Promise<void> {
    this.#controls.stop();
    await this.#result.catch((error) => {
      if (!(error instanceof DOMException && error.name === "AbortError")) throw error;
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<JobEvent> {
    return this.#events[Symbol.asyncIterator]();
  }
}

const closed: ToldError = { fault: "asked", code: "closed", message: "this model was closed; open it again" };

const failed = (code: string, message: string): ToldError => ({ fault: "failed", code, message });

function crashed({ message, told }: ErrorEvent & { readonly told?: ToldError }): ToldError {
  if (told) return told;
  const why = message ? ` (${message})` : "; is its file where the page looks for it?";
  const memory = /memory|allocation/i.test(message ?? "") ? "; it may have run out of memory, which a smaller model or batch avoids" : "";
  return failed("worker.crashed", `the worker that computes ended${why}${memory}; what was saved is there`);
}

/** Addresses are relative to the page, not to the worker. */
function addressOf(given: string | URL): string {
  if (URL.canParse(given, location.href)) return new URL(given, location.href).href;
  throw unwanted("address", `"${given}" is no address`);
}

/** A run of this page is what `runs()` tells of it, or a run that is open. */
function runOf(kept: Kept): string {
  const given: { readonly run?: unknown } = Object(kept);
  if (typeof given.run === "string" && given.run !== "") return given.run;
  throw unwanted("run", `a run of this page is wanted: one of runs(), one that was opened, or { run: "/runs/…" }, not ${shown(kept)}`);
}

const isText = (one: unknown): one is { readonly text: string; readonly name?: string } =>
  isPlain(one) && typeof one.text === "string" && (one.name === undefined || typeof one.name === "string");

const isPlain = (one: unknown): one is Readonly<Record<string, unknown>> =>
  typeof one === "object" && one !== null && !(one instanceof Blob) && !Array.isArray(one);

/** In a list, a text needs a name, and has nothing else: rows have texts too. */
const isFile = (one: unknown): one is PageFile =>
  typeof one === "string" || one instanceof URL || one instanceof File || (isText(one) && "name" in one && Object.keys(one).length === 2);

const isList = (one: unknown): one is readonly unknown[] => Array.isArray(one);

const isFileList = (one: unknown): one is FileList => "FileList" in globalThis && one instanceof FileList;

/** Data and settings of a training, as they travel. */
function sentTraining(
  data: PageData,
  { valid, from, ...settings }: Omit<PageTrainSettings, keyof Watched>,
): Omit<Extract<Job, { kind: "train" }>, "kind"> {
  const held = valid === undefined ? undefined : givenFiles(valid)[0];
  const start = from === undefined ? {} : { from: typeof from === "string" ? from : runOf(from) };
  return { data: givenFiles(data), ...(held && { valid: held }), settings: { ...settings, ...start } };
}

function givenFiles(data: PageData): GivenFile[] {
  const all = isFileList(data) ? [...data] : data;
  if (!isList(all)) return [givenFile(all)];
  if (all.every(isFile)) return all.map(givenFile);
  if (all.every(isPlain)) return [{ rows: all as readonly GivenRow[] }]; // each is checked as the line of a file is
  throw unwanted("data", "a list of data is of files (addresses, Files, texts with a name) or of rows, all of one kind");
}

function givenFile(one: unknown): GivenFile {
  if (typeof one === "string" && one.includes("\n")) throw unwanted("data", "a string is the address of data; a text is { text }");
  if (typeof one === "string" || one instanceof URL) return { url: addressOf(one) };
  if (one instanceof File) return { file: one };
  if (isText(one)) return one;
  if (one instanceof Blob) throw unwanted("data", 'a Blob has no name that tells its kind; give new File([blob], "data.csv")');
  throw unwanted("data", `data is an address, a File, { text, name } or a list of rows, not ${shown(one)}`);
}

function placeOf(place: PagePlace, integrity?: Readonly<Record<string, string>>): ModelPlace {
  if (typeof place === "string" || place instanceof URL) return { url: addressOf(place), ...(integrity && { integrity }) };
  const files: unknown = isFileList(place) ? [...place] : place instanceof File ? [place] : place;
  if (!isList(files)) {
    if (typeof files === "object" && files !== null && "run" in files) return { run: runOf(place as Kept) };
    throw unwanted("place", `a model is opened from an address, Files, or a run of this page, { run: "/runs/…" }, not ${shown(files)}`);
  }
  if (!files.every((file) => file instanceof File))
    throw unwanted("place", "the files of a model are a list of Files: those of its folder, or one .gguf");
  return { files: files.map((file) => ({ file, path: file.webkitRelativePath || file.name })) };
}
