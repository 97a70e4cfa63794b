export const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** What asks for a save and a stop. Launchers of many ranks pass the last one on and leave it at that; after the others they soon kill. */
const heard = [...signals, "SIGUSR2"] as const;

/**
 * Ctrl-C: the first asks for a save and a stop, the second ends at once. Before there is anything to save, the first one ends too.
 * A request to terminate (SIGTERM) and a terminal that is gone (SIGHUP) count the same.
 */
export class Interrupt {
  canSave = false;
  readonly #asked = new AbortController();
  readonly #say: (sentence: string) => void;
  readonly #handle = (): void => this.#received();

  constructor(say: (sentence: string) => void) {
    this.#say = say;
    for (const signal of heard) process.on(signal, this.#handle);
  }

  /** Aborted by the first. */
  get signal(): AbortSignal {
    return this.#asked.signal;
  }

  #received(): void {
    if (this.signal.aborted || !this.canSave) process.exit(130);
    this.#asked.abort();
    this.#say("stopping after this step, with a checkpoint; once more to stop at once");
  }

  release(): void {
    for (const signal of heard) process.off(signal, this.#handle);
  }
}
