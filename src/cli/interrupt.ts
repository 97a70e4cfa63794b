/**
 * Ctrl-C: the first asks for a save and a stop, the second ends at once. Before there is anything to save, the first one ends too.
 * A request to terminate (SIGTERM) counts the same.
 */
export class Interrupt {
  asked = false;
  canSave = false;
  readonly #say: (sentence: string) => void;
  readonly #handle = (): void => this.#received();

  constructor(say: (sentence: string) => void) {
    this.#say = say;
    process.on("SIGINT", this.#handle);
    process.on("SIGTERM", this.#handle);
  }

  #received(): void {
    if (this.asked || !this.canSave) process.exit(130);
    this.asked = true;
    this.#say("stopping after this step, with a checkpoint; once more to stop at once");
  }

  release(): void {
    process.off("SIGINT", this.#handle);
    process.off("SIGTERM", this.#handle);
  }
}
