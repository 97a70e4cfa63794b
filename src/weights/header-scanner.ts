import { FormatError } from "../base/errors.ts";

/** A name from a file, in quotes and short enough for a sentence. */
export const shown = (name: string): string => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);

const longestList = 1000;

/**
 * Reads the JSON of a safetensors header from left to right, only as deep as the caller asks. `JSON.parse` would keep the last of
 * two equal names, round whole numbers beyond 2^53 and build whatever nesting a stranger wrote; here each of them is an error.
 */
export class HeaderScanner {
  readonly #text: string;
  readonly #where: string;
  #at = 0;

  constructor(text: string, where: string) {
    this.#text = text;
    this.#where = where;
  }

  /** `{ key: value, … }`: `each` reads the value that follows its key. */
  object(what: string, each: (key: string) => void): void {
    const keys = new Set<string>();
    this.#sequence("{", "}", `${what}, an object,`, () => {
      const key = this.string(`a key of ${what}`);
      if (keys.has(key)) throw this.#error(`${what} has the key ${shown(key)} twice`);
      keys.add(key);
      this.#take(":", `":" after the key ${shown(key)}`);
      each(key);
    });
  }

  /** `[0, 1, …]` of whole numbers, not so many that they would fill the memory. */
  wholes(what: string): number[] {
    const numbers: number[] = [];
    this.#sequence("[", "]", `${what}, a list,`, () => {
      if (numbers.push(this.#whole(what)) > longestList) throw this.#error(`${what} has more than ${longestList} numbers`);
    });
    return numbers;
  }

  string(what: string): string {
    this.#space();
    const start = this.#at;
    if (this.#text[start] !== '"') throw this.#unexpected(`${what}, a string,`);
    let end = start + 1;
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === "\\" ? 2 : 1;
    this.#at = end + 1;
    const value = unescaped(this.#text.slice(start, this.#at));
    if (value === undefined) throw this.#error(`${what} is not a string that JSON allows`, start);
    return value;
  }

  /** Nothing but white space may be left. */
  end(): void {
    this.#space();
    if (this.#at < this.#text.length) throw this.#unexpected("the end of the header");
  }

  #sequence(open: string, close: string, what: string, item: () => void): void {
    this.#take(open, what);
    this.#space();
    if (this.#text[this.#at] === close) {
      this.#at++;
      return;
    }
    for (;;) {
      item();
      this.#space();
      const next = this.#text[this.#at];
      if (next !== close && next !== ",") throw this.#unexpected(`"," or "${close}"`);
      this.#at++;
      if (next === close) return;
    }
  }

  #whole(what: string): number {
    this.#space();
    const start = this.#at;
    while (this.#at - start < 20 && /[-+.\w]/.test(this.#text[this.#at] ?? "")) this.#at++; // 2^53 has 16 digits
    const digits = this.#text.slice(start, this.#at);
    if (digits === "") throw this.#unexpected(`${what}, a whole number,`);
    const value = Number(digits);
    if (!/^(0|[1-9][0-9]{0,15})$/.test(digits) || !Number.isSafeInteger(value)) {
      throw this.#error(`${what} has ${shown(digits)}, and a whole number from 0 to 2^53 - 1 was wanted`, start);
    }
    return value;
  }

  #take(character: string, what: string): void {
    this.#space();
    if (this.#text[this.#at] !== character) throw this.#unexpected(what);
    this.#at++;
  }

  #space(): void {
    while (" \n\r\t".includes(this.#text[this.#at] ?? "end")) this.#at++;
  }

  #unexpected(wanted: string): FormatError {
    const found = this.#at < this.#text.length ? `has ${JSON.stringify(this.#text[this.#at])}` : "ends";
    return new FormatError(`${this.#where}: the header ${found} at character ${this.#at}, where ${wanted} was wanted`);
  }

  #error(problem: string, at = this.#at): FormatError {
    return new FormatError(`${this.#where}: ${problem} (character ${at} of the header)`);
  }
}

/** The text of a JSON string literal; nothing if it is not one, or has half a surrogate pair, which no UTF-8 file could hold. */
function unescaped(literal: string): string | undefined {
  try {
    const value: unknown = JSON.parse(literal);
    return typeof value === "string" && isWellFormed(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);
