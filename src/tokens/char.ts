import { DataError, FormatError } from "../base/errors.ts";
import type { Turns } from "../base/turns.ts";
import { countCharacters, frequentFirst, type Texts } from "./count.ts";
import { framed, specialsOf, type TokenizerJson } from "./frame.ts";
import { ownTokenizer } from "./own.ts";
import type { CheckedFile } from "./schema.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { tokensById, vocabObject, vocabSize } from "./vocabulary.ts";

// One token for each code point: a BPE model that knows no merge.

export async function learnChar(texts: Texts, vocab?: number, turns?: Turns): Promise<TokenizerJson> {
  const counts = await countCharacters(texts, turns);
  if (counts.length === 0) throw new DataError("there is no text to take the characters of a vocabulary from");
  const specials = specialsOf("char");
  const size = vocabSize(vocab, 0, specials.length + 1, "char", "three special tokens and a character");
  const room = (vocab === undefined ? counts.length + specials.length : size) - specials.length;
  const kept = new Set(frequentFirst(counts).slice(0, room));
  const characters = counts.filter((entry) => kept.has(entry)).map(([character]) => character);
  return framed("char", { vocab: vocabObject([...specials, ...characters]), merges: [] });
}

export function readChar({ json }: CheckedFile, where: string): Tokenizer {
  const tokens = tokensById(json, "char", where);
  const ids = new Int32Array(0x110000); // 0 is <unk>
  for (let id = specialsOf("char").length; id < tokens.length; id++) {
    const code = tokens[id].codePointAt(0) ?? 0;
    if (String.fromCodePoint(code) !== tokens[id]) {
      throw new FormatError(`${where}: the token ${JSON.stringify(tokens[id])} is not one character, as all are without merges`);
    }
    ids[code] = id;
  }
  return ownTokenizer("char", json, tokens.length, {
    encode(text, into) {
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        if (unit < 0xd800 || unit > 0xdbff) into.push(ids[unit]);
        else into.push(ids[text.codePointAt(i++) ?? 0]);
      }
    },
    decode: (given) => given.map((id) => tokens[id]).join(""),
    piece: (id) => tokens[id],
  });
}
