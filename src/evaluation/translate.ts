import { DataError } from "../base/errors.ts";
import { countUnknown, cut, encodeSource } from "../batches/encode.ts";
import { type TranslateOptions, translateIds } from "../generation/translator.ts";
import { warnUnrounded } from "../trained/baked.ts";
import { cutSentence, teller, unknownSentence } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { chunks, type PredictOptions, type Texts } from "./predict.ts";

export interface Translation {
  readonly source: string;
  readonly target: string;
  /** Natural logarithm, of the whole target with its end. */
  readonly logProbability: number;
}

const atOnce = 256;

/** Targets for texts, any number of them, a chunk at a time and in order. */
export async function* translateTexts(
  trained: TrainedModel,
  texts: Texts,
  options: PredictOptions & TranslateOptions = {},
): AsyncGenerator<Translation> {
  trained.require("translate");
  const { tokenizer, model } = trained;
  const { unit = "text", signal } = options;
  const warn = teller(options, trained);
  signal?.throwIfAborted();
  warnUnrounded(trained, warn);
  let [all, shortened, unknown] = [0, 0, 0];
  for await (const chunk of chunks(texts, atOnce)) {
    const whole = chunk.map((text, i) => {
      if (tokenizer.encode(text).length === 0)
        throw new DataError(`${unit} ${all + i + 1}: there is nothing in it to translate; leave it out`);
      return { source: encodeSource(text, tokenizer) };
    });
    const { examples, count } = cut(whole, model.context, tokenizer);
    [all, shortened, unknown] = [all + chunk.length, shortened + count, unknown + countUnknown(whole, tokenizer)];
    const sources = examples.map(({ source }) => source);
    for (const [i, { tokens, logProbability }] of (await translateIds(trained, sources, options)).entries())
      yield { source: chunk[i], target: tokenizer.decode(tokens), logProbability };
  }
  for (const sentence of [...cutSentence(shortened, all, `${unit}s`, model.context), ...unknownSentence(unknown)]) warn(sentence);
}
