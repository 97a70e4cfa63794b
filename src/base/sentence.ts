// What the library says names settings and functions; on a command line the same things are flags and commands. So a sentence keeps
// what it names as marks, and whoever shows it chooses the words. By itself it speaks to a program.

export type Value = string | number | boolean;
export type Settings = Readonly<Record<string, Value>>;
export type Argument = string | Settings;

/** How somebody names settings and functions. */
export interface Words {
  /** A setting by its name in a config, perhaps with a value, or with several to choose from. */
  setting(name: string, value?: Value | readonly Value[]): string;
  /** Settings that go together. */
  settings(given: Settings): string;
  /** A function of the library; `instead` if it takes the place of what was just asked for, which on a command line takes flags alone. */
  call(name: string, args: readonly Argument[], instead: boolean): string;
}

type Mark =
  | { readonly setting: string; readonly value?: Value | readonly Value[] }
  | { readonly settings: Settings }
  | { readonly call: string; readonly args: readonly Argument[]; readonly instead: boolean };
type Part = string | number | Mark | Sentence;

/** Something that is said, plain or with marks. */
export type Wording = string | Sentence;

export class Sentence {
  readonly #parts: readonly Part[];

  constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  /** The sentence in somebody's words; a program's, if left out. */
  in(words: Words = programWords): string {
    return this.#parts.map((part) => inWords(part, words)).join("");
  }

  toString(): string {
    return this.in();
  }

  toJSON(): string {
    return this.in();
  }
}

/** A sentence with marks: sentence`give more text, or a smaller ${setting("batch")}`. */
export const sentence = (texts: TemplateStringsArray, ...parts: readonly Part[]): Sentence =>
  new Sentence(texts.flatMap((text, i) => (i < parts.length ? [text, parts[i]] : [text])));

/** `batch`, or `task: "lm"`. */
export const setting = (name: string, value?: Value | readonly Value[]): Mark => ({ setting: name, value });

/** `{ layers: 0, positions: "none" }`. */
export const settings = (given: Settings): Mark => ({ settings: given });

/** What to call: `resume("runs/book")`. What a trained model can do is called with its folder: `open("runs/book").classify()`. */
export const call = (name: string, ...args: readonly Argument[]): Mark => ({ call: name, args, instead: false });

/** What to call in the place of what was just called. */
export const instead = (name: string, ...args: readonly Argument[]): Mark => ({ call: name, args, instead: true });

/** The one or the other. */
export const either = (parts: readonly Part[]): Sentence => new Sentence(parts.flatMap((part, i) => (i === 0 ? [part] : [" or ", part])));

function inWords(part: Part, words: Words): string {
  if (part instanceof Sentence) return part.in(words);
  if (typeof part !== "object") return `${part}`;
  if ("setting" in part) return words.setting(part.setting, part.value);
  return "settings" in part ? words.settings(part.settings) : words.call(part.call, part.args, part.instead);
}

/** What a trained model does. */
const methods: readonly string[] = ["generate", "classify", "tag", "translate", "evaluate"];
/** What takes one that is open. */
const ofModels: readonly string[] = ["exportModel"];

/** As TypeScript has it. */
const programWords: Words = {
  setting: (name, value) => (value === undefined ? name : `${name}: ${[value].flat().map(quoted).join("|")}`),
  settings(given) {
    const list = Object.entries(given).map(([name, value]) => this.setting(name, value));
    return `{ ${list.join(", ")} }`;
  },
  call(name, args) {
    const text = (arg: string) => (ofModels.includes(name) ? `open(${quoted(arg)})` : quoted(arg));
    const list = args.map((arg) => (typeof arg === "string" ? text(arg) : this.settings(arg))).join(", ");
    return methods.includes(name) && args.length > 0 ? `open(${list}).${name}()` : `${name}(${list})`;
  },
};

const quoted = (value: Value): string => JSON.stringify(value);
