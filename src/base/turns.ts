// Long work shares its thread, so that a server goes on answering while it trains. What is computed never depends on these moments.

/** Milliseconds after which others get their turn. */
const longestTurn = 20;

/** Node has it, pages do not. */
const immediate = (globalThis as { readonly setImmediate?: (work: () => void) => unknown }).setImmediate;

/** Lets whatever waits for this thread go first: timers, sockets, other calls. */
export const pause: () => Promise<void> = immediate ? () => new Promise((resolve) => immediate(resolve)) : throughChannel;

/** A page has no `setImmediate`, and holds back timers. */
function throughChannel(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** Does something again and again as long as there is other work; gives back what ends it. In a page nothing ends by itself. */
export function meanwhile(work: () => void, milliseconds: number): () => void {
  const timer = setInterval(work, milliseconds);
  const held: { unref?(): unknown } = Object(timer); // a page has numbers, which keep nothing alive
  held.unref?.();
  return () => clearInterval(timer);
}

/** Work that takes long and can be left: others of the thread get their turn, and a request to stop is heard. */
export class Turns {
  readonly #signal: AbortSignal | undefined;
  #began = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether others have waited long enough. Asked in a loop, so that `rest` costs nothing where it is not due. */
  get over(): boolean {
    return performance.now() - this.#began > longestTurn;
  }

  /** Others go first. Throws the signal's reason if it was aborted. */
  async rest(): Promise<void> {
    this.#signal?.throwIfAborted();
    await pause();
    this.#signal?.throwIfAborted();
    this.#began = performance.now();
  }

  /** Runs work that yields where it may be left. */
  async through<Result>(work: Generator<void, Result>): Promise<Result> {
    try {
      for (;;) {
        const { done, value } = work.next();
        if (done) return value;
        if (this.over) await this.rest();
      }
    } finally {
      work.return(undefined as never); // what it holds is let go of, also when it is left before its end
    }
  }

  /** What `map` gives for a list, a stretch of it at a time. */
  async mapped<Item, Result>(items: readonly Item[], map: (some: readonly Item[]) => readonly Result[], stretch = 64): Promise<Result[]> {
    const results: Result[] = [];
    for (let at = 0; at < items.length; at += stretch) {
      for (const result of map(items.slice(at, at + stretch))) results.push(result);
      if (this.over) await this.rest();
    }
    return results;
  }
}

/** One after the other: work that is given while other work is under way waits for it. */
export class Queue {
  #last: Promise<unknown> = Promise.resolve();

  /** Work that nobody wants any more when its turn comes is not begun. */
  run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const mine = this.#last.then(() => {
      signal?.throwIfAborted();
      return work();
    });
    this.#last = mine.catch(() => {});
    return mine;
  }
}

/** Something done with every item, as work that can be left between two of them. */
export function* forEachItem<Item>(items: Iterable<Item>, body: (item: Item) => void): Generator<void, void> {
  let done = 0;
  for (const item of items) {
    body(item);
    if (++done % 256 === 0) yield;
  }
}

/** The same work without a break. */
export function atOnce<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
