/** Strings as a tree of their UTF-16 units, each with a number. The children of all nodes lie in one hash table of typed arrays. */
export class UnitTrie {
  #parents: Int32Array;
  #units: Uint16Array;
  #children: Int32Array;
  #values: Int32Array;
  #nodes = 1;

  /** `strings` is how many are expected; it grows by itself. */
  constructor(strings = 0) {
    const slots = 2 ** Math.max(8, Math.ceil(Math.log2(8 * strings + 1)));
    this.#parents = new Int32Array(slots).fill(-1);
    this.#units = new Uint16Array(slots);
    this.#children = new Int32Array(slots);
    this.#values = new Int32Array(slots >> 1).fill(-1);
  }

  /** Gives a string its number. */
  set(text: string, value: number): void {
    let node = 0;
    for (let i = 0; i < text.length; i++) node = this.#grown(node, text.charCodeAt(i));
    this.#values[node] = value;
  }

  /** The node after one more unit, or -1. The root is 0. */
  step(node: number, unit: number): number {
    const mask = this.#parents.length - 1;
    for (let slot = hash(node, unit) & mask; ; slot = (slot + 1) & mask) {
      const parent = this.#parents[slot];
      if (parent < 0) return -1;
      if (parent === node && this.#units[slot] === unit) return this.#children[slot];
    }
  }

  /** The number of the string that ends at a node, or -1. */
  value(node: number): number {
    return this.#values[node];
  }

  #grown(node: number, unit: number): number {
    const known = this.step(node, unit);
    if (known >= 0) return known;
    if (2 * this.#nodes >= this.#parents.length) this.#double();
    this.#put(node, unit, this.#nodes);
    return this.#nodes++;
  }

  #put(node: number, unit: number, child: number): void {
    const mask = this.#parents.length - 1;
    let slot = hash(node, unit) & mask;
    while (this.#parents[slot] >= 0) slot = (slot + 1) & mask;
    this.#parents[slot] = node;
    this.#units[slot] = unit;
    this.#children[slot] = child;
  }

  #double(): void {
    const [parents, units, children, values] = [this.#parents, this.#units, this.#children, this.#values];
    this.#parents = new Int32Array(2 * parents.length).fill(-1);
    this.#units = new Uint16Array(2 * parents.length);
    this.#children = new Int32Array(2 * parents.length);
    this.#values = new Int32Array(parents.length).fill(-1);
    this.#values.set(values);
    for (let i = 0; i < parents.length; i++) if (parents[i] >= 0) this.#put(parents[i], units[i], children[i]);
  }
}

const hash = (node: number, unit: number): number => {
  const mixed = Math.imul(node, 0x9e3779b1) ^ Math.imul(unit, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
};
