import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ConfigError, RunError } from "../base/errors.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { writeDurably } from "../disk/files.ts";
import type { ToldError } from "../protocol/messages.ts";
import { plainError } from "../protocol/words.ts";
import { isBusy, paths } from "../runs/folder.ts";
import { realPlace, workAt } from "../worker/home.ts";
import type { TrainingFacts } from "../worker/messages.ts";
import type { Handle, Waiting } from "./reader.ts";
import { type ChildSettings, homeOf, ownFolder } from "./settings.ts";
import { LiveTraining, type TrainWork } from "./training.ts";

// All trainings of a studio. Those that go on are written down, so that they go on when a studio that was killed starts again; what a person paused or
// stopped is not among them.

/** At once: each is a process with its own threads and memory. */
const most = 8;
/** Endings that somebody may still ask for, whose connection was lost meanwhile. */
const mostEndings = 32;
/** Milliseconds in which a process of the studio before may still end its step, measure and save, and between two looks whether it does. */
const lastMoments = 30 * 60_000;
const again = 300;

const noted = z.object({ format: z.literal(1), runs: z.array(z.string()) });

export class Trainings {
  readonly #settings: ChildSettings;
  readonly #file: string;
  readonly #say: (sentence: string) => void;
  readonly #live = new Set<LiveTraining>();
  readonly #ended: LiveTraining[] = [];
  /** Those that are to go on as soon as nobody else writes there. */
  readonly #waiting = new Set<string>();
  /** Whoever follows one of these, until it is there. */
  readonly #early = new Map<string, Set<Early>>();
  #written = "";
  #closing = false;

  constructor(settings: ChildSettings, say: (sentence: string) => void) {
    this.#settings = settings;
    this.#say = say;
    this.#file = join(ownFolder(settings.folder), "trainings.json");
  }

  /** Goes on with what was under way when the studio before was ended. */
  goOn(): void {
    for (const run of this.#noted()) {
      if (!existsSync(paths(this.#folderOf(run)).config)) continue; // it had not taken its first step
      this.#waiting.add(run);
      this.#resume(run, performance.now() + lastMoments);
    }
    this.#write();
  }

  get facts(): readonly TrainingFacts[] {
    const live = [...this.#live].flatMap(({ facts }) => facts ?? []);
    const names = new Set(live.map(({ run }) => run));
    return [
      ...live,
      ...[...this.#waiting].filter((run) => !names.has(run)).map((run) => ({ run, state: "training" as const, ...this.#known(run) })),
    ];
  }

  /** Whether one is being prepared whose data no run tells of yet. */
  get preparing(): boolean {
    return [...this.#live].some(({ isPlaced }) => !isPlaced);
  }

  begin(work: TrainWork): LiveTraining {
    if (this.#closing) throw new RunError("the studio is stopping; start it again");
    if (this.#live.size >= most)
      throw new RunError(`${most} trainings go on already; wait for one of them, or stop it`, { code: "run.busy" });
    workAt(work, homeOf(this.#settings)); // what is refused needs no process
    return this.#started(work);
  }

  /** Hears of the training that goes on in a run, or of the one that ended there last; of one that is about to go on, as soon as it does. */
  follow(run: string, waiting: Waiting): Following {
    if (!this.#waiting.has(run)) return following(this.#find(run), waiting);
    const early: Early = { waiting };
    const all = this.#early.get(run) ?? new Set();
    this.#early.set(run, all.add(early));
    return {
      stop: () => (early.following ? early.following.stop() : this.#forgo(run)),
      pause: () => early.following?.pause(),
      go: () => early.following?.go(),
      leave() {
        all.delete(early);
        early.following?.leave();
      },
    };
  }

  #find(run: string): LiveTraining {
    const found = [...this.#live].find((one) => one.run === run) ?? this.#ended.findLast((one) => one.run === run);
    if (found) return found;
    throw new ConfigError(`nobody trains in ${run} at this moment; go on with it by resume`, { path: "run", code: "config.unknown-name" });
  }

  /** Lets all of them save and end, to go on when the studio starts again; gives how many there were. */
  async close(): Promise<number> {
    this.#closing = true;
    const live = [...this.#live];
    for (const one of live) one.stop("the studio was stopped; this training was saved, and goes on when it starts again");
    await Promise.all(live.map(({ ended }) => ended));
    return live.length;
  }

  #started(work: TrainWork, known?: { step: number; steps: number }): LiveTraining {
    const training = new LiveTraining(work, this.#settings, { ...(known && { known }), changed: (one) => this.#changed(one) });
    this.#live.add(training);
    void training.ended.then(() => {
      this.#live.delete(training);
      this.#ended.push(training);
      if (this.#ended.length > mostEndings) this.#ended.shift();
      this.#write();
    });
    return training;
  }

  #changed(training: LiveTraining): void {
    const { run } = training;
    if (run !== undefined) {
      this.#waiting.delete(run); // from here on it is known by itself
      queueMicrotask(() => this.#arrived(run, (waiting) => following(training, waiting))); // what it says at this moment is said first
    }
    this.#write();
  }

  /** Whoever has waited for it is told. */
  #arrived(run: string, tell: (waiting: Waiting) => Following | undefined): void {
    const all = this.#early.get(run) ?? [];
    this.#early.delete(run);
    for (const early of all) early.following = tell(early.waiting);
  }

  /** Somebody does not want it to go on. */
  #forgo(run: string): void {
    this.#waiting.delete(run);
    const tried = [...this.#live].find((one) => one.run === run);
    if (tried) tried.stop();
    else this.#arrived(run, ({ error }) => void error(forgone, true));
    this.#write();
  }

  #resume(run: string, until: number): void {
    this.#resumed(run, until).catch((error) => this.#gaveUp(run, plainError(error)));
  }

  async #resumed(run: string, until: number): Promise<void> {
    if (!this.#awaits(run)) return;
    const training = this.#started({ kind: "resume", run, changes: {} }, this.#known(run));
    const ending = await training.ended;
    const busy = "error" in ending && ending.error.code === "run.busy";
    if (busy && this.#awaits(run) && performance.now() < until) {
      this.#ended.splice(this.#ended.indexOf(training), 1);
      do await new Promise((resolve) => setTimeout(resolve, again));
      while (this.#awaits(run) && performance.now() < until && isBusy(this.#folderOf(run)));
      return this.#resumed(run, until);
    }
    this.#arrived(run, (waiting) => following(training, waiting));
    if ("error" in ending && !ending.stopped) return this.#gaveUp(run, ending.error);
    this.#waiting.delete(run);
    this.#write();
  }

  /** Whether it is still for the studio to go on with: not when that ends, nor when somebody has gone on with it himself. */
  #awaits(run: string): boolean {
    return !this.#closing && this.#waiting.has(run);
  }

  #gaveUp(run: string, error: ToldError): void {
    this.#waiting.delete(run);
    this.#write();
    this.#arrived(run, (waiting) => void waiting.error(error, false));
    if (!this.#closing) this.#say(goneWrong(run, error)); // else it stays noted
  }

  /** How far a run is that was not begun again yet. */
  #known(run: string): { readonly step: number; readonly steps: number } {
    let step = 0;
    try {
      const { config, checkpoints } = paths(this.#folderOf(run));
      step = new Checkpoints(checkpoints).list().at(-1) ?? 0;
      return { step, steps: Number(JSON.parse(readFileSync(config, "utf8")).training.steps) };
    } catch {
      return { step, steps: step }; // whoever goes on with it is told what is wrong
    }
  }

  #folderOf(run: string): string {
    return realPlace(run, homeOf(this.#settings));
  }

  #noted(): readonly string[] {
    try {
      const { runs } = noted.parse(JSON.parse(readFileSync(this.#file, "utf8")));
      return runs.filter((run) => {
        try {
          return this.#folderOf(run) !== "";
        } catch {
          return false;
        }
      });
    } catch {
      return []; // there is none, or nothing that could be read
    }
  }

  /** Down to the disk, whenever one begins, rests, goes on or ends. When the studio itself ends, what it ended stays noted. */
  #write(): void {
    if (this.#closing) return;
    const going = [...this.#live].flatMap(({ run, goesOn }) => (run !== undefined && goesOn ? [run] : []));
    const runs = [...new Set([...going, ...this.#waiting])].sort();
    const text = `${JSON.stringify({ format: 1, runs } satisfies z.output<typeof noted>)}\n`;
    if (text === this.#written) return;
    try {
      writeDurably(this.#file, text);
      this.#written = text;
    } catch (error) {
      this.#say(`what goes on could not be written down: ${error instanceof Error ? error.message : error}`);
    }
  }
}

const goneWrong = (run: string, { message }: ToldError): string => `${run} was to go on, and did not: ${message}`;

const forgone: ToldError = { fault: "failed", code: "stopped", message: "training was stopped before it went on; it can go on" };

/** What a follower of a training can do with it, and what ends the following. */
export interface Following extends Handle {
  leave(): void;
}

/** A follower of what is not there yet. */
interface Early {
  readonly waiting: Waiting;
  following?: Following | undefined;
}

export const following = (training: LiveTraining, waiting: Waiting): Following => ({
  stop: () => training.stop(),
  pause: () => training.pause(),
  go: () => training.go(),
  leave: training.follow(waiting),
});
