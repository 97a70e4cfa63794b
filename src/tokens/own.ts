import { DataError } from "../base/errors.ts";
import { nextCut, ownCopy, wellFormed } from "./cut.ts";
import { specialsOf, type TokenizerJson } from "./frame.ts";
import { IdList } from "./id-list.ts";
import { normalisationOf, normalised } from "./normaliser.ts";
import type { Tokenizer, TokenizerKind } from "./tokenizer.ts";

/** What makes one kind different from another. It never sees a special token. */
export interface Coder {
  encode(text: string, into: IdList): void;
  decode(ids: readonly number[]): string;
  piece(id: number): string;
}

/** A tokenizer of a kind that is trained here: its special tokens have the first ids. */
export function ownTokenizer(kind: TokenizerKind, json: TokenizerJson, size: number, coder: Coder): Tokenizer {
  const specials = specialsOf(kind);
  const special = new RegExp(specials.join("|"), "g"); // their letters mean nothing else in a regular expression
  const known = (id: number): number => {
    if (Number.isInteger(id) && id >= 0 && id < size) return id;
    throw new DataError(`the token id ${id} is not in the vocabulary, which goes from 0 to ${size - 1}`);
  };
  const reading = normalisationOf(json.normalizer) ?? {};
  const changes = json.normalizer !== null;
  const put = (text: string, ids: IdList): void => coder.encode(changes ? normalised(text, reading) : text, ids);
  return {
    kind,
    size,
    json,
    ...(changes && { normalised: (text: string) => normalised(text, reading) }),
    ...(specials.length === 3 ? { unknown: 0, start: 1, end: 2 } : { start: 0, end: 1 }),
    encode(text) {
      const whole = wellFormed(text);
      const ids = new IdList(kind === "char" || kind === "byte" ? whole.length : whole.length >> 2);
      let from = 0;
      for (const match of whole.matchAll(special)) {
        if (match.index > from) put(whole.slice(from, match.index), ids);
        ids.push(specials.indexOf(match[0]));
        from = match.index + match[0].length;
      }
      if (from < whole.length) put(whole.slice(from), ids);
      return ids.slice();
    },
    decode: (ids) => coder.decode(Array.from(ids, known).filter((id) => id >= specials.length)),
    piece: (id) => (known(id) < specials.length ? specials[id] : coder.piece(id)),
  };
}

const longestKept = 64;
const mostKept = 100_000;

/** Cuts a text where every kind may be cut and remembers the ids of short pieces: a repeated word costs one look-up. */
export function inPieces(encodePiece: (piece: string, into: IdList) => void): Coder["encode"] {
  const kept = new Map<string, Int32Array>();
  return (text, into) => {
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = nextCut(text, from);
      const piece = text.slice(from, to);
      if (piece.length > longestKept) {
        encodePiece(piece, into);
        continue;
      }
      const ids = kept.get(piece);
      if (ids) {
        into.append(ids);
        continue;
      }
      const start = into.length;
      encodePiece(piece, into);
      if (kept.size >= mostKept) kept.clear();
      kept.set(ownCopy(piece), into.slice(start));
    }
  };
}
