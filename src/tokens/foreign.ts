import { Tokenizer as Package } from "@huggingface/tokenizers";
import { DataError, FormatError, QkvError } from "../base/errors.ts";
import { amended } from "./amend.ts";
import { bytesOf, readable } from "./bytes.ts";
import { isWhitespace, wellFormed } from "./cut.ts";
import { IdList } from "./id-list.ts";
import { NotUnderstood } from "./not-understood.ts";
import { frameOfText } from "./post-processor.ts";
import { roles } from "./roles.ts";
import type { CheckedFile } from "./schema.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { understoodCoder } from "./understood.ts";

// A tokenizer.json from elsewhere.

/** A foreign regular expression never sees more than this at once. */
const longestPart = 10_000;

/** Read by our own encoder where that knows everything in it, else by the package, which is slow. */
export function foreignTokenizer(file: CheckedFile, where: string): Tokenizer {
  const { json, ids, names } = file;
  let size = 0;
  for (const id of names.keys()) size = Math.max(size, id + 1);
  const frame = frameOfText(json.post_processor, size, where);
  const facts = { kind: "other", size, json, ...roles(json, ids), ...(frame && { frame }) } as const;
  try {
    return tried({ ...facts, ...understoodCoder(file, size, where) });
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
    return tried({ ...facts, slow: error.message, ...packageCoder(file, size, where) });
  }
}

function packageCoder({ json, names }: CheckedFile, size: number, where: string): Pick<Tokenizer, "encode" | "decode" | "piece"> {
  /** What the package throws is the file's fault: it passed our checks and still cannot be used. */
  const guarded = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (error instanceof QkvError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new FormatError(`${where}: this tokenizer cannot be used: ${reason}`, { cause: error });
    }
  };
  const unk_token = json.model.unk_token ?? undefined;
  const inner = guarded(() => new Package(amended(json), { unk_token }));
  const added = new Set(json.added_tokens.map(({ id }) => id));
  const byteLevel = JSON.stringify(json.decoder).includes('"ByteLevel"');
  const prepends = JSON.stringify(json.normalizer).includes('"Prepend"');
  const special = new Set(json.added_tokens.filter((token) => token.special).map(({ id }) => id));
  const encodePart = (text: string, into: IdList): void => {
    const { ids: found, tokens } = inner.encode(text, { add_special_tokens: false });
    found.forEach((id: unknown, i: number) => {
      if (typeof id !== "number" || !names.has(id)) {
        throw new DataError(`${where} has no token for ${JSON.stringify(tokens[i])}, and no unknown token`);
      }
      into.push(id);
    });
  };
  const known = (id: number): number => {
    if (Number.isInteger(id) && id >= 0 && id < size) return id;
    throw new DataError(`the token id ${id} is not in the vocabulary, which goes from 0 to ${size - 1}`);
  };
  return {
    encode: (text) =>
      guarded(() => {
        const found = new IdList(text.length >> 2);
        for (const part of parts(wellFormed(text), prepends)) encodePart(part, found);
        return found.slice();
      }),
    decode: (given) =>
      guarded(() => {
        const shown = Array.from(given, known).filter((id) => names.has(id) && !special.has(id));
        if (shown.length === 0) return "";
        return inner.decode(shown, { skip_special_tokens: true, clean_up_tokenization_spaces: false });
      }),
    piece(id) {
      const token = names.get(known(id)) ?? "";
      const bytes = byteLevel && !added.has(id) ? bytesOf(token) : undefined;
      return bytes ? readable(bytes) : token;
    },
  };
}

/** A file that cannot be used shall fail when it is loaded; one that merely does not know these words may be of use. */
function tried(tokenizer: Tokenizer): Tokenizer {
  try {
    tokenizer.decode(tokenizer.encode("A first text, 1 — é 猫.\n"));
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
  }
  return tokenizer;
}

/**
 * A long text in parts that begin with a single space between words, where files of all usual kinds may be cut. Where a
 * normaliser would prepend another one, that space is left out.
 */
function* parts(text: string, prepends: boolean): Generator<string> {
  let from = 0;
  while (text.length - from > longestPart) {
    let to = from + longestPart;
    while (to > from && !(text[to] === " " && !isWhitespace(text.charCodeAt(to - 1)) && !isWhitespace(text.charCodeAt(to + 1)))) to--;
    if (to === from) {
      to = from + longestPart;
      if (text.charCodeAt(to) >= 0xdc00 && text.charCodeAt(to) < 0xe000) to--; // not inside a character
    }
    yield text.slice(from, to);
    from = prepends && text[to] === " " ? to + 1 : to;
  }
  if (from < text.length) yield text.slice(from);
}
