interface Entry<Value> {
  readonly value: Promise<Value>;
  users: number;
  /** No longer in the cache: released by its last user. */
  retired: boolean;
}

/** A value that is in use, and what lets go of it. */
export interface Held<Value> {
  readonly value: Value;
  release(): Promise<void>;
}

/**
 * The most recently used values, a bounded number of them. The one not used for longest is released when a new one needs its
 * place, but never while somebody uses it: for that long there may be more.
 */
export class Cache<Value> {
  readonly #capacity: number;
  readonly #release: (value: Value) => Promise<void>;
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(capacity: number, release: (value: Value) => Promise<void>) {
    this.#capacity = capacity;
    this.#release = release;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Finds or creates the value, which stays alive until it is let go of. */
  async hold(key: string, create: () => Promise<Value>): Promise<Held<Value>> {
    const entry = this.#entries.get(key) ?? { value: create(), users: 0, retired: false };
    this.#entries.delete(key); // a Map keeps the order of insertion: put it last
    this.#entries.set(key, entry);
    entry.users++;
    let held = true;
    const release = async () => {
      if (!held) return;
      held = false;
      entry.users--;
      if (entry.retired && entry.users === 0) await this.#release(await entry.value);
      await this.#makeRoom();
    };
    try {
      return { value: await entry.value, release };
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }

  /** Finds or creates the value, and keeps it alive while `body` uses it. */
  async use<Result>(key: string, create: () => Promise<Value>, body: (value: Value) => Promise<Result>): Promise<Result> {
    const { value, release } = await this.hold(key, create);
    try {
      return await body(value);
    } finally {
      await release();
    }
  }

  async clear(): Promise<void> {
    for (const key of [...this.#entries.keys()]) await this.#retire(key);
  }

  async #makeRoom(): Promise<void> {
    for (const [key, { users }] of [...this.#entries]) {
      if (this.#entries.size <= this.#capacity) return;
      if (users === 0) await this.#retire(key);
    }
  }

  async #retire(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    entry.retired = true;
    if (entry.users === 0) await this.#release(await entry.value);
  }
}
