import { DataError } from "../base/errors.ts";
import { countUnknown, cut, encodeSource } from "../batches/encode.ts";
import type { WeightFile } from "../disk/weight-file.ts";
import { unwritten } from "../generation/prompt.ts";
import { type TranslateOptions, Translator } from "../generation/translator.ts";
import type { OpenRun } from "../runs/folder.ts";
import { baked, type Precision, unrounded } from "../trained/baked.ts";
import { chunks, type PredictOptions, type Texts } from "./predict.ts";
import { requireTask } from "./task.ts";
import { cutTexts, unknownTokens } from "./warnings.ts";

export interface Translation {
  readonly source: string;
  readonly target: string;
  /** Natural logarithm, of the whole target with its end. */
  readonly logProbability: number;
}

const atOnce = 256;

/** Targets for texts, any number of them, a chunk at a time and in order. */
export async function* translateTexts(
  run: OpenRun,
  weights: WeightFile,
  texts: Texts,
  options: PredictOptions & TranslateOptions & { readonly precision?: Precision } = {},
): AsyncGenerator<Translation> {
  requireTask(run, "translate");
  const { tokenizer, config } = run;
  const { threads, unit = "text", warn = () => {}, precision } = options;
  for (const sentence of unrounded(config.model, precision)) warn(sentence);
  const { start = 0, end = 0 } = tokenizer;
  const translator = new Translator(config.model, { start, end, forbidden: unwritten(tokenizer), threads, ...baked(weights, precision) });
  let [all, shortened, unknown] = [0, 0, 0];
  try {
    for await (const chunk of chunks(texts, atOnce)) {
      const whole = chunk.map((text, i) => {
        if (tokenizer.encode(text).length === 0)
          throw new DataError(`${unit} ${all + i + 1}: there is nothing in it to translate; leave it out`);
        return { source: encodeSource(text, tokenizer) };
      });
      const { examples, count } = cut(whole, config.model.context);
      [all, shortened, unknown] = [all + chunk.length, shortened + count, unknown + countUnknown(whole, tokenizer)];
      const found = await translator.translate(
        examples.map(({ source }) => source),
        options,
      );
      for (const [i, { tokens, logProbability }] of found.entries())
        yield { source: chunk[i], target: tokenizer.decode(tokens), logProbability };
    }
  } finally {
    await translator.release();
  }
  for (const sentence of [...cutTexts(shortened, all, `${unit}s`, config.model.context), ...unknownTokens(unknown)]) warn(sentence);
}
