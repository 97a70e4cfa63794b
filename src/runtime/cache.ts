/** The most recently used values, a bounded number of them; the one not used for longest is released when a new one needs its place. */
export class Cache<Value> {
  readonly #capacity: number;
  readonly #release: (value: Value) => Promise<void>;
  readonly #values = new Map<string, Promise<Value>>();

  constructor(capacity: number, release: (value: Value) => Promise<void>) {
    this.#capacity = capacity;
    this.#release = release;
  }

  get size(): number {
    return this.#values.size;
  }

  async get(key: string, create: () => Promise<Value>): Promise<Value> {
    const value = this.#values.get(key) ?? create();
    this.#values.delete(key); // a Map keeps the order of insertion: put it last
    this.#values.set(key, value);
    try {
      await value;
    } catch (error) {
      if (this.#values.get(key) === value) this.#values.delete(key);
      throw error;
    }
    while (this.#values.size > this.#capacity) {
      const [oldest, old] = this.#values.entries().next().value as [string, Promise<Value>];
      this.#values.delete(oldest);
      await this.#release(await old);
    }
    return value;
  }

  async clear(): Promise<void> {
    const values = [...this.#values.values()];
    this.#values.clear();
    for (const value of values) await this.#release(await value);
  }
}
