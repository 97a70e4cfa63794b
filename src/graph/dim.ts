import { GraphError } from "../base/errors.ts";
import { currentPlace } from "./place.ts";

/** What a person writes for a dimension: `12`, `"batch"`, `"past+time"`, `"2*width"`, or a Dim. */
export type DimLike = number | string | Dim;

/**
 * The size of one axis: a polynomial in named symbols (a plain number is the constant polynomial), and perhaps a name
 * for people. A symbol that was bound to a number keeps its name: it prints as `batch=12`.
 */
export class Dim {
  /** Products of symbols ("" is the constant term, "batch*time" a product) with their factors; never zero. */
  readonly terms: ReadonlyMap<string, number>;
  readonly name: string | undefined;

  private constructor(terms: ReadonlyMap<string, number>, name?: string) {
    this.terms = terms;
    this.name = name;
  }

  static of(like: DimLike): Dim {
    if (like instanceof Dim) return like;
    return typeof like === "number" ? constant(like) : parse(like).bind(boundSizes);
  }

  /** A known size that carries a name. */
  static named(name: string, size: number): Dim {
    return new Dim(constant(size).terms, name);
  }

  static symbol(name: string): Dim {
    return new Dim(new Map([[name, 1]]));
  }

  static fromTerms(terms: ReadonlyMap<string, number>, name?: string): Dim {
    return new Dim(terms, name);
  }

  /** The number, when no symbol is left open. */
  get value(): number | undefined {
    if (this.terms.size === 0) return 0;
    return this.terms.size === 1 ? this.terms.get("") : undefined;
  }

  /** The number, where an algorithm (a weight's shape, a table) cannot do without. */
  get known(): number {
    return this.knownFor("what is built here");
  }

  /** The same, for something that an error can name. */
  knownFor(purpose: string): number {
    const { value } = this;
    if (value !== undefined) return value;
    const { scope } = currentPlace();
    throw new GraphError(`${scope ? `at ${scope}: ` : ""}${purpose} needs a number where "${this}" was left open; bind it when compiling`);
  }

  get symbols(): string[] {
    return [...new Set([...this.terms.keys()].flatMap((product) => (product ? product.split("*") : [])))];
  }

  equals(other: DimLike): boolean {
    const b = Dim.of(other);
    if (this.terms.size !== b.terms.size) return false;
    for (const [product, factor] of this.terms) if (b.terms.get(product) !== factor) return false;
    return true;
  }

  plus(other: DimLike): Dim {
    const b = Dim.of(other);
    if (b.terms.size === 0 && !b.name) return this;
    if (this.terms.size === 0 && !this.name) return b;
    const terms = new Map(this.terms);
    for (const [product, factor] of b.terms) addTerm(terms, product, factor);
    return new Dim(terms, joinNames(this, "+", b));
  }

  minus(other: DimLike): Dim {
    const b = Dim.of(other);
    const terms = new Map(this.terms);
    for (const [product, factor] of b.terms) addTerm(terms, product, -factor);
    return new Dim(terms);
  }

  times(other: DimLike): Dim {
    const b = Dim.of(other);
    if (isOne(b) && !b.name) return this;
    if (isOne(this) && !this.name) return b;
    const terms = new Map<string, number>();
    for (const [p, f] of this.terms) {
      for (const [q, g] of b.terms) addTerm(terms, multiplyProducts(p, q), f * g);
    }
    return new Dim(terms, joinNames(this, "*", b));
  }

  /** Exact division by a whole number, or undefined. */
  dividedBy(divisor: number): Dim | undefined {
    const terms = new Map<string, number>();
    for (const [product, factor] of this.terms) {
      if (factor % divisor !== 0) return undefined;
      terms.set(product, factor / divisor);
    }
    return new Dim(terms);
  }

  /** Replaces symbols by numbers; what is bound keeps its name. */
  bind(sizes: Readonly<Record<string, number>>): Dim {
    if (!this.symbols.some((symbol) => Object.hasOwn(sizes, symbol))) return this;
    const terms = new Map<string, number>();
    for (const [product, factor] of this.terms) {
      let rest = "";
      let total = factor;
      for (const symbol of product ? product.split("*") : []) {
        if (!Object.hasOwn(sizes, symbol)) rest = multiplyProducts(rest, symbol);
        else total *= sizes[symbol];
      }
      addTerm(terms, rest, total);
    }
    return new Dim(terms, this.name ?? this.expression);
  }

  /** The polynomial as text, without the name: the identity of this size. */
  get expression(): string {
    if (this.terms.size === 0) return "0";
    return [...this.terms]
      .map(([product, factor]) => (product === "" ? `${factor}` : factor === 1 ? product : `${factor}*${product}`))
      .sort((a, b) => Number(isNumeric(a)) - Number(isNumeric(b)) || (a < b ? -1 : 1))
      .join("+")
      .replaceAll("+-", "-");
  }

  toString(): string {
    const { value } = this;
    if (value === undefined) return this.name ?? this.expression;
    return this.name === undefined ? `${value}` : `${this.name}=${value}`;
  }
}

/** Sizes that are bound while a graph is built: a dimension written as text means the same as the inputs' axes. */
let boundSizes: Readonly<Record<string, number>> = {};

export function withSizes<T>(sizes: Readonly<Record<string, number>>, build: () => T): T {
  const before = boundSizes;
  boundSizes = sizes;
  try {
    return build();
  } finally {
    boundSizes = before;
  }
}

export const product = (dims: readonly Dim[]): Dim => dims.reduce((a, b) => a.times(b), constant(1));
export const sum = (dims: readonly Dim[]): Dim => dims.reduce((a, b) => a.plus(b), constant(0));

/** All of them as numbers, when no symbol is left open. */
export const numbers = (dims: readonly Dim[]): number[] | undefined =>
  dims.every(({ value }) => value !== undefined) ? dims.map((dim) => dim.known) : undefined;

const small = Array.from({ length: 2049 }, (_, i) => makeConstant(i));

function constant(value: number): Dim {
  return small[value] ?? makeConstant(value);
}

function makeConstant(value: number): Dim {
  return Dim.fromTerms(value === 0 ? new Map() : new Map([["", value]]));
}

const isOne = (dim: Dim): boolean => dim.terms.size === 1 && dim.terms.get("") === 1;
const isNumeric = (text: string): boolean => /^-?[\d.]+$/.test(text);

function joinNames(a: Dim, sign: string, b: Dim): string | undefined {
  if (a.value === undefined || b.value === undefined || !a.name || !b.name) return undefined;
  return `${a.name}${sign}${b.name}`;
}

function multiplyProducts(a: string, b: string): string {
  if (!a || !b) return a || b;
  return [...a.split("*"), ...b.split("*")].sort().join("*");
}

function addTerm(terms: Map<string, number>, product: string, factor: number): void {
  const total = (terms.get(product) ?? 0) + factor;
  if (total === 0) terms.delete(product);
  else terms.set(product, total);
}

function parse(text: string): Dim {
  const terms = new Map<string, number>();
  for (const term of text.split("+")) {
    let factor = 1;
    let symbols = "";
    for (const part of term.split("*").map((s) => s.trim())) {
      if (/^\d+$/.test(part)) factor *= Number(part);
      else if (/^[A-Za-z_][\w.]*$/.test(part)) symbols = multiplyProducts(symbols, part);
      else throw new GraphError(`"${text}" is not a dimension; write a number, a name, or sums and products such as "past+time"`);
    }
    addTerm(terms, symbols, factor);
  }
  return Dim.fromTerms(terms);
}
