import { isWhitespace } from "./cut.ts";
import type { AddedToken } from "./frame.ts";
import { UnitTrie } from "./unit-trie.ts";

// Added tokens are found in a text before anything else is done to it: the longest one at the leftmost place.

const wordSign = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]/u;

export class AddedTokens {
  readonly #trie: UnitTrie;
  readonly #tokens: readonly AddedToken[];
  /** The units that a token may begin with. */
  readonly #first: RegExp | undefined;

  /** `spelling` says how a token is written in the text that is looked at. */
  constructor(tokens: readonly AddedToken[], spelling: (content: string) => string) {
    this.#trie = new UnitTrie(tokens.length);
    this.#tokens = tokens;
    const firsts = new Set<number>();
    tokens.forEach(({ content }, i) => {
      const spelt = spelling(content);
      if (spelt === "") return;
      this.#trie.set(spelt, i);
      firsts.add(spelt.charCodeAt(0));
    });
    const units = [...firsts].map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`);
    this.#first = units.length > 0 ? new RegExp(`[${units.join("")}]`, "g") : undefined;
  }

  /** Calls back for each stretch of text, with where it begins, and for each token between them. */
  walk(text: string, onText: (stretch: string, from: number) => void, onToken: (id: number) => void): void {
    if (!this.#first) {
      if (text !== "") onText(text, 0);
      return;
    }
    let from = 0;
    for (let found = this.#find(text, 0); found; found = this.#find(text, found.end)) {
      const { token, start, end } = found;
      if (token.single_word && !standsAlone(text, start, end)) continue;
      const begin = token.lstrip ? Math.max(from, withoutSpaceBefore(text, start)) : start;
      if (from < begin) onText(text.slice(from, begin), from);
      onToken(token.id);
      from = token.rstrip ? withoutSpaceAfter(text, end) : end;
    }
    if (from < text.length) onText(text.slice(from), from);
  }

  #find(text: string, from: number): { token: AddedToken; start: number; end: number } | undefined {
    const first = this.#first as RegExp;
    for (first.lastIndex = from; ; ) {
      const start = first.exec(text)?.index;
      if (start === undefined) return undefined;
      let [best, end] = [-1, 0];
      for (let at = start, node = 0; at < text.length; ) {
        node = this.#trie.step(node, text.charCodeAt(at++));
        if (node < 0) break;
        const value = this.#trie.value(node);
        if (value >= 0) [best, end] = [value, at];
      }
      if (best >= 0) return { token: this.#tokens[best], start, end };
    }
  }
}

function standsAlone(text: string, start: number, end: number): boolean {
  const before = Array.from(text.slice(Math.max(0, start - 2), start)).at(-1) ?? "";
  const after = String.fromCodePoint(text.codePointAt(end) ?? 32);
  return !wordSign.test(before) && !wordSign.test(after);
}

function withoutSpaceBefore(text: string, end: number): number {
  let at = end;
  while (at > 0 && isWhitespace(text.charCodeAt(at - 1))) at--;
  return at;
}

function withoutSpaceAfter(text: string, start: number): number {
  let at = start;
  while (at < text.length && isWhitespace(text.charCodeAt(at))) at++;
  return at;
}
