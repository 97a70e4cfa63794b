import { type CodePoints, codePoints, everyCodePoint, without } from "./code-points.ts";
import { choice, empty, type Grammar, repeat, sequence } from "./grammar.ts";
import { stringCharacter } from "./json-grammar.ts";

// A regular expression of a schema as a grammar of the string in JSON. What is not known is refused: nothing is guessed.

/** What of a pattern cannot be held to, as the end of a sentence. */
export class UnknownPattern extends Error {}

/** So many characters of a pattern, each as often as it may be repeated: so many places in it can be come to at once. */
const most = 128;
const longest = 256;
const digits = codePoints("0123456789");
const wordly = codePoints([0x30, 0x39], [0x41, 0x5a], [0x61, 0x7a], "_");
const blanks = codePoints(" \t\n\r\f\v\u00a0\ufeff\u1680\u2028\u2029\u202f\u205f\u3000", [0x2000, 0x200a]);
const lines = codePoints("\n\r\u2028\u2029");
const classes: Readonly<Record<string, CodePoints>> = {
  ...{ d: digits, w: wordly, s: blanks },
  ...{ D: without(everyCodePoint, digits), W: without(everyCodePoint, wordly), S: without(everyCodePoint, blanks) },
};
const controls: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", f: "\f", v: "\v" };
/** What is written by its number: a character above U+FFFF by both its halves, after each other. */
const coded = /^(?:x([\da-f]{2})|u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})|u([\da-f]{4}))/i;
const halves = /\p{Cs}/u;
const anything = repeat(stringCharacter(everyCodePoint), 0, Number.POSITIVE_INFINITY);

/** The content of strings that match, between the quotes. As in a schema, a pattern without ^ and $ may match anywhere. */
export function patternOf(source: string): Pattern {
  if (source.length > longest) throw new UnknownPattern(`is longer than ${longest} characters`);
  try {
    new RegExp(source, "u");
  } catch {
    throw new UnknownPattern("is no regular expression");
  }
  if (halves.test(source)) throw new UnknownPattern("has half of a character");
  return new Reader(source).whole();
}

export interface Pattern {
  readonly node: Grammar;
  /** Its characters, each as often as it may be repeated. */
  readonly size: number;
}

interface Found extends Pattern {
  readonly empty: boolean;
}

class Reader {
  readonly #source: readonly string[];
  #at = 0;

  constructor(source: string) {
    this.#source = Array.from(source);
  }

  whole(): Pattern {
    const ways = [this.#anchored()];
    while (this.#take("|")) ways.push(this.#anchored());
    const size = ways.reduce((sum, way) => sum + way.size, 0);
    if (size > most)
      throw new UnknownPattern(
        `has ${size} characters, counted as often as they may be repeated; ${most} is the most, and minLength and maxLength know no such bound`,
      );
    return { node: choice(...ways.map(({ node }) => node)), size };
  }

  #anchored(): Pattern {
    const from = this.#take("^");
    const { node, size } = this.#row();
    const to = this.#take("$");
    if (this.#source[this.#at] !== undefined && this.#source[this.#at] !== "|") throw new UnknownPattern("has a $ that is not at its end");
    return { node: sequence(from ? empty : anything, node, to ? empty : anything), size };
  }

  #choice(): Found {
    const ways = [this.#row()];
    while (this.#take("|")) ways.push(this.#row());
    return {
      node: choice(...ways.map(({ node }) => node)),
      size: ways.reduce((sum, { size }) => sum + size, 0),
      empty: ways.some((way) => way.empty),
    };
  }

  #row(): Found {
    const parts: Found[] = [];
    for (
      let next = this.#source[this.#at];
      next !== undefined && next !== "|" && next !== ")" && next !== "$";
      next = this.#source[this.#at]
    )
      parts.push(this.#repeated());
    return {
      node: parts.length === 0 ? empty : sequence(...parts.map(({ node }) => node)),
      size: parts.reduce((sum, { size }) => sum + size, 0),
      empty: parts.every((part) => part.empty),
    };
  }

  #repeated(): Found {
    const { node, size, empty: nullable } = this.#atom();
    const counts = this.#counts();
    if (!counts) return { node, size, empty: nullable };
    this.#take("?"); // of what a text may be, greedy and lazy are the same
    const [low, high] = counts;
    if (nullable) throw new UnknownPattern("repeats something that may be empty");
    if (low > high) throw new UnknownPattern("repeats something at least more often than at most");
    const times = high === Number.POSITIVE_INFINITY ? low + 1 : high;
    return { node: repeat(node, low, high), size: Math.max(1, times * size), empty: low === 0 || high === 0 };
  }

  #counts(): readonly [number, number] | undefined {
    if (this.#take("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#take("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#take("?")) return [0, 1];
    const counted = /^\{(\d+)(,(\d*))?\}/.exec(this.#source.slice(this.#at, this.#at + 40).join(""));
    if (!counted) return undefined;
    this.#at += counted[0].length;
    const low = Number(counted[1]);
    return [low, counted[2] === undefined ? low : counted[3] === "" ? Number.POSITIVE_INFINITY : Number(counted[3])];
  }

  #atom(): Found {
    const next = this.#source[this.#at];
    if (next === "(") return this.#group();
    if (next === "^") throw new UnknownPattern("has a ^ that is not at its beginning");
    this.#at++;
    const set =
      next === "[" ? this.#class() : next === "." ? without(everyCodePoint, lines) : next === "\\" ? this.#escaped() : codePoints(next);
    return { node: stringCharacter(set), size: 1, empty: false };
  }

  #group(): Found {
    this.#at++;
    if (this.#take("?")) {
      const sign = this.#source[this.#at];
      if (sign === "<" && !["=", "!"].includes(this.#source[this.#at + 1])) while (this.#source[this.#at] !== ">") this.#at++;
      else if (sign !== ":") throw new UnknownPattern("looks ahead or behind");
      this.#at++;
    }
    const found = this.#choice();
    if (!this.#take(")")) throw new UnknownPattern("has a $ that is not at its end");
    return found;
  }

  #class(): CodePoints {
    const negated = this.#take("^");
    const parts: (readonly [number, number])[] = [];
    while (!this.#take("]")) {
      const low = this.#member();
      if (this.#source[this.#at] === "-" && this.#source[this.#at + 1] !== "]") {
        this.#at++;
        const high = this.#member();
        parts.push([low[0][0], high[0][0]]);
      } else parts.push(...low);
    }
    const set = codePoints(...parts);
    return negated ? without(everyCodePoint, set) : set;
  }

  #member(): CodePoints {
    const next = this.#source[this.#at++];
    if (next !== "\\") return codePoints(next);
    if (this.#take("b")) return codePoints("\b");
    return this.#escaped();
  }

  /** After a backslash. */
  #escaped(): CodePoints {
    const next = this.#source[this.#at++];
    if (classes[next]) return classes[next];
    if (controls[next]) return codePoints(controls[next]);
    const [said, ...hex] = coded.exec(next + this.#source.slice(this.#at, this.#at + 10).join("")) ?? [];
    if (said) {
      this.#at += said.length - 1;
      const units = hex.filter((one) => one !== undefined).map((one) => Number.parseInt(one, 16));
      const character = String.fromCharCode(...units);
      if (halves.test(character)) throw new UnknownPattern(`has \\${said}, which is half of a character`);
      return codePoints(character);
    }
    if (/^[\^$\\.*+?()[\]{}|/-]$/.test(next)) return codePoints(next);
    throw new UnknownPattern(`has \\${next}, which is not known here`);
  }

  #take(sign: string): boolean {
    if (this.#source[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }
}

/** Formats that can be held to, as patterns: those of their strings that are right in every year and reading. */
const hour = "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)";
const day = "\\d{4}-((0[1-9]|1[0-2])-(0[1-9]|1\\d|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)";
const byte = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
export const formats: Readonly<Record<string, string>> = {
  date: `^${day}$`,
  time: `^${hour}$`,
  "date-time": `^${day}T${hour}$`,
  uuid: "^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
  ipv4: `^${byte}\\.${byte}\\.${byte}\\.${byte}$`,
  email: "^[A-Za-z0-9_+-]{1,20}(\\.[A-Za-z0-9_+-]{1,10})?@([A-Za-z0-9]{1,20}\\.){1,2}[A-Za-z]{2,6}$",
};
