import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { Turns } from "../base/turns.ts";
import { learnBpe } from "./bpe.ts";
import { byteJson } from "./byte.ts";
import { learnChar } from "./char.ts";
import type { Texts } from "./count.ts";
import { wellFormed } from "./cut.ts";
import type { TokenizerJson } from "./frame.ts";
import { loadTokenizer } from "./load.ts";
import { type Normalisation, normalised, normalizerJson } from "./normaliser.ts";
import { type Tokenizer, type TokenizerKind, tokenizerKinds } from "./tokenizer.ts";
import { learnUnigram } from "./unigram.ts";
import { learnWord } from "./word.ts";
import { learnWordpiece } from "./wordpiece.ts";

export interface TrainTokenizerOptions extends Normalisation {
  /** The size of the vocabulary, special tokens included. Fewer if the text has no more to give. */
  readonly vocab?: number;
  /** Aborted, it leaves off, and the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal;
}

const learners: Record<TokenizerKind, (texts: Texts, vocab?: number, turns?: Turns) => Promise<TokenizerJson>> = {
  char: learnChar,
  byte: async (_, vocab) => {
    if (vocab !== undefined)
      throw new ConfigError(`a byte vocabulary is always 258: 256 bytes and two special tokens, not ${vocab}`, {
        code: "config.range",
        at: "vocab",
      });
    return byteJson();
  },
  word: learnWord,
  bpe: learnBpe,
  wordpiece: learnWordpiece,
  unigram: learnUnigram,
};

/**
 * Learns a vocabulary. The texts are read once, one at a time, and no token reaches over the end of one; a long text that
 * is cut at `lastCut` gives the same vocabulary as in one piece.
 */
export async function trainTokenizer(kind: TokenizerKind, texts: Texts, options: TrainTokenizerOptions = {}): Promise<Tokenizer> {
  if (!Object.hasOwn(learners, kind))
    throw new ConfigError(`${kind} is not a kind of tokenizer${suggest(kind, tokenizerKinds)}`, {
      code: "config.unknown-name",
      at: "tokenizer",
    });
  const normalizer = normalizerJson(options);
  const json = await learners[kind](normalizer === null ? texts : read(texts, options), options.vocab, new Turns(options.signal));
  return loadTokenizer({ ...json, normalizer }, `the new ${kind} tokenizer`);
}

/** Texts as they will be read. */
async function* read(texts: Texts, options: Normalisation): AsyncGenerator<string> {
  for await (const text of texts) yield normalised(wellFormed(text), options);
}
