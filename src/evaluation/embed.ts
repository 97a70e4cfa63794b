import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { ignored } from "../batches/batch.ts";
import { type LabelledIds, labelledLayout } from "../batches/examples.ts";
import { described } from "../models/any.ts";
import { type DecoderConfig, type EncoderConfig, encoderConfig, type pools, usualScores } from "../models/config.ts";
import { keepsPast } from "../models/continuation.ts";
import { decoderName, lookingBack } from "../models/looking-back.ts";
import { around } from "../tokens/around.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { requireFinite } from "./labels.ts";
import { type PredictOptions, predict, type Reading, type Texts } from "./predict.ts";

// Texts as vectors: texts of like meaning are near each other, if the model learned that.

export interface Embedding {
  readonly text: string;
  readonly vector: Float32Array;
}

export interface EmbedOptions extends PredictOptions {
  /** How the states of a text become one vector; as the model says if left out, and the mean where it says nothing. */
  readonly pool?: (typeof pools)[number];
  /** Whether vectors have length 1; as the model says if left out. */
  readonly normalise?: boolean;
}

/** The vector of each text, from an encoder of any task: its states, without its head. Of a decoder, its last state, where that is asked for. */
export async function* embedTexts(trained: TrainedModel, texts: Texts, options: EmbedOptions = {}): AsyncGenerator<Embedding> {
  const model = embedderOf(trained, options);
  const { pool, normalise } = model;
  const named = trained.model.model === "decoder" ? decoderName : undefined;
  const scoring = { key: `vectors ${pool} ${normalise}`, model, rowsAtOnce: named ? 4 : 32, ...(named && { named }) };
  const reading: Reading<LabelledIds, Embedding> = {
    layout: labelledLayout,
    scoring,
    encode: (text) => ({ ids: around(trained.tokenizer.encode(text), trained.tokenizer), label: ignored }),
    answer: (text, _, vector) => ({ text, vector: requireFinite(vector).slice() }),
  };
  yield* predict(trained, texts, options, reading);
}

/** The same encoder with a vector for its answer. */
function embedderOf({ model, name }: TrainedModel, { pool, normalise }: EmbedOptions): EncoderConfig {
  if (model.model === "decoder" && keepsPast(model) && pool === "last") return lastStateOf(model, normalise);
  if (model.model !== "encoder") {
    const last = model.model === "decoder" ? sentence`; what its last token knows is there for ${setting("pool", "last")}` : "";
    throw new ConfigError(sentence`${name} is ${described(model)}; vectors of texts come from an encoder, such as BERT or MiniLM${last}`, {
      code: "config.task",
    });
  }
  if (pool === "class" && model.pool !== "class")
    throw new ConfigError(
      sentence`${name} was not trained with a token of its own in front of texts; what BERT's [CLS] knows is ${setting("pool", "first")}`,
      { code: "config.conflict", path: "pool" },
    );
  const own =
    model.task === "embed" ? model : { ...model, ...usualScores, pool: model.pool === "class" ? ("class" as const) : ("mean" as const) };
  return encoderConfig({
    ...own,
    ...(model.task !== "embed" && { task: "embed", labels: 0, labelling: "one", pooler: "none" }),
    ...(pool !== undefined && { pool }),
    ...(normalise !== undefined && { normalise }),
  });
}

/** A decoder was not trained to gather a text, so this is only given to whoever asks for it by name. */
function lastStateOf(model: DecoderConfig, normalise = true): EncoderConfig {
  return encoderConfig({ ...lookingBack(model, { task: "embed", labels: 0 }), normalise });
}
