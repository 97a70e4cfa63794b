import { DataError } from "../base/errors.ts";
import { utf8 } from "./bytes.ts";
import type { IdList } from "./id-list.ts";
import { Merger } from "./merger.ts";
import { modelType } from "./model-check.ts";
import { flagOf, NotUnderstood, type Part } from "./not-understood.ts";
import type { CheckedFile } from "./schema.ts";
import { UnitTrie } from "./unit-trie.ts";

// A word to ids, for the models of files from elsewhere, as the `tokenizers` package does it.

export interface WordModel {
  encode(word: string, into: IdList): void;
  /** Where a word with marks for spaces may be cut without a change of its ids, if anywhere but at its end. */
  nextCut?(text: string, from: number): number;
}

export function wordModel(file: CheckedFile, where: string): WordModel {
  const type = modelType(file.json.model, where);
  return { BPE: bpeModel, Unigram: unigramModel, WordPiece: wordpieceModel, WordLevel: wordLevelModel }[type](file, where);
}

const missing = (where: string, text: string): DataError =>
  new DataError(`${where} has no token for ${JSON.stringify(text.slice(0, 40))}, and no unknown token`);

/** The ids of the 256 tokens that stand for single bytes, -1 for one that is missing. */
const byteIds = (ids: ReadonlyMap<string, number>): Int32Array =>
  Int32Array.from({ length: 256 }, (_, byte) => ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`) ?? -1);

/** The id of the token for what is unknown, -1 if there is none. */
function unknownOf({ unk_token }: Part, ids: ReadonlyMap<string, number>): number {
  if (typeof unk_token !== "string" || unk_token === "") return -1;
  const id = ids.get(unk_token);
  if (id === undefined) throw new NotUnderstood("its unknown token is not in its vocabulary");
  return id;
}

const mark = "▁";

function bpeModel({ json: { model }, ids, merges }: CheckedFile): WordModel {
  const { dropout, continuing_subword_prefix: prefix, end_of_word_suffix: suffix } = model;
  if (dropout) throw new NotUnderstood("its BPE drops merges at random");
  if (prefix || suffix) throw new NotUnderstood("its BPE marks the beginnings or ends of words");
  const [fuses, falls, whole] = ["fuse_unk", "byte_fallback", "ignore_merges"].map((key) => flagOf(model, key, false));
  const merger = new Merger(merges);
  const bytes = falls ? byteIds(ids) : undefined;
  const unknown = unknownOf(model, ids);
  const single = new Int32Array(0x10000).fill(-1);
  for (const [token, id] of ids) if (token.length === 1) single[token.charCodeAt(0)] = id;
  let symbols = new Int32Array(64);
  const encode = (word: string, into: IdList): void => {
    const known = whole ? ids.get(word) : undefined;
    if (known !== undefined) {
      into.push(known);
      return;
    }
    if (symbols.length < 3 * word.length + 1) symbols = new Int32Array(6 * word.length + 1);
    let length = 0;
    let pending = false; // an unknown character waits for others that may join it, even beyond bytes
    for (let i = 0; i < word.length; i++) {
      const unit = word.charCodeAt(i);
      let id = single[unit];
      let character = "";
      if (id < 0) {
        character = String.fromCodePoint(word.codePointAt(i) ?? unit);
        if (character.length > 1) {
          i++;
          id = ids.get(character) ?? -1;
        }
      }
      if (id >= 0) {
        if (pending) symbols[length++] = unknown;
        pending = false;
        symbols[length++] = id;
        continue;
      }
      const parts = bytes ? utf8(character) : undefined;
      if (parts?.every((byte) => (bytes as Int32Array)[byte] >= 0)) {
        for (const byte of parts) symbols[length++] = (bytes as Int32Array)[byte];
        continue;
      }
      if (unknown < 0) continue; // as the package does it: files of byte-level BPE may lack bytes that no text has
      if (pending && !fuses) symbols[length++] = unknown;
      pending = true;
    }
    if (pending) symbols[length++] = unknown;
    merger.encode(symbols, length, into);
  };
  const glue = single[mark.charCodeAt(0)] < 0 ? undefined : unitsBeforeMarks(ids, merges, bytes, unknown);
  return glue ? { encode, nextCut: (text, from) => nextMark(text, from, glue) } : { encode };
}

/**
 * The units that some merge joins with a mark after them; between any other unit and a mark a text may be cut, because nothing is ever
 * merged across. Nothing is known where bytes or the unknown token take part in merges.
 */
function unitsBeforeMarks(
  ids: ReadonlyMap<string, number>,
  merges: Int32Array,
  bytes: Int32Array | undefined,
  unknown: number,
): Set<number> | undefined {
  const outside = new Set([unknown, ...(bytes ?? [])]);
  const made = new Set<number>();
  for (let i = 0; i < merges.length; i += 3) {
    if (outside.has(merges[i]) || outside.has(merges[i + 1])) return undefined;
    made.add(merges[i + 2]);
  }
  const found = new Set<number>();
  for (const [token, id] of ids) {
    for (let at = token.indexOf(mark, 1); at > 0; at = token.indexOf(mark, at + 1)) if (made.has(id)) found.add(token.charCodeAt(at - 1));
  }
  return found;
}

function nextMark(text: string, from: number, glue: ReadonlySet<number>): number {
  for (let at = text.indexOf(mark, from + 1); at > 0; at = text.indexOf(mark, at + 1)) if (!glue.has(text.charCodeAt(at - 1))) return at;
  return text.length;
}

/** How much less likely than the least likely piece an unknown character is. */
const unknownPenalty = 10;

function unigramModel({ json: { model }, ids }: CheckedFile, where: string): WordModel {
  const vocab = model.vocab as readonly (readonly [string, number])[];
  const unknown = typeof model.unk_id === "number" ? model.unk_id : -1;
  const bytes = flagOf(model, "byte_fallback", false) ? byteIds(ids) : undefined;
  const scores = new Float64Array(vocab.length);
  const trie = new UnitTrie(vocab.length);
  let least = Number.POSITIVE_INFINITY;
  vocab.forEach(([token, score], id) => {
    trie.set(token, id);
    scores[id] = score;
    least = Math.min(least, score);
  });
  const unknownScore = least - unknownPenalty;
  let [totals, starts, pieces] = [new Float64Array(128), new Int32Array(128), new Int32Array(128)];
  const found: [id: number, from: number, to: number][] = [];

  /** The best way to cut a word by the sum of scores (Viterbi); among equals the one whose last piece begins first. */
  const search = (word: string): void => {
    const { length } = word;
    if (totals.length <= length)
      [totals, starts, pieces] = [new Float64Array(2 * length), new Int32Array(2 * length), new Int32Array(2 * length)];
    starts.fill(-1, 0, length + 1);
    const offer = (from: number, to: number, total: number, piece: number): void => {
      if (starts[to] >= 0 && total <= totals[to]) return;
      totals[to] = total;
      starts[to] = from;
      pieces[to] = piece;
    };
    totals[0] = 0;
    for (let from = 0; from < length; ) {
      const wide = isHigh(word.charCodeAt(from)) && from + 1 < length ? 2 : 1;
      let alone = false;
      for (let to = from, node = 0; to < length; ) {
        node = trie.step(node, word.charCodeAt(to++));
        if (node < 0) break;
        const piece = trie.value(node);
        if (piece < 0) continue;
        offer(from, to, totals[from] + scores[piece], piece);
        if (to - from === wide) alone = true;
      }
      if (!alone) offer(from, from + wide, totals[from] + unknownScore, unknown);
      from += wide;
    }
  };
  return {
    encode(word, into) {
      search(word);
      found.length = 0;
      for (let to = word.length; to > 0; to = starts[to]) found.push([pieces[to], starts[to], to]);
      for (let i = found.length - 1; i >= 0; i--) {
        let [id, from, to] = found[i];
        if (id !== unknown) {
          into.push(id);
          continue;
        }
        while (i > 0 && found[i - 1][0] === unknown) to = found[--i][2]; // unknown characters side by side are one
        const text = word.slice(from, to);
        const parts = bytes && !ids.has(text) ? utf8(text) : undefined;
        if (bytes && parts?.every((byte) => bytes[byte] >= 0)) {
          for (const byte of parts) into.push(bytes[byte]);
          continue;
        }
        id = ids.get(text) ?? unknown;
        if (id < 0) throw missing(where, text);
        into.push(id);
      }
    },
  };
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;

function wordpieceModel({ json: { model }, ids }: CheckedFile, where: string): WordModel {
  const { continuing_subword_prefix: prefix = "##", max_input_chars_per_word: most = 100 } = model;
  if (typeof prefix !== "string" || typeof most !== "number") throw new NotUnderstood("its WordPiece is not written as usual");
  const unknown = unknownOf({ unk_token: model.unk_token ?? "[UNK]" }, ids);
  const continuing = new Map<string, number>();
  let longest = 0;
  for (const [token, id] of ids) {
    if (prefix === "" || token.startsWith(prefix)) continuing.set(token.slice(prefix.length), id);
    longest = Math.max(longest, token.length);
  }
  /** The longest known piece from the left, again and again; one that is missing makes the whole word unknown. */
  const encode = (word: string, into: IdList): void => {
    const found: number[] = [];
    const tooLong = word.length > most && (word.length > 2 * most || Array.from(word).length > most);
    for (let from = tooLong ? -1 : 0; from < word.length; ) {
      const known = from > 0 ? continuing : ids;
      let to = Math.min(word.length, from + longest) + 1;
      let id: number | undefined;
      while (from >= 0 && id === undefined && --to > from) id = known.get(word.slice(from, to));
      if (id === undefined) {
        if (unknown < 0) throw missing(where, word);
        into.push(unknown);
        return;
      }
      found.push(id);
      from = to;
    }
    for (const id of found) into.push(id);
  };
  return { encode };
}

function wordLevelModel({ json: { model }, ids }: CheckedFile, where: string): WordModel {
  const unknown = unknownOf(model, ids);
  return {
    encode(word, into) {
      const id = ids.get(word) ?? unknown;
      if (id < 0) throw missing(where, word);
      into.push(id);
    },
  };
}
