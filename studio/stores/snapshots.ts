import type { AttentionLook } from "../../src/inspection/look.ts";
import { computer } from "../compute/place.ts";
import { sampleOf } from "./sample-text.ts";

// What a model writes and where it looks, as it learns: each saved step is opened as it was then. One at a time, and of steps that were saved
// meanwhile only the newest: looking must not hold up learning.

export interface Snapshot {
  readonly step: number;
  /** What it wrote: a text, a translation; or the label it gave. */
  readonly text?: string;
  readonly prompt: string;
  /** Patterns of all heads while it read the prompt, [layer][head][query][key]. */
  readonly look?: AttentionLook;
}

/** Patterns of all heads are many numbers, and a long training is saved often: then every second one goes, but the first and the last. */
const mostKept = 96;

export const thinned = (all: readonly Snapshot[]): readonly Snapshot[] =>
  all.length <= mostKept ? all : all.filter((_, i) => i % 2 === 0 || i === all.length - 1);

/** Milliseconds between two: twice as long as the last one took, and a little more. */
const rest = 1000;

export interface SnapshotsHome {
  tell(found: Snapshot): void;
  /** Does what takes a while, with as little in its way as possible. */
  aside<Found>(work: () => Promise<Found>): Promise<Found>;
}

export class Snapshots {
  readonly #run: string;
  readonly #home: SnapshotsHome;
  #wanted: number | undefined;
  #recalled: readonly number[] = [];
  #busy = false;

  constructor(run: string, home: SnapshotsHome) {
    this.#run = run;
    this.#home = home;
  }

  take(step: number): void {
    this.#wanted = step;
    if (!this.#busy) void this.#work();
  }

  /** Steps that were saved before, one after the other; what is saved now comes first. */
  recall(steps: readonly number[]): void {
    this.#recalled = steps;
    if (!this.#busy) void this.#work();
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (let step = this.#next(); step !== undefined; step = this.#next()) {
      const begin = performance.now();
      try {
        this.#home.tell({ step, ...(await this.#home.aside(() => this.#taken(step))) });
      } catch {
        // the step is no longer kept, or there is no one to ask now: the next one will do
      }
      await new Promise((resolve) => setTimeout(resolve, rest + 2 * (performance.now() - begin)));
    }
    this.#busy = false;
  }

  #next(): number | undefined {
    const fresh = this.#wanted;
    this.#wanted = undefined;
    if (fresh !== undefined) return fresh;
    const [step, ...others] = this.#recalled;
    this.#recalled = others;
    return step;
  }

  async #taken(step: number): Promise<Omit<Snapshot, "step">> {
    const warn = () => {};
    const model = await computer().open({ run: this.#run }, { step });
    try {
      return await sampleOf(model, this.#run, { warn });
    } finally {
      await model.close();
    }
  }
}
