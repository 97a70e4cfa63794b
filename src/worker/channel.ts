/** What one side says and another listens to, one after the other. */
export class Channel<Item> implements AsyncIterable<Item> {
  #items: Item[] = [];
  #over: { readonly error?: unknown } | undefined;
  #wake = () => {};

  push(item: Item): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Nothing more comes; whoever listens hears what was said before, and then the error, if there is one. */
  end(failure: { readonly error?: unknown } = {}): void {
    this.#over ??= failure;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for (;;) {
      const items = this.#items;
      this.#items = [];
      yield* items;
      if (this.#items.length > 0) continue;
      if (this.#over) {
        if ("error" in this.#over) throw this.#over.error;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
