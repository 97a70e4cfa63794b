import type { Answers, Ask, Begun, FromModel, Piece, ToldError, ToModel } from "./messages.ts";

// Those who ask, and what they wait for: the other end of a desk, whatever lies between the two.

/** What whoever asks hears before the answer. */
export interface Listener {
  begun?(begun: Begun): void;
  piece?(piece: Piece): void;
}

export interface Answered<Kind extends keyof Answers> {
  readonly answer: Answers[Kind];
  readonly warnings: readonly string[];
}

/** What was asked cannot be answered. */
export class AskError extends Error {
  readonly told: ToldError;

  constructor(told: ToldError) {
    super(told.message);
    this.name = "AskError";
    this.told = told;
  }
}

interface Waiting {
  readonly listener: Listener;
  resolve(answered: Answered<never>): void;
  reject(error: unknown): void;
}

/** What is said to those who wait; the rest is between the two ends. */
export type SaidToOne = Extract<FromModel, { readonly id: number }>;

export class Asking {
  readonly #send: (message: ToModel) => void;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  #over: ToldError | undefined;

  constructor(send: (message: ToModel) => void) {
    this.#send = send;
  }

  /** Why nobody can be asked any more. */
  get over(): ToldError | undefined {
    return this.#over;
  }

  /** Asks; what is heard on the way goes to the listener. Aborted, it is asked no more, and the signal's reason is thrown. */
  ask<A extends Ask>(ask: A, listener: Listener = {}, signal?: AbortSignal): Promise<Answered<A["kind"]>> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#over) throw new AskError(this.#over);
      const id = this.#next++;
      const cancel = () => {
        this.#waiting.delete(id);
        this.#send({ cancel: id });
        reject(signal?.reason);
      };
      const done = () => signal?.removeEventListener("abort", cancel);
      signal?.addEventListener("abort", cancel, { once: true });
      this.#waiting.set(id, {
        listener,
        resolve: (answered) => {
          done();
          resolve(answered);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      try {
        this.#send({ id, ask });
      } catch (error) {
        this.#waiting.delete(id);
        done();
        throw error;
      }
    });
  }

  hear(said: SaidToOne): void {
    const one = this.#waiting.get(said.id);
    if (!one) return; // it was cancelled
    if ("begun" in said) one.listener.begun?.(said.begun);
    else if ("piece" in said) one.listener.piece?.(said.piece);
    else {
      this.#waiting.delete(said.id);
      if ("error" in said) one.reject(new AskError(said.error));
      else one.resolve({ answer: said.answer as never, warnings: said.warnings });
    }
  }

  /** Nobody answers any more: those who wait are told why, and so is everybody who asks from now on. */
  end(reason: ToldError): void {
    this.#over ??= reason;
    for (const one of this.#waiting.values()) one.reject(new AskError(this.#over));
    this.#waiting.clear();
  }
}
