import { ConfigError, FormatError } from "../base/errors.ts";
import { bytesOf, readable, textOf } from "./bytes.ts";
import { specialsOf, type TokenizerJson } from "./frame.ts";
import type { Coder } from "./own.ts";
import type { TokenizerKind } from "./tokenizer.ts";

/** Tokens in the order of their ids to the object that tokenizer.json has. `__proto__` is a token like any other. */
export const vocabObject = (tokens: readonly string[]): object => Object.fromEntries(tokens.map((token, id) => [token, id]));

/** The tokens of a file of our own by id, beginning with the special ones, without gaps. */
export function tokensById(json: TokenizerJson, kind: TokenizerKind, where: string): string[] {
  const { vocab } = json.model as { vocab: Record<string, number> | (readonly [string, number])[] };
  const entries = Array.isArray(vocab) ? vocab.map(([token], id) => [token, id] as const) : Object.entries(vocab);
  const tokens = new Array<string>(entries.length);
  for (const [token, id] of entries) {
    if (id >= entries.length)
      throw new FormatError(`${where}: the ids of model.vocab leave a gap: ${entries.length} tokens reach to ${id}`);
    tokens[id] = token;
  }
  specialsOf(kind).forEach((special, id) => {
    if (tokens[id] !== special) throw new FormatError(`${where}: model.vocab has ${JSON.stringify(tokens[id])} in place of ${special}`);
  });
  return tokens;
}

/** The bytes of every token after the special ones; all 256 single bytes must be there. */
export function byteTokens(tokens: readonly string[], kind: TokenizerKind, where: string): Uint8Array[] {
  const specials = specialsOf(kind).length;
  const bytes = tokens.map((token, id) => {
    const own = id < specials ? new Uint8Array(0) : bytesOf(token);
    if (own) return own;
    throw new FormatError(`${where}: the token ${JSON.stringify(token)} has letters that stand for no byte`);
  });
  const single = new Set(bytes.flatMap((part) => (part.length === 1 ? [part[0]] : [])));
  if (single.size < 256) throw new FormatError(`${where}: only ${single.size} of the 256 single bytes are in model.vocab`);
  return bytes;
}

/** Decoding and naming for the kinds whose tokens are bytes. */
export const byteDecoder = (bytes: readonly Uint8Array[]): Pick<Coder, "decode" | "piece"> => ({
  decode: (ids) => textOf(ids.map((id) => bytes[id])),
  piece: (id) => readable(bytes[id]),
});

const most = 1_000_000;

/** How large the vocabulary shall be: what was asked for, if it can be, or the default, or as much as is needed. */
export function vocabSize(asked: number | undefined, usual: number, least: number, kind: TokenizerKind, needs: string): number {
  const wanted = asked ?? Math.max(usual, least);
  if (Number.isInteger(wanted) && wanted >= least && wanted <= most) return wanted;
  const limits = wanted > least ? `at most ${most} and whole` : `at least ${least}: ${needs}`;
  throw new ConfigError(`${wanted} does not fit; a ${kind} vocabulary is ${limits}`, { code: "config.range", at: "vocab" });
}
