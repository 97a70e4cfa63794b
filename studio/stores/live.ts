import { batch, type Signal, signal } from "@preact/signals";
import { AskError } from "../../src/entries/web.ts";
import type { Training } from "../../src/worker/computer.ts";
import type { RunFacts } from "../../src/worker/found.ts";
import type { JobEvent } from "../../src/worker/messages.ts";
import { computer, kind } from "../compute/place.ts";
import { nameOf, refreshRuns, runNamed } from "./runs.ts";
import { Series } from "./series.ts";
import { type Snapshot, Snapshots, thinned } from "./snapshots.ts";
import { unwish } from "./wishes.ts";

// Trainings that go on, as they are seen: everything that was told of each, and its buttons.

export type LiveState = "starting" | "training" | "paused" | "stopping" | "stopped" | "done" | "failed" | "interrupted";

/** Norms of one layer at one step. */
export interface PartNorms {
  readonly name: string;
  readonly gradient: number;
  readonly update: number;
  readonly weight: number;
}

/** Parameters of a model that is opened beside its own training, which takes its memory once more. */
const mostShown = 5e7;

/** Milliseconds between two drawings of what is new: what learns needs the processor more. */
const between = 120;

export class Live {
  readonly run: string;
  readonly state: Signal<LiveState> = signal("starting");
  /** Counted up when something new is to be drawn. */
  readonly version = signal(0);
  readonly message: Signal<string | undefined> = signal(undefined);
  readonly warnings: Signal<readonly string[]> = signal([]);
  readonly snapshots: Signal<readonly Snapshot[]> = signal([]);
  /** What of it was saved last: the newest that can be looked at. */
  readonly saved: Signal<number | undefined> = signal(undefined);
  task = "lm";
  step = 0;
  steps = 0;
  parameters = 0;
  /** As many as the model has: room is kept for what is shown of them. */
  layers = 1;
  readonly loss = new Series();
  readonly validation = new Series();
  readonly rate = new Series();
  readonly norm = new Series();
  readonly speed = new Series();
  readonly parts: { readonly step: number; readonly parts: readonly PartNorms[] }[] = [];
  /** Seconds of the steps and of validation. */
  readonly spent = { steps: 0, validation: 0 };
  /** Of the newest steps, for the time that is left. */
  #recent: number[] = [];
  /** Since when it has computed without a rest, and for how long before that; of what this page saw. */
  #since: number | undefined;
  #worked = 0;
  #seen = { steps: 0, validation: 0 };
  #drawn = false;
  /** Whether it waits only until something of it was shown. */
  #isAside = false;
  #training: Training | undefined;
  readonly #snapshots: Snapshots;

  constructor(run: string) {
    this.run = run;
    this.#snapshots = new Snapshots(run, {
      tell: (found) => {
        this.snapshots.value = thinned(
          [...this.snapshots.value.filter(({ step }) => step !== found.step), found].sort((a, b) => a.step - b.step),
        );
      },
      aside: (work) => this.#aside(work),
    });
  }

  get name(): string {
    return nameOf(this.run);
  }

  get isOver(): boolean {
    return ["stopped", "done", "failed", "interrupted"].includes(this.state.value);
  }

  /** Seconds that are left, by the newest steps and by what else they wait for. */
  get left(): number | undefined {
    if (this.#recent.length === 0) return undefined;
    const mean = this.#recent.reduce((sum, one) => sum + one, 0) / this.#recent.length;
    const around = this.#seen.steps > 1 ? Math.max(1, this.worked / this.#seen.steps) : 1;
    return mean * around * (this.steps - this.step);
  }

  /** Seconds that this page saw it compute, whatever it did. */
  get worked(): number {
    return this.#worked + (this.#since === undefined ? 0 : (performance.now() - this.#since) / 1000);
  }

  /** Seconds that were neither steps nor validation: saving, and showing what it has learned. */
  get other(): number {
    return Math.max(0, this.worked - this.#seen.steps - this.#seen.validation);
  }

  pause(): void {
    this.#training?.pause();
    if (this.#isAside) this.#rests(); // it was told already
  }

  #rests(): void {
    this.state.value = "paused";
    this.#works(false);
  }

  /** A page computes one thing at a time: what is shown comes sooner, and learning loses less, if it waits for that long. */
  async #aside<Found>(work: () => Promise<Found>): Promise<Found> {
    if (kind !== "page" || this.state.value !== "training") return work();
    this.#isAside = true;
    this.#training?.pause();
    try {
      return await work();
    } finally {
      this.#isAside = false;
      if (this.state.peek() !== "paused") this.#training?.go(); // somebody may have paused it meanwhile
    }
  }

  go(): void {
    if (!this.#isAside) this.#training?.go();
    if (this.state.value === "paused") this.state.value = "training";
    this.#works(true);
  }

  async stop(): Promise<void> {
    this.state.value = "stopping";
    unwish(this.name);
    await this.#training?.stop();
  }

  /** What it writes at some saved steps, the newest first: of a run that nobody watched while it learned. */
  recall(steps: readonly number[]): void {
    this.#snapshots.recall(steps);
  }

  /** The same steps once more, from another beginning. */
  again(): void {
    const steps = this.snapshots.value.map(({ step }) => step);
    this.snapshots.value = [];
    this.#snapshots.recall(steps.toReversed());
  }

  /** What the log already has of it, where it was begun before this page. */
  async remember(): Promise<void> {
    const lines = await computer().log({ run: this.run });
    this.spent.steps = 0;
    this.spent.validation = 0;
    this.parts.length = 0;
    for (const line of lines) this.#line(line);
    this.#redraw();
  }

  #line({ step, loss, validLoss, lr, norm, tokensPerSecond, seconds, parts }: Readonly<Record<string, unknown>>): void {
    if (typeof step !== "number") return;
    if (typeof loss === "number") this.loss.add(step, loss);
    if (typeof validLoss === "number") this.validation.add(step, validLoss);
    if (typeof lr === "number") this.rate.add(step, lr);
    if (typeof norm === "number") this.norm.add(step, norm);
    if (typeof tokensPerSecond === "number") this.speed.add(step, tokensPerSecond);
    if (typeof seconds === "number") this.spent[typeof validLoss === "number" ? "validation" : "steps"] += seconds;
    if (Array.isArray(parts)) this.#norms(step, parts as readonly PartNorms[]);
    this.step = Math.max(this.step, step);
  }

  /** A step that is taken again takes the place of what was said of it before. */
  #norms(step: number, parts: readonly PartNorms[]): void {
    while ((this.parts.at(-1)?.step ?? -1) >= step) this.parts.pop();
    this.parts.push({ step, parts });
  }

  /** Follows a training to its end. */
  async follow(training: Training): Promise<void> {
    this.#training = training;
    try {
      for await (const event of training) this.#hear(event);
      const done = await training.finished;
      await done.close();
      this.state.value = "done";
      unwish(this.name);
    } catch (error) {
      const stopped = error instanceof DOMException && error.name === "AbortError";
      const lost = error instanceof AskError && /^(worker|connection)\./.test(error.told.code); // it goes on when there is somebody again
      if (!lost) unwish(this.name);
      batch(() => {
        this.state.value = stopped ? "stopped" : lost ? "interrupted" : "failed";
        this.message.value = error instanceof Error ? error.message : String(error);
      });
      if (!stopped && !(error instanceof AskError)) console.error(error);
    } finally {
      this.#works(false);
      this.#training = undefined;
      this.#redraw();
      void refreshRuns();
    }
  }

  /** What is known of a training that somebody else began, until it says more itself. */
  attach(state: "training" | "paused", steps: number): void {
    if (this.state.value === "starting") this.state.value = state;
    this.steps ||= steps;
    this.parameters ||= runNamed(this.name)?.parameters ?? 0;
    this.task = runNamed(this.name)?.task ?? this.task;
    this.#redraw();
  }

  #works(does: boolean): void {
    if (does) this.#since ??= performance.now();
    else {
      this.#worked = this.worked;
      this.#since = undefined;
    }
  }

  #hear(event: JobEvent): void {
    switch (event.kind) {
      case "ready":
        this.state.value = "training";
        this.task = event.config.task;
        this.steps = event.config.training.steps;
        this.step = event.step;
        this.parameters = event.parameters;
        if ("layers" in event.config.model) this.layers = event.config.model.layers;
        this.#works(true);
        void refreshRuns();
        break;
      case "step": {
        if (this.state.value === "paused" || this.state.value === "starting") this.state.value = "training";
        this.#works(true);
        this.step = event.step;
        this.loss.add(event.step, event.loss);
        this.rate.add(event.step, event.lr);
        this.norm.add(event.step, event.norm);
        this.speed.add(event.step, event.tokens / Math.max(event.seconds, 1e-9));
        if (event.parts) this.#norms(event.step, event.parts);
        this.spent.steps += event.seconds;
        this.#seen.steps += event.seconds;
        this.#recent = [...this.#recent.slice(-40), event.seconds];
        break;
      }
      case "validation":
        this.validation.add(event.step, event.loss);
        this.spent.validation += event.seconds;
        this.#seen.validation += event.seconds;
        break;
      case "scored":
        this.spent.validation += event.seconds;
        this.#seen.validation += event.seconds;
        break;
      case "saved":
        if (this.saved.value === undefined) void refreshRuns(); // now it can be opened
        this.saved.value = event.step;
        if (this.parameters <= mostShown) this.#snapshots.take(event.step);
        break;
      case "paused":
        if (!this.#isAside) this.#rests();
        break;
      case "warning":
        if (!this.warnings.value.includes(event.sentence)) this.warnings.value = [...this.warnings.value, event.sentence];
        break;
    }
    this.#redraw();
  }

  #redraw(): void {
    if (this.#drawn) return;
    this.#drawn = true;
    setTimeout(() => {
      this.#drawn = false;
      this.version.value++;
    }, between);
  }
}

/** By the run's name; of those that ended, the newest. */
export const lives = signal<ReadonlyMap<string, Live>>(new Map());

/** Runs that are over, with all their points: the next ones that are looked at take the place of the oldest. */
const mostOver = 24;

const keep = (live: Live): void => {
  const all = new Map(lives.value);
  all.delete(live.name); // to stand last
  all.set(live.name, live);
  const over = [...all.values()].filter((one) => one !== live && one.isOver);
  for (const { name } of over.slice(0, Math.max(0, over.length - mostOver))) all.delete(name);
  lives.value = all;
};

/** Begins to watch a training under this run's folder. */
export function watch(run: string, training: Training): Live {
  const live = new Live(run);
  keep(live);
  void live.follow(training);
  return live;
}

/** Goes on with a run, or attaches to one that goes on, with what its log says of before and what was seen of it. */
export async function rejoin(run: string, training: Training): Promise<Live> {
  const live = new Live(run);
  live.snapshots.value = lives.value.get(live.name)?.snapshots.value ?? [];
  await live.remember().catch(() => {}); // a run that was just begun has no log yet
  keep(live);
  void live.follow(training);
  return live;
}

/** A run that nobody trains now, as its log tells of it. */
export async function recalled({ run, task, step, steps, parameters }: RunFacts): Promise<Live> {
  const live = new Live(run);
  await live.remember();
  const other = lives.peek().get(live.name);
  if (other && !other.isOver) return other; // somebody went on with it while its log was read
  Object.assign(live, { task, step, steps, parameters });
  live.state.value = step >= steps ? "done" : "stopped";
  keep(live);
  return live;
}

/** Whether there is something of a run to open: of one that began just now there is not, until it was saved for the first time. */
export function canBeOpened(name: string, step?: number): boolean {
  const [facts, live] = [runNamed(name), lives.value.get(name)];
  if (!facts && !live) return true; // whoever opens it is told that it is not there
  return step !== undefined || facts?.opens === true || live?.saved.value !== undefined;
}

/** A run that was removed is no longer seen. */
export function forgetLive(name: string): void {
  const left = new Map(lives.value);
  left.delete(name);
  lives.value = left;
}
