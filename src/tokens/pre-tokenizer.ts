import { tokenOf, utf8 } from "./bytes.ts";
import { isWhitespace } from "./cut.ts";
import { flagOf, NotUnderstood, type Part, partOf, partsOf, stringOf } from "./not-understood.ts";
import { translated } from "./oniguruma.ts";
import { compiled, patterns } from "./patterns.ts";

// How files from elsewhere cut a text into words, as the `tokenizers` package does it.

/** A word to the words that it is cut into. */
type Stage = (word: string) => readonly string[];

export interface PreTokenizer {
  /** What is done to a whole stretch of text; `first` is the one at the beginning of everything. */
  readonly prepare?: (text: string, first: boolean) => string;
  readonly stages: readonly Stage[];
  /**
   * Where a long stretch may be cut without a change of its words. "spaces": before a space that follows something else; "marks": at every
   * mark, and each part is a word; "whole": the stretch is one word; "unknown": nowhere that is known of.
   */
  readonly cuts: "spaces" | "marks" | "whole" | "unknown";
  /** The mark for spaces, if there is one. */
  readonly mark?: string;
}

export function preTokenizer(json: object | null, spacesGone: boolean): PreTokenizer {
  const all = partsOf(json, "pretokenizers");
  // Gemma splits at spaces of which its normaliser has left none.
  const parts = spacesGone ? all.filter((part) => !isSplitAtSpaces(part)) : all;
  const [first, ...others] = parts;
  if (first === undefined) return { stages: [], cuts: "whole" };
  if (first.type === "Metaspace" && others.length === 0) return metaspace(first);
  const prefixed = first.type === "ByteLevel" && flagOf(first, "add_prefix_space");
  return {
    ...(prefixed && { prepare: (text: string) => (text.startsWith(" ") ? text : ` ${text}`) }),
    stages: parts.flatMap((part, i) => stagesOf(part, prefixed && i === 0)),
    cuts: parts.every(isLocal) && parts.some(cutsAtSpaces) ? "spaces" : "unknown",
  };
}

/**
 * The next place at which a stretch with cuts at "spaces" may be cut: before a space (or before any whitespace after a letter or digit) that
 * follows something else. Patterns that go on from signs to line breaks are not cut there.
 */
export function nextSpace(text: string, from: number): number {
  let i = from;
  while (i < text.length && isWhitespace(text.charCodeAt(i))) i++;
  for (i++; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (!isWhitespace(unit)) continue;
    const before = text.charCodeAt(i - 1);
    if (isWhitespace(before)) continue;
    if (unit === 32 || isPlainLetter(before)) return i;
  }
  return text.length;
}

const isPlainLetter = (unit: number): boolean => (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90) || (unit >= 48 && unit <= 57);

/** Patterns that are known to be cut by `nextSpace`: no match of theirs goes on from another sign to a space. */
const cutPatterns = new Set([
  patterns.byteWords,
  "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  ...["\\p{L}", "[\\p{L}\\p{M}]"].flatMap((letter) =>
    ["\\p{N}", "\\p{N}{1,3}", "\\p{N}+"].map(
      (number) =>
        `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?${letter}+|${number}| ?[^\\s${letter === "\\p{L}" ? letter : "\\p{L}\\p{M}"}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
    ),
  ),
]);

const hasCutPattern = (part: Part): boolean => cutPatterns.has(String(partOf(part.pattern, "pattern").Regex));

/** Whether what a part does before a cut and after it is the same without the other side. */
const isLocal = (part: Part): boolean => part.type !== "Split" || hasCutPattern(part);

/** Whether a part itself ends a word at every cut. */
function cutsAtSpaces(part: Part): boolean {
  if (part.type === "Split") return hasCutPattern(part);
  if (part.type === "ByteLevel") return flagOf(part, "use_regex", true);
  return part.type !== "Digits" && part.type !== "Punctuation";
}

const isSplitAtSpaces = (part: Part): boolean => part.type === "Split" && partOf(part.pattern, "pattern").String === " ";

const anyWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200c\\u200d";

function stagesOf(part: Part, prefixed: boolean): Stage[] {
  const { type } = part;
  if (type === "ByteLevel") {
    if (flagOf(part, "add_prefix_space") && !prefixed) throw new NotUnderstood("its ByteLevel puts spaces before parts of words");
    const letters: Stage = (word) => [tokenOf(utf8(word))];
    return flagOf(part, "use_regex", true) ? [matches(compiled(patterns.byteWords)), letters] : [letters];
  }
  if (type === "Digits") return [split(flagOf(part, "individual_digits") ? /\p{N}/gu : /\p{N}+/gu, "Isolated", false)];
  if (type === "BertPreTokenizer") return [matches(compiled(patterns.bertWords))];
  if (type === "Whitespace") return [matches(compiled(`[${anyWord}]+|[^\\s${anyWord}]+`))];
  if (type === "WhitespaceSplit") return [matches(/\P{White_Space}+/gu)];
  if (type === "Punctuation") return [split(/[\p{P}!-/:-@[-`{-~]/gu, stringOf(part, "behavior", "Isolated"), false)];
  if (type === "Split") return [split(patternOf(part), stringOf(part, "behavior"), flagOf(part, "invert"))];
  if (type === "Metaspace") {
    const { mark, scheme, splits } = marks(part);
    if (scheme === "first" || !splits) throw new NotUnderstood("its Metaspace comes after another pre-tokenizer");
    return [(word) => atMarks(marked(word, mark, scheme === "always"), mark)];
  }
  throw new NotUnderstood(`its pre_tokenizer ${String(type)} is of no known sort`);
}

function metaspace(part: Part): PreTokenizer {
  const { mark, scheme, splits } = marks(part);
  const prepare = (text: string, first: boolean): string => marked(text, mark, scheme === "always" || (scheme === "first" && first));
  return { prepare, stages: [], cuts: splits ? "marks" : "whole", mark };
}

/** The settings of a Metaspace; older files say `add_prefix_space` in place of a scheme. */
export function marks(part: Part): { mark: string; scheme: string; splits: boolean } {
  const [mark, prefix] = [stringOf(part, "replacement"), flagOf(part, "add_prefix_space", true)];
  const scheme = stringOf(part, "prepend_scheme", prefix ? "always" : "never");
  const fits = ["always", "first", "never"].includes(scheme) && (prefix || scheme === "never");
  if (mark.length !== 1 || !fits) throw new NotUnderstood("its Metaspace is not written as usual");
  return { mark, scheme, splits: flagOf(part, "split", true) };
}

function marked(text: string, mark: string, prepends: boolean): string {
  const replaced = text.replaceAll(" ", mark);
  return prepends && !replaced.startsWith(mark) ? mark + replaced : replaced;
}

function atMarks(text: string, mark: string): string[] {
  const found: string[] = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = text.indexOf(mark, from + 1);
    if (to < 0) to = text.length;
    found.push(text.slice(from, to));
  }
  return found;
}

function patternOf(part: Part): RegExp {
  const pattern = partOf(part.pattern, "pattern");
  if (typeof pattern.String === "string") return new RegExp(pattern.String.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "gu");
  return translated(stringOf(pattern, "Regex"));
}

const matches =
  (regex: RegExp): Stage =>
  (word) =>
    word.match(regex) ?? [];

type Piece = { text: string; match: boolean };

/** What lies between the matches is kept too, except where the behaviour says otherwise. */
function split(regex: RegExp, behaviour: string, invert: boolean): Stage {
  if (behaviour === "Removed" && invert) return matches(regex);
  const join = joins[behaviour];
  if (join === undefined) throw new NotUnderstood(`its Split with the behaviour ${behaviour} is of no known sort`);
  return (word) => {
    const pieces: Piece[] = [];
    let from = 0;
    for (const { 0: text, index } of word.matchAll(regex)) {
      if (index > from) pieces.push({ text: word.slice(from, index), match: invert });
      if (text !== "") pieces.push({ text, match: !invert });
      from = index + text.length;
    }
    if (from < word.length) pieces.push({ text: word.slice(from), match: invert });
    return join(pieces);
  };
}

const joins: Readonly<Record<string, (pieces: readonly Piece[]) => string[]>> = {
  Isolated: (pieces) => pieces.map(({ text }) => text),
  Removed: (pieces) => pieces.flatMap(({ text, match }) => (match ? [] : [text])),
  Contiguous: (pieces) => joined(pieces, ({ match }, before) => match === before.match),
  MergedWithPrevious: (pieces) => joined(pieces, ({ match }, before) => match && !before.match),
  MergedWithNext: (pieces) => joined(pieces, ({ match }, before) => !match && before.match),
};

/** Pieces put together with the one before them, where the rule says so. */
function joined(pieces: readonly Piece[], together: (piece: Piece, before: Piece) => boolean): string[] {
  const found: string[] = [];
  pieces.forEach((piece, i) => {
    if (i > 0 && together(piece, pieces[i - 1])) found[found.length - 1] += piece.text;
    else found.push(piece.text);
  });
  return found;
}
