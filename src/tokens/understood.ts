import { DataError } from "../base/errors.ts";
import { AddedTokens } from "./added-tokens.ts";
import { bytesOf, readable } from "./bytes.ts";
import { ownCopy, wellFormed } from "./cut.ts";
import { byteOf, foreignDecoder } from "./foreign-decoder.ts";
import { foreignNormaliser } from "./foreign-normaliser.ts";
import { IdList } from "./id-list.ts";
import { partOf, partsOf } from "./not-understood.ts";
import { nextSpace, type PreTokenizer, preTokenizer } from "./pre-tokenizer.ts";
import type { CheckedFile } from "./schema.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { type WordModel, wordModel } from "./word-models.ts";

type Coder = Pick<Tokenizer, "encode" | "decode" | "piece">;

/** A file from elsewhere, read by ourselves. Throws `NotUnderstood` where it has something that we do not know. */
export function understoodCoder(file: CheckedFile, size: number, where: string): Coder {
  const { json, names } = file;
  const normalise = foreignNormaliser(json.normalizer);
  const raw = json.added_tokens.filter(({ normalized }) => !normalized);
  const read = json.added_tokens.filter(({ normalized }) => normalized);
  const inText = new AddedTokens(raw, (content) => content);
  const inRead = new AddedTokens(read, normalise ?? ((content) => content));
  const encodeStretch = stretchEncoder(preTokenizer(json.pre_tokenizer, leavesNoSpace(json.normalizer)), wordModel(file, where));
  const decodeTokens = foreignDecoder(json.decoder);
  // A token that was found in normalised text reads as it was found there.
  const spelt = new Map(normalise && read.map(({ id, content }) => [id, normalise(content)]));
  const special = new Set(json.added_tokens.filter((token) => token.special).map(({ id }) => id));
  const name = pieceNames(file);
  const known = (id: number): number => {
    if (Number.isInteger(id) && id >= 0 && id < size) return id;
    throw new DataError(`the token id ${id} is not in the vocabulary, which goes from 0 to ${size - 1}`);
  };
  return {
    encode(text) {
      const whole = wellFormed(text);
      const ids = new IdList(whole.length >> 2);
      const push = (id: number): void => ids.push(id);
      inText.walk(
        whole,
        (stretch, from) => {
          const changed = normalise ? normalise(stretch) : stretch;
          inRead.walk(changed, (part, at) => encodeStretch(part, from === 0 && at === 0, ids), push);
        },
        push,
      );
      return ids.slice();
    },
    decode: (ids) => {
      const tokens: string[] = [];
      for (const id of ids) {
        const token = spelt.get(id) ?? names.get(known(id));
        if (token !== undefined && !special.has(id)) tokens.push(token);
      }
      return decodeTokens(tokens);
    },
    piece: (id) => name(known(id)),
  };
}

/** Whether a normaliser puts a mark in the place of every space. */
function leavesNoSpace(normalizer: object | null): boolean {
  const last = partsOf(normalizer, "normalizers").at(-1);
  return last?.type === "Replace" && partOf(last.pattern, "pattern").String === " " && !String(last.content).includes(" ");
}

const longestKept = 64;
const mostKept = 100_000;

type Encode = (text: string, into: IdList) => void;

/** Remembers the ids of short texts: a repeated one costs one look-up. */
function remembered(encode: Encode): Encode {
  const kept = new Map<string, Int32Array>();
  return (text, into) => {
    if (text.length > longestKept) return encode(text, into);
    const ids = kept.get(text);
    if (ids) return into.append(ids);
    const start = into.length;
    encode(text, into);
    if (kept.size >= mostKept) kept.clear();
    kept.set(ownCopy(text), into.slice(start));
  };
}

/** A stretch of text without added tokens to ids: prepared, cut where it may be cut, into words, and each by the model. */
function stretchEncoder({ prepare, stages, cuts, mark }: PreTokenizer, model: WordModel) {
  const encodeWord: Encode = (word, into) => model.encode(word, into);
  const remember = remembered(encodeWord);
  const words = (text: string): readonly string[] => stages.reduce<readonly string[]>((parts, stage) => parts.flatMap(stage), [text]);
  const piecewise = (next: (text: string, from: number) => number, encode: Encode): Encode => {
    return (text, into) => {
      for (let from = 0, to = 0; from < text.length; from = to) {
        to = next(text, from);
        encode(text.slice(from, to), into);
      }
    };
  };
  const nextMark = (text: string, from: number): number => {
    const at = text.indexOf(mark ?? "", from + 1);
    return at < 0 ? text.length : at;
  };
  const eachWord =
    (encode: Encode): Encode =>
    (text, into) => {
      for (const word of words(text)) encode(word, into);
    };
  const encode = {
    spaces: () => piecewise(nextSpace, remembered(eachWord(encodeWord))),
    marks: () => piecewise(nextMark, remember),
    whole: () => piecewise(model.nextCut ?? ((text) => text.length), remember),
    unknown: () => eachWord(remember),
  }[cuts]();
  return (text: string, first: boolean, into: IdList): void => encode(prepare ? prepare(text, first) : text, into);
}

/** How a token is shown to a person: bytes as text where they are text, marks as the spaces that they stand for. */
function pieceNames({ json, names }: CheckedFile): (id: number) => string {
  const decoder = JSON.stringify(json.decoder);
  const [byteLevel, marked] = [decoder.includes('"ByteLevel"'), decoder.includes('"▁"')];
  const added = new Set(json.added_tokens.map(({ id }) => id));
  return (id) => {
    const token = names.get(id) ?? "";
    if (added.has(id)) return token;
    const bytes = byteLevel ? bytesOf(token) : undefined;
    if (bytes) return readable(bytes);
    const byte = byteOf(token);
    if (byte !== undefined) return readable(Uint8Array.of(byte));
    return marked ? token.replaceAll("▁", " ") : token;
  };
}
