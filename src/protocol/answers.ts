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
import { jsonOf, refuseVain, requireFiniteView } from "../views/checks.ts";
import { type ViewName, views } from "../views/views.ts";
import type { Answers, Ask, AskKind, LookAsk, WriteAsk } from "./messages.ts";
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
      return looked(trained, ask, options);
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

async function looked(trained: TrainedModel, { view: name, text, options, as }: LookAsk, told: AnswerOptions): Promise<Answers["look"]> {
  const { needsText, make } = views[name];
  refuseVain(name, options);
  if (needsText && text === "") throw new ConfigError(`the view ${name} needs a text to look at`, { path: "text" });
  if (!needsText && text !== "") throw new ConfigError(`the view ${name} is the same for every text; leave the text out`, { path: "text" });
  refuseEndless(text, trained);
  refuseEndless(options.target ?? "", trained);
  refuseLarge(trained, name, text, options);
  const losses = () => {
    throw new ConfigError(`the view ${name} is of a training, of which nothing is known here`, { path: "view" });
  };
  const found = await make({ run: () => trained, losses, text, options: { ...options, ...told } });
  requireFiniteView(name, found);
  if (as === "json") return { json: jsonOf(found) };
  if (!found.svg)
    throw new ConfigError(sentence`the view ${name} has no picture; ask for ${setting("format", "json")}`, { path: "format" });
  return { svg: found.svg() };
}

/** Numbers of a look that are told, and scores that it is made of. */
const mostNumbers = 2 ** 22;
const mostScored = 2 ** 27;

/** Looks are for eyes; what would hold others up for long, or be too long a text to send, is refused. */
function refuseLarge({ model, tokenizer }: TrainedModel, name: ViewName, text: string, { layer, head }: LookAsk["options"]): void {
  const time = tokenizer.encode(text).length;
  const layers = layer === undefined && "layers" in model ? model.layers : 1;
  const heads = head === undefined && "heads" in model ? model.heads : 1;
  const scored = name === "lens" ? layers * time * model.vocab : name === "attribution" ? 16 * time * model.vocab : time * model.vocab;
  const numbers = layers * heads * time ** 2;
  if (numbers <= mostNumbers && scored <= mostScored) return;
  throw new DataError(
    sentence`a look at ${time} tokens is too large to be sent; shorten the text, or choose a ${setting("layer")} and a ${setting("head")}`,
    {
      code: "data.too-much",
      path: "text",
    },
  );
}

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
