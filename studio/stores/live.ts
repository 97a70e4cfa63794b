import { batch, type Signal, signal } from "@preact/signals";
import { AskError } from "../../src/entries/web.ts";
import type { Training } from "../../src/worker/computer.ts";
import type { JobEvent } from "../../src/worker/messages.ts";
import { computer } from "../compute/place.ts";
import { nameOf, refreshRuns } from "./runs.ts";
import { Series } from "./series.ts";
import { type Snapshot, Snapshots } from "./snapshots.ts";

// Trainings that go on, as they are seen: everything that was told of each, and its buttons.

export type LiveState = "starting" | "training" | "paused" | "stopping" | "stopped" | "done" | "failed";

/** Norms of one layer at one step. */
export interface PartNorms {
  readonly name: string;
  readonly gradient: number;
  readonly update: number;
  readonly weight: number;
}

export class Live {
  readonly run: string;
  readonly state: Signal<LiveState> = signal("starting");
  /** Counted up, once for each picture of the screen, when something new is to be drawn. */
  readonly version = signal(0);
  readonly message: Signal<string | undefined> = signal(undefined);
  readonly warnings: Signal<readonly string[]> = signal([]);
  readonly snapshots: Signal<readonly Snapshot[]> = signal([]);
  /** What of it was saved last: the newest that can be looked at. */
  readonly saved: Signal<number | undefined> = signal(undefined);
  step = 0;
  steps = 0;
  parameters = 0;
  readonly loss = new Series();
  readonly validation = new Series();
  readonly rate = new Series();
  readonly norm = new Series();
  readonly speed = new Series();
  readonly parts: { readonly step: number; readonly parts: readonly PartNorms[] }[] = [];
  /** Seconds of the steps so far, and of the newest ones for the time that is left. */
  #seconds = 0;
  #recent: number[] = [];
  #drawn = false;
  #training: Training | undefined;
  readonly #snapshots: Snapshots;

  constructor(run: string) {
    this.run = run;
    this.#snapshots = new Snapshots(run, (found) => {
      this.snapshots.value = [...this.snapshots.value, found];
    });
  }

  get name(): string {
    return nameOf(this.run);
  }

  get isOver(): boolean {
    return ["stopped", "done", "failed"].includes(this.state.value);
  }

  /** Seconds that are left, by the newest steps. */
  get left(): number | undefined {
    if (this.#recent.length === 0) return undefined;
    const mean = this.#recent.reduce((sum, one) => sum + one, 0) / this.#recent.length;
    return mean * (this.steps - this.step);
  }

  get seconds(): number {
    return this.#seconds;
  }

  pause(): void {
    this.#training?.pause();
  }

  go(): void {
    this.#training?.go();
    if (this.state.value === "paused") this.state.value = "training";
  }

  async stop(): Promise<void> {
    this.state.value = "stopping";
    await this.#training?.stop();
  }

  /** What the log already has of it, where it was begun before this page. */
  async remember(): Promise<void> {
    for (const line of await computer().log({ run: this.run })) this.#line(line);
    this.#redraw();
  }

  #line({ step, loss, validLoss, lr, norm, tokensPerSecond, parts }: Readonly<Record<string, unknown>>): void {
    if (typeof step !== "number") return;
    if (typeof loss === "number") this.loss.add(step, loss);
    if (typeof validLoss === "number") this.validation.add(step, validLoss);
    if (typeof lr === "number") this.rate.add(step, lr);
    if (typeof norm === "number") this.norm.add(step, norm);
    if (typeof tokensPerSecond === "number") this.speed.add(step, tokensPerSecond);
    if (Array.isArray(parts)) this.parts.push({ step, parts: parts as readonly PartNorms[] });
    this.step = Math.max(this.step, step);
  }

  /** Follows a training to its end. */
  async follow(training: Training): Promise<void> {
    this.#training = training;
    try {
      for await (const event of training) this.#hear(event);
      const done = await training.finished;
      await done.close();
      batch(() => {
        this.state.value = "done";
        this.#redraw();
      });
    } catch (error) {
      const stopped = error instanceof DOMException && error.name === "AbortError";
      batch(() => {
        this.state.value = stopped ? "stopped" : "failed";
        this.message.value = error instanceof Error ? error.message : String(error);
      });
      if (!stopped && !(error instanceof AskError)) console.error(error);
    } finally {
      this.#training = undefined;
      void refreshRuns();
    }
  }

  #hear(event: JobEvent): void {
    switch (event.kind) {
      case "ready":
        this.state.value = "training";
        this.steps = event.config.training.steps;
        this.step = event.step;
        this.parameters = event.parameters;
        this.#snapshots.task = event.config.task;
        void refreshRuns();
        break;
      case "step": {
        if (this.state.value === "paused" || this.state.value === "starting") this.state.value = "training";
        this.step = event.step;
        this.loss.add(event.step, event.loss);
        this.rate.add(event.step, event.lr);
        this.norm.add(event.step, event.norm);
        this.speed.add(event.step, event.tokens / Math.max(event.seconds, 1e-9));
        const { parts } = event as { readonly parts?: readonly PartNorms[] };
        if (parts) this.parts.push({ step: event.step, parts });
        this.#seconds += event.seconds;
        this.#recent = [...this.#recent.slice(-40), event.seconds];
        break;
      }
      case "validation":
        this.validation.add(event.step, event.loss);
        break;
      case "saved":
        this.saved.value = event.step;
        this.#snapshots.take(event.step);
        break;
      case "paused":
        this.state.value = "paused";
        break;
      case "warning":
        this.warnings.value = [...this.warnings.value, event.sentence];
        break;
    }
    this.#redraw();
  }

  #redraw(): void {
    if (this.#drawn) return;
    this.#drawn = true;
    requestAnimationFrame(() => {
      this.#drawn = false;
      this.version.value++;
    });
  }
}

/** By the run's name; those that ended stay until the page is left. */
export const lives = signal<ReadonlyMap<string, Live>>(new Map());

/** Begins to watch a training under this run's folder. */
export function watch(run: string, training: Training): Live {
  const live = new Live(run);
  lives.value = new Map(lives.value).set(nameOf(run), live);
  void live.follow(training);
  return live;
}

/** Goes on with a run, or attaches to one that goes on, with what its log says of before. */
export async function rejoin(run: string, training: Training): Promise<Live> {
  const live = new Live(run);
  await live.remember().catch(() => {}); // a run that was just begun has no log yet
  lives.value = new Map(lives.value).set(nameOf(run), live);
  void live.follow(training);
  return live;
}
