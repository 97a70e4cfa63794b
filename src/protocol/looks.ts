import type { HostArray } from "../base/arrays.ts";
import { ConfigError, DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { answerName, highestPlaces, rowsOf } from "../inspection/answers.ts";
import { look } from "../inspection/look.ts";
import type { Activation } from "../inspection/observe.ts";
import { ablateHead, type Change, patch, scaled, swap } from "../inspection/patch.ts";
import { readingOf } from "../inspection/reading.ts";
import { sweep } from "../inspection/sweep.ts";
import { chosenTaps, type TapInfo, taps } from "../inspection/taps.ts";
import { modelLoss } from "../models/any.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { jsonOf, refuseVain, requireFiniteView } from "../views/checks.ts";
import { type PackedView, packedAttention } from "../views/packed.ts";
import { type View, type ViewName, views } from "../views/views.ts";
import type { AnswerOptions } from "./answers.ts";
import type { Answers, AskedChange, LookAsk, PatchAsk, SweepAsk, TapsAsk, ToldActivation } from "./messages.ts";
import { refuseEndless } from "./prompts.ts";

// What is asked of the inside of a model: a view, the numbers of taps, and what would be said if some of them were others.

export async function lookInside(
  trained: TrainedModel,
  ask: LookAsk | TapsAsk | PatchAsk | SweepAsk,
  options: AnswerOptions,
): Promise<Answers["look"] | Answers["taps"] | Answers["patch"] | Answers["sweep"]> {
  refuseEndless(ask.text, trained);
  switch (ask.kind) {
    case "look":
      return looked(trained, ask, options);
    case "taps":
      return tapped(trained, ask, options);
    case "patch":
      return patched(trained, ask, options);
    case "sweep":
      return swept(trained, ask, options);
  }
}

async function looked(trained: TrainedModel, ask: LookAsk, told: AnswerOptions): Promise<Answers["look"]> {
  const { view: name, text, options, as } = ask;
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
  refuseLarge(trained, ask);
  if (as === "packed") return { json: jsonOf({ value: await packedLook(trained, ask, told) }) };
  const losses = () => {
    throw new ConfigError(`the view ${name} is of a training, of which nothing is known here`, { path: "view" });
  };
  const found = await make({ run: () => trained, losses, text, options: { ...options, ...told } });
  requireFiniteView(name, found);
  if (as === "json") return { json: jsonOf(found) };
  if (as === "html") return { html: await pageOf(name, found) };
  if (!found.svg)
    throw new ConfigError(sentence`the view ${name} has no picture; ask for ${setting("format", "json")}`, { path: "format" });
  return { svg: found.svg() };
}

const packedViews: readonly ViewName[] = ["attention", "rollout", "alignment"] satisfies PackedView[];
const isPacked = (name: ViewName): name is PackedView => packedViews.includes(name);

async function packedLook(trained: TrainedModel, { view, text, options, side }: LookAsk, told: AnswerOptions): Promise<object> {
  if (!isPacked(view))
    throw new ConfigError(`the view ${view} has no weights of attention to pack; ${packedViews.join(", ")} have`, { path: "view" });
  if (side !== undefined && (!Number.isInteger(side) || side < 1))
    throw new ConfigError(`side is how many cells a map has at most, a whole number from 1 on, not ${side}`, { path: "side" });
  return packedAttention(trained, view, text, { ...options, ...told }, side);
}

async function pageOf(name: ViewName, { html }: View): Promise<string> {
  if (html) return html();
  throw new ConfigError(`the view ${name} has no page of its own; ask for its picture, or for its numbers`, { path: "as" });
}

/** Numbers of a look that are told, weights that it packs, and scores that it is made of. */
const mostNumbers = 2 ** 22;
const mostPacked = 2 ** 26;
const mostScored = 2 ** 27;

/** Looks are for eyes; what would hold others up for long, or be too long a text to send, is refused. */
function refuseLarge({ model, tokenizer }: TrainedModel, { view: name, text, options: { layer, head }, as, side }: LookAsk): void {
  const time = tokenizer.encode(text).length;
  const layers = layer === undefined && "layers" in model ? model.layers : 1;
  const heads = head === undefined && "heads" in model ? model.heads : 1;
  const scored = name === "lens" ? layers * time * model.vocab : name === "attribution" ? 16 * time * model.vocab : time * model.vocab;
  const weights = layers * heads * time ** 2;
  const numbers = as === "packed" ? (name === "attention" ? layers * heads : 1) * Math.min(time, side ?? time) ** 2 : weights;
  if (numbers <= mostNumbers && weights <= mostPacked && scored <= mostScored) return;
  throw new DataError(
    sentence`a look at ${time} tokens is too large to be sent; shorten the text, or choose a ${setting("layer")} and a ${setting("head")}`,
    {
      code: "data.too-much",
      path: "text",
    },
  );
}

/** The numbers of some taps; without any names, which taps there are, and how the text is read. */
async function tapped(trained: TrainedModel, { text, names, target, head }: TapsAsk, told: AnswerOptions): Promise<Answers["taps"]> {
  const all = taps(trained.model).map(({ name, axes }) => ({ name, axes }));
  if (names.length === 0) return { taps: all, ...(await readBy(trained, text, target, told)), activations: [] };
  refuseManyNumbers(trained, text, chosenTaps(trained.model, names), head);
  const { tokens, targetTokens, activations } = await look(trained, text, names, { ...told, ...(target !== undefined && { target }) });
  return {
    taps: all,
    tokens,
    ...(targetTokens && { targetTokens }),
    activations: [...activations.values()].map((one) => toldActivation(ofHead(one, head, trained))),
  };
}

/** What is read of a text, and what the model knows of its own. */
async function readBy(
  trained: TrainedModel,
  text: string,
  target: string | undefined,
  told: AnswerOptions,
): Promise<Pick<Answers["taps"], "tokens" | "targetTokens" | "ids" | "targetIds" | "parameters">> {
  const parameters = parametersOf(modelLoss(trained.model)).entries.map(({ name, shape }) => ({ name, shape }));
  if (text === "") return { tokens: [], parameters };
  const { tokens, target: written, feeds } = await readingOf(trained, text, { ...told, ...(target !== undefined && { target }) });
  const idsOf = (feed: HostArray | undefined) => Array.from((feed?.data ?? []) as Int32Array);
  const ids = idsOf(feeds.source ?? feeds.ids);
  return { tokens, ids, ...(written && { targetTokens: written.read, targetIds: idsOf(feeds.target) }), parameters };
}

async function patched(
  trained: TrainedModel,
  { text, changes, target, position, top }: PatchAsk,
  told: AnswerOptions,
): Promise<Answers["patch"]> {
  refuseMany(trained, text, changes.length);
  const options = { ...told, ...(target !== undefined && { target }) };
  const { before, after, difference } = await patch(
    trained,
    text,
    changes.map((change) => changeOf(trained, change)),
    options,
  );
  const at = position ?? rowsOf(before.logProbabilities).length - 1;
  const answers = ({ loss, logProbabilities }: typeof before) => ({
    ...(loss !== undefined && { loss }),
    logProbabilities: toldActivation(position === undefined ? logProbabilities : rowAt(logProbabilities, at)),
  });
  const { loss, divergence } = difference;
  return {
    before: answers(before),
    after: answers(after),
    ...(loss !== undefined && { loss }),
    divergence,
    ...(top !== undefined && {
      candidates: candidatesOf(trained, rowAt(before.logProbabilities, at), rowAt(after.logProbabilities, at), top),
    }),
  };
}

/** The answers at one position. */
function rowAt(answers: Activation, at: number): Activation {
  const rows = rowsOf(answers);
  if (!(Number.isInteger(at) && at >= 0 && at < rows.length))
    throw new ConfigError(`there is no position ${at} to tell the answer of; there are ${rows.length}, counted from 0`, {
      path: "position",
    });
  return { ...answers, axes: answers.axes.slice(-1), shape: answers.shape.slice(-1), data: rows[at] };
}

function candidatesOf(trained: TrainedModel, before: Activation, after: Activation, top: number): Answers["patch"]["candidates"] {
  const ids = [...new Set([...highestPlaces(before.data, top), ...highestPlaces(after.data, top)])];
  return ids.map((id) => ({ id, name: answerName(trained, id), before: Math.exp(before.data[id]), after: Math.exp(after.data[id]) }));
}

async function swept(trained: TrainedModel, { kind: _, text, ...options }: SweepAsk, told: AnswerOptions): Promise<Answers["sweep"]> {
  refuseMany(trained, text, 1);
  refuseEndless(options.from ?? "", trained);
  return sweep(trained, text, { ...options, ...told });
}

function changeOf(trained: TrainedModel, change: AskedChange): Change {
  if ("head" in change) return ablateHead(trained, change.layer, change.head, change.attention);
  if (!("tap" in change))
    throw new ConfigError("a change is { layer, head }, { tap, from } or { tap, value }", { code: "config.type", path: "changes" });
  if ("from" in change) return swap(change.tap, change.from, { target: change.target, positions: change.positions });
  const { tap, value } = change;
  if (typeof value !== "number") return { tap, value: Float32Array.from(value) };
  return scaled(tap, value, "positions" in change ? { positions: change.positions } : {});
}

const toldActivation = ({ name, axes, shape, data }: Activation): ToldActivation => ({ name, axes, shape, data: Array.from(data) });

/** One head of those that a tap has; keys and values may be fewer than queries. */
function ofHead(activation: Activation, head: number | undefined, { model }: TrainedModel): Activation {
  const { axes, shape, data } = activation;
  if (head === undefined || axes[0] !== "head") return activation;
  const heads = Math.max(shape[0], "heads" in model ? model.heads : 1);
  if (!(Number.isInteger(head) && head >= 0 && head < heads))
    throw new ConfigError(`there is no head ${head}; there are ${heads}, counted from 0`, { path: "head" });
  const size = data.length / shape[0];
  const at = Math.floor((head * shape[0]) / heads);
  return { ...activation, shape: [1, ...shape.slice(1)], data: data.subarray(at * size, (at + 1) * size) };
}

/** What the numbers of taps would be, by their axes. */
function refuseManyNumbers({ model, tokenizer }: TrainedModel, text: string, asked: readonly TapInfo[], head: number | undefined): void {
  const time = Math.min(model.context, tokenizer.encode(text).length);
  const heads = head === undefined && "heads" in model ? model.heads : 1;
  const width = "width" in model ? model.width : 1;
  const sizeOf = (axis: string) =>
    axis === "head"
      ? heads
      : /^(time|query|key)$/.test(axis)
        ? time
        : axis === "hidden"
          ? 4 * width
          : axis === "size"
            ? width / heads
            : width;
  const numbers = asked.reduce((sum, { axes }) => sum + axes.reduce((product, axis) => product * sizeOf(axis), 1), 0);
  if (numbers > mostNumbers) throw tooMany(asked.length, time);
}

const tooMany = (count: number, time: number): DataError =>
  new DataError(`the numbers of ${count} taps at ${time} tokens are too many to be sent; shorten the text, or ask for fewer taps`, {
    code: "data.too-much",
    path: "text",
  });

/** The largest of taps are patterns, of every head a square of the text; answers have a number for every entry of the vocabulary. */
function refuseMany({ model, tokenizer }: TrainedModel, text: string, count: number): void {
  const time = tokenizer.encode(text).length;
  const heads = "heads" in model ? model.heads : 1;
  if (count * heads * time ** 2 > mostNumbers || time * model.vocab > mostNumbers) throw tooMany(count, time);
}
