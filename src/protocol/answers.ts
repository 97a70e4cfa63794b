import { ConfigError, DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { embedTexts } from "../evaluation/embed.ts";
import { fillTexts, usualCandidates } from "../evaluation/fill.ts";
import { classifyTexts, type PredictOptions, tagTexts } from "../evaluation/predict.ts";
import { translateTexts } from "../evaluation/translate.ts";
import { chatPrompt } from "../generation/chat.ts";
import { around, frameOf } from "../tokens/around.ts";
import { plainChat } from "../tokens/chat-template.ts";
import { maskOf } from "../trained/hiding.ts";
import { shownPiece, type Warn } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { Answers, Ask, AskKind, WriteAsk } from "./messages.ts";
import { refuseEndless } from "./prompts.ts";

// Everything but writing: one question, one answer.

export interface AnswerOptions {
  readonly signal: AbortSignal;
  readonly warn: Warn;
}

type Other = Exclude<Ask, WriteAsk>;

export async function answerTo(trained: TrainedModel, ask: Other, options: AnswerOptions): Promise<Answers[AskKind]> {
  const own: PredictOptions = options;
  if ("texts" in ask) for (const text of ask.texts) refuseEndless(text, trained);
  switch (ask.kind) {
    case "classify":
      return collected(classifyTexts(trained, ask.texts, own));
    case "tag":
      return collected(tagTexts(trained, ask.texts, own));
    case "fill":
      refuseManyMasks(trained, ask.texts, ask.top);
      return collected(fillTexts(trained, ask.texts, { ...own, ...(ask.top !== undefined && { top: ask.top }) }));
    case "translate":
      return collected(translateTexts(trained, ask.texts, { ...own, beams: ask.beams, lengthPenalty: ask.lengthPenalty }));
    case "embed": {
      const { normalise } = ask;
      const pool = ask.pool === "class" ? classPool(trained) : ask.pool;
      const found = await collected(embedTexts(trained, ask.texts, { ...own, ...(pool && { pool }), normalise }));
      return {
        vectors: found.map(({ vector }) => Array.from(vector)),
        tokens: ask.texts.reduce((sum, text) => sum + countOf(text, trained), 0),
      };
    }
    case "look":
    case "taps":
    case "patch":
    case "sweep":
      return (await import("./looks.ts")).lookInside(trained, ask, options); // pictures weigh more than all else here
    case "tokenize":
      return tokenized(trained, ask.given);
    case "detokenize":
      return { text: trained.tokenizer.decode(checkedIds(ask.ids, trained)) };
  }
}

/** The state of what stands for a whole text: a token of the model's own, or the first that the tokenizer puts there, as BERT's [CLS]. */
const classPool = ({ model, tokenizer }: TrainedModel): "class" | "first" =>
  model.model === "encoder" && model.pool !== "class" && frameOf(tokenizer).before.length > 0 ? "first" : "class";

/** As many as the model reads. */
const countOf = (text: string, { tokenizer, model }: TrainedModel): number =>
  Math.min(model.context, around(tokenizer.encode(text), tokenizer).length);

/** Characters of texts that are told with a word in the place of a mask. */
const mostFilled = 2 ** 22;

/** Every candidate of every mask comes with the whole text. */
function refuseManyMasks(trained: TrainedModel, texts: readonly string[], top = usualCandidates): void {
  const { token } = maskOf(trained);
  const told = texts.reduce((sum, text) => sum + (text.split(token).length - 1) * top * text.length, 0);
  if (told > mostFilled)
    throw new DataError(
      sentence`so many masks in texts so long are too much for one answer; send fewer, or ask for a smaller ${setting("top")}`,
      {
        code: "data.too-much",
        path: "input",
      },
    );
}

/** What a text is made of, with nothing around it; of a conversation, what a model reads. */
function tokenized(trained: TrainedModel, given: Extract<Ask, { kind: "tokenize" }>["given"]): Answers["tokenize"] {
  const { tokenizer, name, chat = plainChat } = trained;
  for (const text of typeof given === "string" ? [given] : given.map(({ content }) => content)) refuseEndless(text, trained);
  const ids = typeof given === "string" ? tokenizer.encode(given) : chatPrompt(given, { tokenizer, name, chat }).ids;
  return { ids: Array.from(ids), pieces: Array.from(ids, (id) => shownPiece(tokenizer, id)) };
}

function checkedIds(ids: readonly number[], { tokenizer: { size } }: TrainedModel): readonly number[] {
  const wrong = ids.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < size));
  if (wrong >= 0)
    throw new ConfigError(`the token id ${ids[wrong]} is not in the vocabulary, which goes from 0 to ${size - 1}`, {
      code: "config.range",
      path: `tokens.${wrong}`,
    });
  return ids;
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
