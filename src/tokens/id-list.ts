/** Ids in the making: an Int32Array that grows. */
export class IdList {
  length = 0;
  #ids: Int32Array;

  constructor(capacity: number) {
    this.#ids = new Int32Array(Math.max(16, capacity));
  }

  push(id: number): void {
    if (this.length === this.#ids.length) this.#grow(this.length + 1);
    this.#ids[this.length++] = id;
  }

  append(ids: Int32Array): void {
    const end = this.length + ids.length;
    if (end > this.#ids.length) this.#grow(end);
    for (let i = 0; i < ids.length; i++) this.#ids[this.length + i] = ids[i];
    this.length = end;
  }

  slice(from = 0): Int32Array {
    return this.#ids.slice(from, this.length);
  }

  #grow(atLeast: number): void {
    const grown = new Int32Array(Math.max(atLeast, Math.ceil(this.#ids.length * 1.5)));
    grown.set(this.#ids.subarray(0, this.length));
    this.#ids = grown;
  }
}
