import { NotUnderstood } from "./not-understood.ts";

// Regular expressions of tokenizer.json are written for Oniguruma. This says the same in JavaScript, for the part of the language that
// tokenizers use; what lies outside of it (anchors, back references, POSIX brackets) is not understood rather than guessed.

/** Escapes that stand for a class. Not \w: versions of Oniguruma differ in it. */
const classes: Readonly<Record<string, string>> = { s: "\\p{White_Space}", S: "\\P{White_Space}", d: "\\p{Nd}", D: "\\P{Nd}" };
const controls = new Set(["r", "n", "t", "f", "v"]);

const categories = /^(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfo]?)$/;
const scripts = new Set(
  "Han Hiragana Katakana Hangul Latin Greek Cyrillic Arabic Hebrew Thai Devanagari Bengali Armenian Georgian Tamil Telugu".split(" "),
);

/** Letters that are the same without regard to case, beyond the two of the alphabet. */
const alike: Readonly<Record<string, string>> = { s: "\\u017f", k: "\\u212a" };

/** The pattern for JavaScript. */
export function translated(pattern: string): RegExp {
  const reader = new PatternReader(pattern);
  const found = reader.alternatives(false);
  if (!reader.atEnd) throw reader.strange();
  try {
    return new RegExp(found, "gu");
  } catch {
    throw reader.strange(); // such as {3,1}
  }
}

class PatternReader {
  readonly #pattern: readonly string[];
  #at = 0;
  #groups = 0;

  constructor(pattern: string) {
    this.#pattern = Array.from(pattern);
  }

  get atEnd(): boolean {
    return this.#at >= this.#pattern.length;
  }

  strange(): NotUnderstood {
    return new NotUnderstood(`its regular expression ${JSON.stringify(this.#pattern.join("").slice(0, 60))} is of no known sort`);
  }

  alternatives(anyCase: boolean): string {
    const found = [this.#row(anyCase)];
    while (this.#taken("|")) found.push(this.#row(anyCase));
    return found.join("|");
  }

  #row(anyCase: boolean): string {
    let found = "";
    while (!this.atEnd && this.#peek() !== "|" && this.#peek() !== ")") found += this.#repeated(anyCase);
    return found;
  }

  #repeated(anyCase: boolean): string {
    let found = this.#atom(anyCase);
    for (;;) {
      const times = this.#times();
      if (times === undefined) return found;
      const simple = times.length === 1; // only after ? * and + does Oniguruma read another + as possessive
      if (simple && this.#taken("+")) found = this.#atomic(`(?:${found})${times}`);
      else if (this.#taken("?")) found = `(?:${found})${times}?`;
      else found = `(?:${found})${times}`;
    }
  }

  /** What has matched is never given back: a look ahead cannot be entered again. */
  #atomic(inner: string): string {
    const name = `g${this.#groups++}`;
    return `(?=(?<${name}>${inner}))\\k<${name}>`;
  }

  #times(): string | undefined {
    for (const sign of ["?", "*", "+"]) if (this.#taken(sign)) return sign;
    if (this.#peek() !== "{") return undefined;
    const rest = this.#pattern.slice(this.#at).join("");
    const times = /^\{\d+(?:,\d*)?\}/.exec(rest)?.[0];
    if (times === undefined) throw this.strange();
    this.#at += times.length;
    return times;
  }

  #atom(anyCase: boolean): string {
    const sign = this.#next();
    if (sign === "(") return this.#group(anyCase);
    if (sign === "[") return this.#brackets(anyCase);
    if (sign === "\\") return this.#escape(false, anyCase);
    if (sign === ".") return "[^\\n]";
    if ("^$?*+{}])".includes(sign)) throw this.strange();
    return this.#literal(sign, anyCase);
  }

  #group(anyCase: boolean): string {
    let opening = "(?:";
    let inner = anyCase;
    if (this.#taken("?")) {
      const kind = this.#next();
      if (kind === "=" || kind === "!") opening = `(?${kind}`;
      else if (kind === "i") {
        inner = true;
        if (this.#next() !== ":") throw this.strange();
      } else if (kind !== ":") throw this.strange();
    }
    const found = this.alternatives(inner);
    if (!this.#taken(")")) throw this.strange();
    return `${opening}${found})`;
  }

  #brackets(anyCase: boolean): string {
    let found = this.#taken("^") ? "[^" : "[";
    for (let first = true; ; first = false) {
      const sign = this.#next();
      if (sign === "]" && !first) return `${found}]`;
      if (sign === "[" || sign === "]" || (sign === "&" && this.#peek() === "&")) throw this.strange();
      if (sign === "-") found += first || this.#peek() === "]" ? "\\-" : "-";
      else found += sign === "\\" ? this.#escape(true, anyCase) : this.#inBrackets(sign, anyCase);
    }
  }

  #escape(inside: boolean, anyCase: boolean): string {
    const sign = this.#next();
    if (sign === "p" || sign === "P") return `\\${sign}{${this.#property()}}`;
    if (Object.hasOwn(classes, sign)) return classes[sign];
    if (controls.has(sign)) return `\\${sign}`;
    if (/[\p{L}\p{N}]/u.test(sign)) throw this.strange();
    return inside ? this.#inBrackets(sign, anyCase) : this.#literal(sign, anyCase);
  }

  #property(): string {
    const rest = this.#pattern.slice(this.#at).join("");
    const name = /^\{(\w+)\}/.exec(rest)?.[1];
    if (name === undefined) throw this.strange();
    this.#at += name.length + 2;
    if (categories.test(name)) return name;
    if (scripts.has(name)) return `Script=${name}`;
    throw this.strange();
  }

  #literal(sign: string, anyCase: boolean): string {
    if (!anyCase || sign.toLowerCase() === sign.toUpperCase()) return plain(sign);
    return `[${this.#inBrackets(sign, true)}]`;
  }

  #inBrackets(sign: string, anyCase: boolean): string {
    if (!anyCase || sign.toLowerCase() === sign.toUpperCase()) return plain(sign);
    if (!/^[a-zA-Z]$/.test(sign) || this.#peek() === "-") throw this.strange();
    const small = sign.toLowerCase();
    return `${small}${small.toUpperCase()}${alike[small] ?? ""}`;
  }

  #peek(): string | undefined {
    return this.#pattern[this.#at];
  }

  #next(): string {
    if (this.atEnd) throw this.strange();
    return this.#pattern[this.#at++];
  }

  #taken(sign: string): boolean {
    if (this.#peek() !== sign) return false;
    this.#at++;
    return true;
  }
}

const plain = (sign: string): string => (/[\^$\\.*+?()[\]{}|/-]/.test(sign) ? `\\u{${sign.charCodeAt(0).toString(16)}}` : sign);
