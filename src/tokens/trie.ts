/** Byte strings as a tree, each with a number. The children of all nodes lie in one hash table of typed arrays. */
export class ByteTrie {
  #keys = new Int32Array(1 << 12).fill(-1); // node * 256 + byte
  #children = new Int32Array(1 << 12);
  #values: number[] = [-1];

  /** Gives a byte string its number. */
  set(bytes: Uint8Array, value: number): void {
    let node = 0;
    for (const byte of bytes) node = this.#grown(node, byte);
    this.#values[node] = value;
  }

  /** The node after one more byte, or -1. The root is 0. */
  step(node: number, byte: number): number {
    const slot = this.#slot(node * 256 + byte);
    return this.#keys[slot] < 0 ? -1 : this.#children[slot];
  }

  /** The number of the string that ends at a node, or -1. */
  value(node: number): number {
    return this.#values[node];
  }

  #grown(node: number, byte: number): number {
    const known = this.step(node, byte);
    if (known >= 0) return known;
    const child = this.#values.push(-1) - 1;
    if (2 * child > this.#keys.length) this.#double();
    const slot = this.#slot(node * 256 + byte);
    this.#keys[slot] = node * 256 + byte;
    this.#children[slot] = child;
    return child;
  }

  #slot(key: number): number {
    const mask = this.#keys.length - 1;
    let slot = Math.imul(key, 0x9e3779b1) >>> 7;
    for (slot &= mask; this.#keys[slot] >= 0 && this.#keys[slot] !== key; slot = (slot + 1) & mask);
    return slot;
  }

  #double(): void {
    const [keys, children] = [this.#keys, this.#children];
    this.#keys = new Int32Array(2 * keys.length).fill(-1);
    this.#children = new Int32Array(2 * keys.length);
    for (let i = 0; i < keys.length; i++) {
      if (keys[i] < 0) continue;
      const slot = this.#slot(keys[i]);
      this.#keys[slot] = keys[i];
      this.#children[slot] = children[i];
    }
  }
}
