import { FormatError } from "../base/errors.ts";
import { readBpe } from "./bpe.ts";
import { readByte } from "./byte.ts";
import { readChar } from "./char.ts";
import { foreignTokenizer } from "./foreign.ts";
import { kindOf } from "./frame.ts";
import { type CheckedFile, checkFile } from "./schema.ts";
import type { Tokenizer, TokenizerKind } from "./tokenizer.ts";
import { readUnigram } from "./unigram.ts";
import { readWord } from "./word.ts";
import { readWordpiece } from "./wordpiece.ts";

const readers: Record<TokenizerKind, (file: CheckedFile, where: string) => Tokenizer> = {
  char: readChar,
  byte: readByte,
  word: readWord,
  bpe: readBpe,
  wordpiece: readWordpiece,
  unigram: readUnigram,
};

/** A tokenizer from the parsed content of a tokenizer.json, of our own or from elsewhere. `where` names it in errors. */
export function loadTokenizer(json: unknown, where: string): Tokenizer {
  const checked = checkFile(json, where);
  const kind = kindOf(checked.json);
  return kind ? readers[kind](checked, where) : foreignTokenizer(checked, where);
}

const longest = 100_000_000;

/** A tokenizer from the text of a tokenizer.json. */
export function parseTokenizer(text: string, where: string): Tokenizer {
  if (text.length > longest) {
    throw new FormatError(`${where}: ${text.length} characters are too long for a tokenizer.json; the most is ${longest}`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  } catch (error) {
    throw new FormatError(`${where} is not JSON: ${(error as SyntaxError).message}`, { cause: error });
  }
  return loadTokenizer(json, where);
}

/** The text of a tokenizer.json, for `tokenizers`, `@huggingface/tokenizers` and `parseTokenizer` alike. */
export const saveTokenizer = (tokenizer: Tokenizer): string => JSON.stringify(tokenizer.json);
