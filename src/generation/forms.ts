import { ConfigError } from "../base/errors.ts";
import { tokenBytes } from "../tokens/token-bytes.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { Automaton, type State } from "./automaton.ts";
import type { Constraint } from "./constraint.ts";
import { Effort, Remembered } from "./effort.ts";
import { type Grammar, Writable } from "./grammar.ts";
import { answer, anyObject } from "./json-grammar.ts";
import { schemaGrammar } from "./json-schema.ts";
import { TokenMasks } from "./token-masks.ts";

// Answers of a given form: what a model may write next is what some answer of that form goes on with.

export interface FormsOptions {
  readonly tokenizer: Pick<Tokenizer, "kind" | "json">;
  /** How many scores there are for the next token. Those beyond the tokenizer are never allowed. */
  readonly rows: number;
  /** The tokens that end a text, where a request does not say its own. */
  readonly ends: readonly number[];
}

/** The forms that a model can answer in. Made once for a model; what it needs is made when it is first asked. */
export interface Forms {
  /** Any JSON object. */
  json(ends?: readonly number[]): Constraint;
  /** JSON that is valid by a schema, which may be anybody's: what cannot be held to is refused. */
  schema(schema: unknown, ends?: readonly number[]): Constraint;
  /** What is remembered of all forms, about. */
  readonly bytes: number;
}

const mostCompiled = 16;
/** Of all forms together. */
const mostBytes = 64 * 2 ** 20;

export function formsOf({ tokenizer, rows, ends: usual }: FormsOptions): Forms {
  let masks: TokenMasks | undefined;
  const memory = new Remembered(mostBytes);
  const compiled = new Map<string, Automaton>();
  const automatonOf = (key: string, grammar: () => Grammar): Automaton => {
    masks ??= new TokenMasks(tokenBytes(tokenizer), rows);
    const known = compiled.get(key) ?? automaton(answer(grammar()), masks, memory);
    compiled.delete(key);
    compiled.set(key, known);
    for (const oldest of compiled.keys()) if (compiled.size > mostCompiled) compiled.delete(oldest);
    return known;
  };
  const constraint = (made: Automaton, ends: readonly number[]): Constraint => {
    const known = ends.filter((id) => Number.isInteger(id) && id >= 0 && id < rows);
    if (known.length > 0) return new FormConstraint(made, masks as TokenMasks, known);
    throw refusal("this model has no token that ends a text, so an answer of a given form would have no end");
  };
  return {
    json: (ends = usual) =>
      constraint(
        automatonOf("", () => anyObject),
        ends,
      ),
    schema: (schema, ends = usual) =>
      constraint(
        automatonOf(keyOf(schema), () => schemaGrammar(schema)),
        ends,
      ),
    get bytes() {
      return memory.bytes;
    },
  };
}

/** A schema by its text; one that has none is refused by whoever reads it. */
function keyOf(schema: unknown): string {
  try {
    return JSON.stringify(schema) ?? "undefined";
  } catch {
    return "circular";
  }
}

const refusal = (said: string): ConfigError => new ConfigError(said, { code: "config", path: "response_format" });

function automaton(grammar: Grammar, { characters }: TokenMasks, memory: Remembered): Automaton {
  const writable = new Writable(grammar, characters);
  if (writable.has(grammar)) return new Automaton(grammar, writable, memory);
  const { characters: missed, isChoice } = writable.missing();
  const missing = missed.map((one) => JSON.stringify(one));
  if (isChoice) throw refusal("there is no answer of this form: a part of it allows nothing, such as [] in a pattern");
  if (missing.length === 0) throw refusal("no answer of this form ever ends: it has itself inside");
  const some = `${missing.slice(0, 8).join(" ")}${missing.length > 8 ? ` and ${missing.length - 8} more` : ""}`;
  throw refusal(
    `this model's tokenizer cannot write answers of this form: it has no tokens that add ${some} to a text and nothing else, as a space before; train with a byte, bpe or unigram tokenizer, which can write everything`,
  );
}

class FormConstraint implements Constraint {
  readonly #automaton: Automaton;
  readonly #masks: TokenMasks;
  readonly #ends: readonly number[];
  readonly #effort = new Effort();
  #state: State | undefined;
  #ended = false;

  constructor(made: Automaton, masks: TokenMasks, ends: readonly number[]) {
    this.#automaton = made;
    this.#masks = masks;
    this.#ends = ends;
    this.#state = made.start;
  }

  async allowed(): Promise<Int32Array> {
    const state = this.#standing();
    const mask = this.#masks.of(state, this.#automaton, this.#effort).slice();
    if (this.#ended) mask.fill(0);
    const may = this.#ended || state.complete;
    for (const id of this.#ends) mask[id >> 5] = may ? mask[id >> 5] | (1 << (id & 31)) : mask[id >> 5] & ~(1 << (id & 31));
    return mask;
  }

  accept(token: number): void {
    const state = this.#standing();
    if (this.#ends.includes(token) && (this.#ended || state.complete)) {
      this.#ended = true;
      return;
    }
    const next = this.#ended || this.#ends.includes(token) ? null : this.#masks.after(state, token, this.#automaton, this.#effort);
    if (!next) throw new ConfigError(`the token ${token} was not among those that may come next in this form`);
    this.#state = next;
    this.#effort.rest();
  }

  release(): void {
    this.#state = undefined;
  }

  #standing(): State {
    if (this.#state) return this.#state;
    throw new ConfigError("this constraint was given back, and is asked nothing more");
  }
}
