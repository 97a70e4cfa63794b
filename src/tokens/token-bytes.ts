import { DataError } from "../base/errors.ts";
import { bytesOf, utf8 } from "./bytes.ts";
import { byteOf, cleanedUp } from "./foreign-decoder.ts";
import { foreignNormaliser, replacement } from "./foreign-normaliser.ts";
import { specialsOf } from "./frame.ts";
import { flagOf, NotUnderstood, type Part, partsOf, stringOf } from "./not-understood.ts";
import { marks } from "./pre-tokenizer.ts";
import { type CheckedFile, checkFile } from "./schema.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { tokensById } from "./vocabulary.ts";
import { textAfterText } from "./wordpiece.ts";

// The bytes that a token adds to a text. A decoder may read the very first token of a text in another way: it loses its spaces (Metaspace,
// Strip, the first of words), or keeps its ##. These are the bytes of a token that follows others, which no later token changes.

/** By id; nothing for a token that is never text: special ones, and ids that no token has. */
export type TokenBytes = readonly (Uint8Array | undefined)[];

const kept = new WeakMap<object, TokenBytes>();

/**
 * The bytes of every token where it follows text: half characters as they are, a mark for a space as a space, a word of a tokenizer that
 * puts spaces between words with the space before it. Put in a row they are what `decode` adds to the text of a token before them. Refuses a
 * decoder whose tokens have no bytes of their own.
 */
export function tokenBytes(tokenizer: Pick<Tokenizer, "kind" | "json">): TokenBytes {
  const { json } = tokenizer;
  const known = kept.get(json) ?? (tokenizer.kind === "other" ? ofForeign(json) : ofOwn(tokenizer.kind, json));
  kept.set(json, known);
  return known;
}

function ofOwn(kind: Exclude<Tokenizer["kind"], "other">, json: object): TokenBytes {
  const where = "the tokenizer";
  const tokens = tokensById(checkFile(json, where).json, kind, where);
  const specials = specialsOf(kind).length;
  const added = {
    char: utf8,
    word: (token: string) => utf8(` ${token}`),
    wordpiece: (token: string) => utf8(textAfterText(token)),
    byte: bytesOf,
    bpe: bytesOf,
    unigram: bytesOf,
  }[kind];
  return tokens.map((token, id) => (id < specials ? undefined : added(token)));
}

function ofForeign(json: object): TokenBytes {
  const file = checkFile(json, "the tokenizer");
  const special = new Set(file.json.added_tokens.filter((token) => token.special).map(({ id }) => id));
  const spelt = spelling(file);
  const added = understood(file.json.decoder);
  let size = 0;
  for (const id of file.names.keys()) size = Math.max(size, id + 1);
  return Array.from({ length: size }, (_, id) => {
    const token = spelt.get(id) ?? file.names.get(id);
    return token === undefined || special.has(id) ? undefined : added(token);
  });
}

/** A token that was found in normalised text reads as it was found there; where the package reads, as it is written. */
function spelling({ json }: CheckedFile): ReadonlyMap<number, string> {
  try {
    const normalise = foreignNormaliser(json.normalizer);
    const read = json.added_tokens.filter(({ normalized }) => normalized);
    return new Map(normalise && read.map(({ id, content }) => [id, normalise(content)]));
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
    return new Map();
  }
}

function understood(decoder: object | null): (token: string) => Uint8Array {
  try {
    return ofDecoder(decoder);
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
    throw new DataError(`the tokens of this tokenizer have no bytes of their own: ${error.message}`, { cause: error });
  }
}

/** The steps of `foreign-decoder.ts`, for one token after others. */
function ofDecoder(decoder: object | null): (token: string) => Uint8Array {
  if (decoder === null) return (token) => utf8(` ${token}`);
  const steps: ((token: string) => string)[] = [];
  let [fused, fallback, bytes] = [false, false, false];
  for (const part of partsOf(decoder, "decoders")) {
    if (bytes) throw new NotUnderstood("its decoder changes the text after its bytes were put together");
    if (part.type === "ByteLevel") bytes = true;
    else if (part.type === "Fuse") fused = true;
    else if (part.type === "Strip" && fused && Number(part.stop) === 0) {
      // The text is one by then, and only its beginning loses something.
    } else if (fused) throw new NotUnderstood(`its decoder's ${String(part.type)} changes text across tokens`);
    else if (part.type === "ByteFallback") fallback = true;
    else if (fallback) throw new NotUnderstood(`its decoder's ${String(part.type)} changes bytes in a row`);
    else steps.push(stepOf(part));
  }
  return (token) => {
    const text = steps.reduce((read, step) => step(read), token);
    const byte = fallback ? byteOf(text) : undefined;
    return byte === undefined ? ((bytes ? bytesOf(text) : undefined) ?? utf8(text)) : Uint8Array.of(byte);
  };
}

function stepOf(part: Part): (token: string) => string {
  if (part.type === "Replace") return replacement(part);
  if (part.type === "Metaspace") {
    const { mark } = marks(part);
    return (token) => token.replaceAll(mark, " ");
  }
  if (part.type === "WordPiece") {
    const [prefix, cleanup] = [stringOf(part, "prefix"), flagOf(part, "cleanup")];
    return (token) => {
      const joined = token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`;
      return cleanup ? cleanedUp(joined) : joined;
    };
  }
  throw new NotUnderstood(`its decoder ${String(part.type)} is of no known sort`);
}
