/** A queue of pairs of numbers: the smallest first number comes out first, and among equals the smallest second one. */
export class Heap {
  readonly #first: number[] = [];
  readonly #second: number[] = [];

  get size(): number {
    return this.#first.length;
  }

  push(first: number, second: number): void {
    let at = this.#first.length;
    this.#first.push(first);
    this.#second.push(second);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(at, parent)) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): readonly [first: number, second: number] | undefined {
    const last = this.#first.length - 1;
    if (last < 0) return undefined;
    this.#swap(0, last);
    const top = [this.#first.pop() ?? 0, this.#second.pop() ?? 0] as const;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      if (left >= last) return top;
      const child = left + 1 < last && this.#before(left + 1, left) ? left + 1 : left;
      if (!this.#before(child, at)) return top;
      this.#swap(at, child);
      at = child;
    }
  }

  #before(a: number, b: number): boolean {
    return this.#first[a] < this.#first[b] || (this.#first[a] === this.#first[b] && this.#second[a] < this.#second[b]);
  }

  #swap(a: number, b: number): void {
    const first = this.#first[a];
    const second = this.#second[a];
    this.#first[a] = this.#first[b];
    this.#second[a] = this.#second[b];
    this.#first[b] = first;
    this.#second[b] = second;
  }
}
