import { ConfigError } from "../base/errors.ts";
import { type CodePoints, common } from "./code-points.ts";

// What a text may be: nodes that point to each other, in circles too where a form has itself inside.

export type Grammar =
  | { readonly kind: "text"; readonly text: string }
  /** One character of these. */
  | { readonly kind: "character"; readonly of: CodePoints }
  | { readonly kind: "sequence"; readonly parts: readonly Grammar[] }
  | { readonly kind: "choice"; readonly among: readonly Grammar[] }
  /** `most` may be Infinity. A body is never empty, or there would be no end of it. */
  | { readonly kind: "repeat"; readonly body: Grammar; readonly least: number; readonly most: number }
  /** Something that is made when it is first asked for, and may be around this node. */
  | { readonly kind: "later"; readonly node: () => Grammar };

export const text = (wanted: string): Grammar => ({ kind: "text", text: wanted });
export const character = (of: CodePoints): Grammar => ({ kind: "character", of });
export const sequence = (...parts: Grammar[]): Grammar => (parts.length === 1 ? parts[0] : { kind: "sequence", parts });
export const choice = (...among: Grammar[]): Grammar => (among.length === 1 ? among[0] : { kind: "choice", among });
export const repeat = (body: Grammar, least: number, most: number): Grammar => ({ kind: "repeat", body, least, most });
export const optional = (body: Grammar): Grammar => repeat(body, 0, 1);
export const empty: Grammar = text("");

export function later(make: () => Grammar): Grammar {
  let made: Grammar | undefined;
  return {
    kind: "later",
    node: () => {
      made ??= make();
      return made;
    },
  };
}

/** Forms come from strangers; one of so many parts is ready in a tenth of a second. */
const mostNodes = 20_000;

/** What of a grammar can be written, and to the end, with these characters alone. */
export class Writable {
  readonly characters: CodePoints;
  /** How many there are. */
  readonly nodes: number;
  readonly #finished = new Set<Grammar>();
  readonly #root: Grammar;

  constructor(root: Grammar, characters: CodePoints) {
    this.characters = characters;
    this.#root = root;
    const nodes = reachable(root).reverse();
    this.nodes = nodes.length;
    // From the leaves up, until nothing is new: what is in a circle only has no end.
    for (let before = -1; before < this.#finished.size; ) {
      before = this.#finished.size;
      for (const node of nodes) if (!this.#finished.has(node) && this.#finishes(node)) this.#finished.add(node);
    }
  }

  /** Whether a node of this grammar has an end. */
  has(node: Grammar): boolean {
    return this.#finished.has(node) || (node.kind === "repeat" && this.#finishes(node));
  }

  /**
   * Why the whole has no end: the characters that are missed first on the way to one, or a choice among nothing. If it is neither, a form
   * has itself inside without end.
   */
  missing(): { readonly characters: readonly string[]; readonly isChoice: boolean } {
    const found = new Set<string>();
    let isChoice = false;
    const seen = new Set<Grammar>();
    const walk = (node: Grammar): void => {
      if (this.has(node) || seen.has(node)) return;
      seen.add(node);
      if (node.kind === "text") for (const one of node.text) if (common(this.characters, points(one)).length === 0) found.add(one);
      if (node.kind === "character") found.add(String.fromCodePoint(node.of[0]?.[0] ?? 0xfffd));
      if (node.kind === "sequence") node.parts.forEach(walk);
      if (node.kind === "choice" && node.among.length > 0) walk(node.among[0]);
      else if (node.kind === "choice") isChoice = true;
      if (node.kind === "repeat") walk(node.body);
      if (node.kind === "later") walk(node.node());
    };
    walk(this.#root);
    return { characters: [...found], isChoice };
  }

  #finishes(node: Grammar): boolean {
    if (node.kind === "text") return Array.from(node.text).every((one) => common(this.characters, points(one)).length > 0);
    if (node.kind === "character") return common(this.characters, node.of).length > 0;
    if (node.kind === "sequence") return node.parts.every((part) => this.has(part));
    if (node.kind === "choice") return node.among.some((one) => this.has(one));
    if (node.kind === "repeat") return node.least === 0 || (node.most > 0 && this.has(node.body));
    return this.has(node.node());
  }
}

const points = (one: string): CodePoints => [[one.codePointAt(0) ?? 0, one.codePointAt(0) ?? 0]];

/** All nodes, those around others first. */
function reachable(root: Grammar): Grammar[] {
  const found = new Set([root]);
  for (const node of found) {
    if (found.size > mostNodes)
      throw new ConfigError("this form is too large; name fewer properties, choices, bounds of numbers and patterns", {
        code: "config.range",
        path: "response_format",
      });
    const inside =
      node.kind === "sequence"
        ? node.parts
        : node.kind === "choice"
          ? node.among
          : node.kind === "repeat"
            ? [node.body]
            : node.kind === "later"
              ? [node.node()]
              : [];
    for (const one of inside) found.add(one);
  }
  return [...found];
}
