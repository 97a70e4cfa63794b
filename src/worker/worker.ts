import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { ConfigError, RunError } from "../base/errors.ts";
import { pause } from "../base/turns.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { isHubFolder } from "../disk/hub-kind.ts";
import { Desk } from "../protocol/desk.ts";
import type { ToldError } from "../protocol/messages.ts";
import { plainError } from "../protocol/words.ts";
import { lockRun, type OpenRun, openRun, paths } from "../runs/folder.ts";
import { readLog } from "../runs/log.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { type Home, realPlace, toldAnswer, toldEvent, toldPlace, workAt } from "./home.ts";
import type { IntakeOptions } from "./intake.ts";
import type { FromWorker, Job, JobAnswers, JobEvent, JobKind, ToWorker, TrainingFacts } from "./messages.ts";
import { ofFiles } from "./of-files.ts";
import { openedModel } from "./opening.ts";
import { placed, sourceFile } from "./places.ts";

// The inside of a page's worker: jobs that are begun, paused and stopped, and desks of the models that are open.

/** Milliseconds of events that are told together: a page that hears of every step of a tiny model would do nothing else. */
const together = 30;

/** One thing that is under way. */
class Task {
  readonly #stop = new AbortController();
  readonly #tell: (events: readonly JobEvent[]) => void;
  #events: JobEvent[] = [];
  #told = 0;
  #paused: { readonly over: Promise<void>; go(): void } | undefined;
  #pauseTold = false;
  #begun = false;
  #facts: Omit<TrainingFacts, "state"> | undefined;

  constructor(tell: (events: readonly JobEvent[]) => void) {
    this.#tell = tell;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(): void {
    this.#stop.abort(new DOMException("it was stopped", "AbortError"));
    this.go(); // whoever rests cannot end
  }

  /** What is told to whoever stopped it. A run that has begun can go on. */
  stopped({ kind }: Job): string {
    if (kind !== "train" && kind !== "resume") return "it was stopped before it was done";
    return this.#begun || kind === "resume"
      ? "training was stopped; it was saved and can go on"
      : "training was stopped before it began; nothing of it was saved, so begin it again";
  }

  /** The training that it is, once it has begun. */
  get facts(): TrainingFacts | undefined {
    return this.#facts && { ...this.#facts, state: this.#paused ? "paused" : "training" };
  }

  pause(): void {
    if (this.#paused) return;
    let go = () => {};
    const over = new Promise<void>((resolve) => {
      go = resolve;
    });
    this.#paused = { over, go };
    this.#pauseTold = false;
  }

  go(): void {
    this.#paused?.go();
    this.#paused = undefined;
  }

  /** Tells what happens, and gives back what is to be waited for. */
  readonly listen = (event: JobEvent): Promise<void> | undefined => {
    this.#events.push(event);
    if (event.kind === "ready") {
      this.#begun = true;
      this.#facts = { run: event.folder, step: event.step, steps: event.config.training.steps };
    }
    if (event.kind === "step" && this.#facts) this.#facts = { ...this.#facts, step: event.step };
    const often = event.kind === "step" || event.kind === "loading";
    if (!often || performance.now() - this.#told > together) this.flush();
    return event.kind === "step" ? this.#rested() : undefined;
  };

  /** What was written to this worker while it computed is heard first: so a pause or a stop counts after the step under way. */
  async #rested(): Promise<void> {
    await pause();
    if (!this.#paused) return;
    if (!this.#pauseTold) this.#events.push({ kind: "paused" });
    this.#pauseTold = true;
    this.flush();
    await this.#paused.over;
  }

  flush(): void {
    if (this.#events.length === 0) return;
    this.#tell(this.#events);
    this.#events = [];
    this.#told = performance.now();
  }
}

/** A model that can be asked. */
interface OpenModel {
  readonly trained: TrainedModel;
  readonly desk: Desk;
}

export class PageWorker {
  readonly #tell: (said: FromWorker) => void;
  readonly #tasks = new Map<number, Task>();
  readonly #models = new Map<number, OpenModel>();
  readonly #home: Home;
  #next = 1;

  constructor(tell: (said: FromWorker) => void, home: Home) {
    this.#tell = tell;
    this.#home = home;
  }

  hear(message: Exclude<ToWorker, { start: unknown }>): void {
    if ("work" in message) void this.#begin(message.job, message.work);
    else if ("stop" in message) this.#tasks.get(message.stop)?.stop();
    else if ("pause" in message) this.#tasks.get(message.pause)?.pause();
    else if ("go" in message) this.#tasks.get(message.go)?.go();
    else {
      const open = this.#models.get(message.model);
      if (open) open.desk.hear(message.ask);
      else if ("id" in message.ask) this.#tell({ model: message.model, said: [{ id: message.ask.id, error: closed }] });
    }
  }

  async #begin(job: number, work: Job): Promise<void> {
    const home = this.#home;
    const task = new Task((events) => this.#tell({ job, events: events.map((event) => toldEvent(event, home)) }));
    this.#tasks.set(job, task);
    try {
      const answer = toldAnswer(work.kind, await this.#done(workAt(work, home), task), home);
      task.flush();
      this.#tell({ job, answer });
    } catch (error) {
      task.flush();
      const stopped = task.signal.aborted && error instanceof DOMException && error.name === "AbortError"; // else something went wrong on the way to its end
      this.#tell({
        job,
        error: stopped ? { ...plainError(error), code: "stopped", message: task.stopped(work) } : plainError(error),
        stopped,
      });
    } finally {
      this.#tasks.delete(job);
    }
  }

  async #done(work: Job, task: Task): Promise<JobAnswers[JobKind]> {
    const intake: IntakeOptions = { home: this.#home, signal: task.signal, listen: (event) => void task.listen(event) };
    switch (work.kind) {
      case "train":
      case "resume": {
        const { trained, resumed } = await import("./training.ts"); // whoever only opens models does without
        return work.kind === "train" ? trained(work, task, intake) : resumed(work, task, intake);
      }
      case "evaluate":
        return (await import("./measuring.ts")).measured(work, intake);
      case "open": {
        const folder = await placed(work.from, intake);
        return this.#opened(await openedModel(folder, work, this.#home), folder);
      }
      case "close": {
        const open = this.#models.get(work.model);
        this.#models.delete(work.model);
        await open?.desk.end();
        await open?.trained.release();
        return null;
      }
      case "runs":
        return (await import("./facts.ts")).factsOf(folders(this.#home), this.#paused(), outsiders(this.#home));
      case "log":
        return readLog(paths(work.run).log);
      case "remove":
        remove(work.run, this.#tasks.size === 1, this.#home);
        return null;
      case "files":
        return filesOf(work.run, this.#home);
      case "checkpoints":
        return new Checkpoints(paths(work.run).checkpoints).list();
      case "config":
        return (await import("./facts.ts")).configOf(work.run);
      case "examples":
        return (await import("./measuring.ts")).examplesOf(work, intake);
      case "passage":
        return (await import("./measuring.ts")).passageOf(work, intake);
      case "plan":
        return (await import("./planning.ts")).planned(work, intake);
      case "cost":
        return (await import("./planning.ts")).costed(work, intake);
      case "follow":
        throw new RunError(`nobody trains in ${work.run} for others; go on with it by resume`, { code: "run.missing" });
      case "trainings":
        return [...this.#tasks.values()].flatMap(({ facts }) => facts ?? []);
    }
  }

  /** Runs whose training rests here. */
  #paused(): ReadonlySet<string> {
    return new Set([...this.#tasks.values()].flatMap(({ facts }) => (facts?.state === "paused" ? [resolve(facts.run)] : [])));
  }

  async #opened(trained: TrainedModel, run: string): Promise<JobAnswers["open"]> {
    const model = this.#next++;
    const desk = new Desk(trained, {
      tell: (said) => this.#tell({ model, said }),
      memory: () => 0,
      telling: plainError,
    });
    try {
      await desk.warmUp();
    } catch (error) {
      await trained.release();
      throw error;
    }
    this.#models.set(model, { trained, desk });
    return { model, run, facts: desk.facts };
  }
}

const closed: ToldError = { fault: "asked", code: "closed", message: "this model was closed; open it again" };

/** Removes a model that came from elsewhere, or a run; with it data that no other run was trained on, unless some may just be arriving for another. */
function remove(place: string, alone: boolean, home: Home): void {
  const [room, name] = toldPlace(place, home).split("/").slice(1);
  if (room === "models" && existsSync(place)) rmSync(join(home.models, name), { recursive: true, force: true });
  else removeRun(place, alone, home);
}

/** What is removed is a run that nobody trains in, and nothing around it. */
function removeRun(run: string, alone: boolean, home: Home): void {
  if (!existsSync(paths(run).config) || isHubFolder(run))
    throw new ConfigError(`${run} is not a run of this ${home.called}, which alone it removes`, { path: "run" });
  const unlock = lockRun(realpathSync(run)); // refused while it is being trained; of a link to a neighbour, the link alone goes
  rmSync(run, { recursive: true, force: true });
  unlock();
  if (!alone || !existsSync(home.data)) return;
  const left = folders(home);
  if (left.length < runFolders(home).length) return; // what cannot be read has data of its own
  const files = left.flatMap(({ config: { data } }) =>
    data.source.kind === "files" ? [...data.source.files, data.source.valid ?? ""] : [],
  );
  const wanted = new Set(files.map((file) => basename(dirname(file)))); // by its content: a folder may be reached by several ways, and was moved
  for (const name of readdirSync(home.data)) if (!wanted.has(name)) rmSync(join(home.data, name), { recursive: true, force: true });
}

/** What lies in the folder of runs under a name that can be asked for. */
function entries({ runs, ...home }: Home): string[] {
  if (!existsSync(runs)) return [];
  return readdirSync(runs).flatMap((name) => {
    try {
      return [realPlace(`/runs/${name}`, { runs, ...home })];
    } catch {
      return [];
    }
  });
}

/** Folders that say that they are runs. One without a config has not begun. */
const runFolders = (home: Home): string[] => entries(home).filter((folder) => existsSync(paths(folder).config) && !isHubFolder(folder));

/** A run as it was read last, as long as its files are the same. */
const knownRun = ofFiles(
  (config) => openRun(dirname(config)),
  (config) => [paths(dirname(config)).tokenizer],
);

/** The runs that can be read; whoever opens another is told what is wrong with it. */
function folders(home: Home): OpenRun[] {
  return runFolders(home).flatMap((folder) => {
    try {
      return knownRun(paths(folder).config) ?? [];
    } catch {
      return [];
    }
  });
}

/** Models that somebody put beside the runs: folders of Hugging Face, and .gguf files. */
const outsiders = (home: Home): string[] =>
  entries(home).filter((place) => isHubFolder(place) || (/\.gguf$/i.test(place) && statSync(place).isFile()));

/** Of all files that are given to a page at once: they are in memory several times on their way. */
const mostMegabytes = 500;

/** What a model is elsewhere: everything but what a run needs to go on, and where it came from. */
function filesOf(place: string, { called }: Home): File[] {
  if (!existsSync(place)) throw new RunError(`${place} was removed`, { code: "run.missing" });
  const files = statSync(place).isFile() ? [place] : filesIn(place);
  const megabytes = Math.round(files.reduce((sum, path) => sum + statSync(path).size, 0) / 1e6);
  if (called === "studio" && megabytes > mostMegabytes)
    throw new RunError(`${place} has ${megabytes} MB, which is too much for a page to be given; copy it from there`, {
      code: "data.too-much",
    });
  return files.map((path) => new File([bytesOf(path)], path === place ? basename(place) : relative(place, path)));
}

function filesIn(folder: string): string[] {
  const { checkpoints, lock } = paths(folder);
  const left = [checkpoints, lock, join(folder, sourceFile)];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
    .filter(({ entry, path }) => entry.isFile() && !left.some((one) => path === one || path.startsWith(`${one}/`)))
    .map(({ path }) => path);
}

const bytesOf = (path: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(path));
