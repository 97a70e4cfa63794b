import { ConfigError, DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { look } from "../inspection/look.ts";
import type { Activation } from "../inspection/observe.ts";
import { ablateHead, type Change, patch, swap } from "../inspection/patch.ts";
import { chosenTaps, taps } from "../inspection/taps.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { jsonOf, refuseVain, requireFiniteView } from "../views/checks.ts";
import { type ViewName, views } from "../views/views.ts";
import type { AnswerOptions } from "./answers.ts";
import type { Answers, AskedChange, LookAsk, PatchAsk, TapsAsk, ToldActivation } from "./messages.ts";
import { refuseEndless } from "./prompts.ts";

// What is asked of the inside of a model: a view, the numbers of taps, and what would be said if some of them were others.

export async function lookInside(
  trained: TrainedModel,
  ask: LookAsk | TapsAsk | PatchAsk,
  options: AnswerOptions,
): Promise<Answers["look"] | Answers["taps"] | Answers["patch"]> {
  refuseEndless(ask.text, trained);
  switch (ask.kind) {
    case "look":
      return looked(trained, ask, options);
    case "taps":
      return tapped(trained, ask, options);
    case "patch":
      return patched(trained, ask, options);
  }
}

async function looked(trained: TrainedModel, { view: name, text, options, as }: LookAsk, told: AnswerOptions): Promise<Answers["look"]> {
  if (!Object.hasOwn(views, name))
    throw new ConfigError(`there is no view called "${name}"${suggest(String(name), Object.keys(views))}`, {
      code: "config.unknown-name",
      path: "view",
    });
  const { needsText, make } = views[name];
  refuseVain(name, options);
  if (needsText && text === "") throw new ConfigError(`the view ${name} needs a text to look at`, { path: "text" });
  if (!needsText && text !== "") throw new ConfigError(`the view ${name} is the same for every text; leave the text out`, { path: "text" });
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

/** The numbers of some taps; without any names, only which taps there are. */
async function tapped(trained: TrainedModel, { text, names, target }: TapsAsk, told: AnswerOptions): Promise<Answers["taps"]> {
  const all = taps(trained.model).map(({ name, axes }) => ({ name, axes }));
  if (names.length === 0) return { taps: all, tokens: [], activations: [] };
  refuseMany(trained, text, chosenTaps(trained.model, names).length);
  const { tokens, targetTokens, activations } = await look(trained, text, names, { ...told, ...(target !== undefined && { target }) });
  return { taps: all, tokens, ...(targetTokens && { targetTokens }), activations: [...activations.values()].map(toldActivation) };
}

async function patched(trained: TrainedModel, { text, changes, target }: PatchAsk, told: AnswerOptions): Promise<Answers["patch"]> {
  refuseMany(trained, text, changes.length);
  const options = { ...told, ...(target !== undefined && { target }) };
  const { before, after, difference } = await patch(
    trained,
    text,
    changes.map((change) => changeOf(trained, change)),
    options,
  );
  const answers = ({ loss, logProbabilities }: typeof before) => ({
    ...(loss !== undefined && { loss }),
    logProbabilities: toldActivation(logProbabilities),
  });
  const { loss, divergence } = difference;
  return { before: answers(before), after: answers(after), ...(loss !== undefined && { loss }), divergence };
}

function changeOf(trained: TrainedModel, change: AskedChange): Change {
  if ("head" in change) return ablateHead(trained, change.layer, change.head, change.attention);
  if (!("tap" in change))
    throw new ConfigError("a change is { layer, head }, { tap, from } or { tap, value }", { code: "config.type", path: "changes" });
  if ("from" in change) return swap(change.tap, change.from, { target: change.target, positions: change.positions });
  const { tap, value } = change;
  return { tap, value: typeof value === "number" ? ({ data }) => data.map((x) => value * x) : Float32Array.from(value) };
}

const toldActivation = ({ name, axes, shape, data }: Activation): ToldActivation => ({ name, axes, shape, data: Array.from(data) });

/** The largest of taps are patterns, of every head a square of the text; answers have a number for every entry of the vocabulary. */
function refuseMany({ model, tokenizer }: TrainedModel, text: string, count: number): void {
  const time = tokenizer.encode(text).length;
  const heads = "heads" in model ? model.heads : 1;
  if (count * heads * time ** 2 <= mostNumbers && time * model.vocab <= mostNumbers) return;
  throw new DataError(`the numbers of ${count} taps at ${time} tokens are too many to be sent; shorten the text, or ask for fewer taps`, {
    code: "data.too-much",
    path: "text",
  });
}
