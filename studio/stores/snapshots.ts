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

/** Milliseconds between two. */
const rest = 2500;

export class Snapshots {
  task = "lm";
  readonly #run: string;
  readonly #tell: (found: Snapshot) => void;
  #wanted: number | undefined;
  #busy = false;

  constructor(run: string, tell: (found: Snapshot) => void) {
    this.#run = run;
    this.#tell = tell;
  }

  take(step: number): void {
    this.#wanted = step;
    if (!this.#busy) void this.#work();
  }

  async #work(): Promise<void> {
    this.#busy = true;
    while (this.#wanted !== undefined) {
      const step = this.#wanted;
      this.#wanted = undefined;
      try {
        this.#tell({ step, ...(await this.#taken(step)) });
      } catch {
        // the step is no longer kept, or there is no one to ask now: the next one will do
      }
      await new Promise((resolve) => setTimeout(resolve, rest));
    }
    this.#busy = false;
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
