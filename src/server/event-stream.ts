// Server-sent events, for a client that reads them or does not.

/** Bytes that wait for a client before it counts as one that does not read. */
const mostWaiting = 64 * 2 ** 10;

export interface EventStreamOptions {
  /** Milliseconds in which a client must take something, once much waits for it. */
  readonly patience: number;
  /** Told when nobody reads any more: the client has gone, or was dropped. */
  left(reason: string): void;
  /** Ends the connection, where whoever holds it can. */
  readonly drop?: (() => void) | undefined;
}

/** A stream of events. Ended or failed, it takes nothing more. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: EventStreamOptions;
  readonly #encoder = new TextEncoder();
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #stalled: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#taken(),
        cancel: () => {
          if (this.#close()) options.left("the client has gone");
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: mostWaiting }),
    );
  }

  /** An event with a value. */
  send(value: unknown): void {
    this.#write(`data: ${JSON.stringify(value)}\n\n`);
  }

  /** The end of an answer that is whole. */
  end(): void {
    this.#write("data: [DONE]\n\n");
    if (this.#close()) this.#controller.close();
  }

  /** The end of one that is not: an event says so. Nobody may take it for a whole answer. */
  fail(value: unknown): void {
    this.send(value);
    if (this.#close()) this.#controller.close();
  }

  response(): Response {
    const headers = { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no" };
    return new Response(this.body, { headers });
  }

  #write(text: string): void {
    if (this.#over) return;
    this.#controller.enqueue(this.#encoder.encode(text));
    if ((this.#controller.desiredSize ?? 0) > 0 || this.#stalled !== undefined) return;
    this.#stalled = setTimeout(() => {
      if (!this.#close()) return;
      this.#options.left("the client stopped reading");
      if (this.#options.drop) this.#options.drop();
      else this.#controller.error(new Error("the client stopped reading"));
    }, this.#options.patience);
  }

  #taken(): void {
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
  }

  /** Whether it was open until now. */
  #close(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#taken();
    return true;
  }
}
