import { wellFormed } from "../tokens/cut.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";

const longestBeginning = 3; // bytes of a character that has four
/** What bytes that are no character, or not yet, are decoded to. */
const trailing = /\uFFFD+$/;

/** So many tokens of text before the new ones decide how they read: whether a space comes in between, where a character begins. */
const context = 8;

/**
 * Tokens to text, piece by piece. A piece never ends within a character, nor within what may turn out to be a stop string; both wait for
 * the tokens that follow.
 */
export class TextStream {
  readonly #tokenizer: Tokenizer;
  readonly #stops: readonly string[];
  /** Tokens whose text is known, for the ones that follow; and those that are not whole characters yet. */
  #before: number[];
  #open: number[] = [];
  /** How much of the open tokens' text is certain, and was given out or held for a stop string. */
  #given = 0;
  #held = "";
  #text = "";
  #stopped = false;

  constructor(tokenizer: Tokenizer, prompt: ArrayLike<number> = [], stops: readonly string[] = []) {
    this.#tokenizer = tokenizer;
    this.#stops = stops.filter((stop) => stop.length > 0 && stop === wellFormed(stop)); // no text has half a character
    this.#before = this.#texts(Array.from(prompt));
  }

  /** All that was given out. */
  get text(): string {
    return this.#text;
  }

  /** Whether a stop string was met. Nothing is given out after that. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** The text that is certain after this token; often a whole token, sometimes nothing. */
  push(token: number): string {
    this.#open.push(token);
    if (this.#undone()) return "";
    const text = this.#decoded();
    const unfinished = trailing.exec(text)?.[0].length ?? 0;
    const certain = Math.max(this.#given, text.length - Math.min(unfinished, longestBeginning));
    const given = this.#give(text.slice(this.#given, certain), false);
    this.#given = certain;
    this.#close(text, unfinished > 0 ? context : 0);
    return given;
  }

  /** What was held back, when no token follows. A character that was never finished is left out. */
  end(): string {
    return this.#give(this.#decoded().slice(this.#given).replace(trailing, ""), true);
  }

  /**
   * Whether the last tokens undo text that is known already. Where tokens of bytes in a row are decoded together, characters that were whole
   * are not while the next one is unfinished.
   */
  #undone(): boolean {
    if (this.#open.length > longestBeginning) return false;
    const text = this.#tokenizer.decode([...this.#before, ...this.#open]);
    return trailing.test(text) && !text.startsWith(this.#tokenizer.decode(this.#before).replace(trailing, ""));
  }

  /** Whether a token is ever text: special ones are skipped, but a space may be left out only because it is the first. */
  #isText(token: number): boolean {
    return this.#tokenizer.decode([token, token]) !== "";
  }

  /** Takes open tokens for known, all but the last so many that are text. */
  #close(text: string, kept: number): void {
    const open = this.#open;
    const places = [...open.keys()].filter((i) => this.#isText(open[i]));
    if (places.length < kept) return;
    const last = kept > 0 ? places[places.length - kept] : open.length;
    this.#before = this.#texts([...this.#before, ...open.slice(0, last)]);
    this.#open = open.slice(last);
    this.#given -= text.length - this.#decoded().length; // of a character that begins in a known token and ends in an open one, all is open
  }

  /** The text of the open tokens, as it reads after those before. A character that a prompt left unfinished is new once it is finished. */
  #decoded(open: readonly number[] = this.#open): string {
    const known = this.#tokenizer.decode(this.#before);
    const text = this.#tokenizer.decode([...this.#before, ...open]);
    let same = 0;
    while (same < known.length && text[same] === known[same]) same++;
    return text.slice(same);
  }

  /** The last tokens that are text; special ones are skipped when they are decoded, and tell nothing. */
  #texts(tokens: readonly number[]): number[] {
    const last = tokens.filter((token) => this.#isText(token)).slice(-context);
    // Bytes that are decoded together are no text if the first of them are the end of a character.
    const starts = Array.from({ length: longestBeginning + 1 }, (_, i) => i).filter((i) => i < last.length);
    const whole = starts.find((i) => !this.#tokenizer.decode(last.slice(i)).startsWith("\uFFFD"));
    return last.slice(whole ?? 0);
  }

  #give(text: string, last: boolean): string {
    if (this.#stopped) return "";
    const pending = this.#held + text;
    const stop = firstOf(pending, this.#stops);
    this.#stopped = stop >= 0;
    const safe = this.#stopped ? stop : last ? pending.length : pending.length - this.#unsure(pending);
    this.#held = this.#stopped ? "" : pending.slice(safe);
    this.#text += pending.slice(0, safe);
    return pending.slice(0, safe);
  }

  /** How much of a text's end is the beginning of a stop string. */
  #unsure(text: string): number {
    const most = Math.min(text.length, Math.max(0, ...this.#stops.map((stop) => stop.length - 1)));
    for (let length = most; length > 0; length--) {
      const end = text.slice(text.length - length);
      if (this.#stops.some((stop) => stop.startsWith(end))) return length;
    }
    return 0;
  }
}

/** Where the first of several strings begins, or −1. */
function firstOf(text: string, wanted: readonly string[]): number {
  const found = wanted.map((one) => text.indexOf(one)).filter((at) => at >= 0);
  return found.length > 0 ? Math.min(...found) : -1;
}
