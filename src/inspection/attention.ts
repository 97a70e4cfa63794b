import { ConfigError } from "../base/errors.ts";
import { instead, sentence, setting } from "../base/sentence.ts";
import { described, type ModelConfig, type Transformer } from "../models/any.ts";
import { decoderSide } from "../models/config.ts";
import { refuseTooLarge } from "../runtime/device.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { AttentionHead, AttentionKind, AttentionLook } from "./look.ts";
import { type Activation, activationOf, observe } from "./observe.ts";
import { type Read, type ReadingOptions, readingOf } from "./reading.ts";
import { patternsOf } from "./taps.ts";

export interface AttentionOptions extends ReadingOptions {
  /** Left out: cross where there is a source, an encoder's own, a decoder's own. */
  readonly kind?: AttentionKind;
  /** From 0; all of them if left out. */
  readonly layer?: number;
  readonly head?: number;
}

/** The kinds of attention that a model has, the usual one first. An encoder's is its own attention too. */
export function kindsOf(model: ModelConfig): readonly AttentionKind[] {
  switch (model.model) {
    case "decoder":
      return ["self"];
    case "encoder":
      return ["encoder", "self"];
    case "encoder-decoder":
      return ["cross", "self", "encoder"];
    case "rnn":
      return model.task === "translate" && model.attention ? ["cross"] : [];
    case "own":
      if (model.task === "translate" || patternsOf(model).length === 0) return [];
      return model.task === "lm" ? ["self"] : ["encoder", "self"];
  }
}

/** The place of the blocks to which an attention belongs. */
export const stackPlace = ({ model }: Transformer, kind: AttentionKind): string =>
  model === "encoder-decoder" ? `model/${kind === "encoder" ? "encoder" : "decoder"}` : model;

/** The place of a layer's attention in the model, such as `decoder/block.0/attention`. */
export function attentionPlace(model: ModelConfig, kind: AttentionKind, layer: number): string {
  if (model.model === "rnn") return "model/attention";
  if (model.model === "own") return patternsOf(model)[layer].place;
  return `${stackPlace(model, kind)}/block.${layer}/${kind === "cross" ? "cross" : "attention"}`;
}

/** Whether rows are distributions: not without a softmax, nor where a mask after it takes a share away from every row that has a future. */
function hasDistributions(model: ModelConfig, kind: AttentionKind, layers: AttentionReading["layers"]): boolean {
  if (model.model === "rnn") return true;
  if (model.model === "own") return layers.every(({ heads }) => heads.every(({ pattern }) => pattern().every(sumsToOne)));
  const causal = model.model === "encoder" ? model.causal : kind === "self";
  return model.attention !== "linear" && !(causal && model.mask === "after-softmax");
}

const sumsToOne = (row: readonly number[]): boolean => Math.abs(row.reduce((a, b) => a + b, 0) - 1) < 1e-3;

/** How many layers and heads of attention a model has; an RNN's alignment is one. */
export function attentionSizes(model: ModelConfig, kind?: AttentionKind): { readonly layers: number; readonly heads: number } {
  if (model.model === "rnn") return { layers: 1, heads: 1 };
  if (model.model !== "own") {
    const { layers, heads } = model.model === "encoder-decoder" && kind !== "encoder" ? decoderSide(model) : model;
    return { layers, heads };
  }
  const patterns = patternsOf(model);
  return { layers: patterns.length, heads: Math.min(...patterns.map(({ heads }) => heads)) };
}

/** A look whose patterns become lists of numbers one at a time, when they are asked for: of a long text, all at once would be too many. */
export interface AttentionReading extends Omit<AttentionLook, "layers"> {
  readonly layers: readonly {
    readonly layer: number;
    readonly heads: readonly { readonly head: number; pattern(): AttentionHead["pattern"] }[];
  }[];
}

/** Where a text's tokens attend to, by layer and head. A row of cross-attention is labelled with the token that is said there. */
export async function attentionOf(run: TrainedModel, text: Read, options: AttentionOptions = {}): Promise<AttentionLook> {
  const { layers, ...rest } = await attentionReading(run, text, options);
  return {
    ...rest,
    layers: layers.map(({ layer, heads }) => ({ layer, heads: heads.map(({ head, pattern }) => ({ head, pattern: pattern() })) })),
  };
}

export async function attentionReading(run: TrainedModel, text: Read, options: AttentionOptions = {}): Promise<AttentionReading> {
  const { model } = run;
  const kind = chosenKind(model, options.kind);
  const sizes = attentionSizes(model, kind);
  const layers = chosen("layer", sizes.layers, options.layer);
  const heads = chosen("head", sizes.heads, options.head);
  const reading = await readingOf(run, text, options);
  const { read = reading.tokens, said = reading.tokens } = reading.target ?? {};
  const own = kind === "encoder" ? reading.tokens : read;
  const [keys, queries] = kind === "cross" ? [reading.tokens, said] : [own, own];
  refuseLargeLook(run, layers.length, sizes.heads, queries.length, keys.length);
  const names = layers.map((layer) => `${attentionPlace(model, kind, layer)}/pattern`);
  const results = await observe(run, reading, { taps: names });
  const [, , rows, columns] = results[names[0]].shape;
  const found = layers.map((layer, i) => {
    const pattern = activationOf({ name: names[i], axes: ["head", "query", "key"] }, results[names[i]]);
    return { layer, heads: heads.map((head) => ({ head, pattern: () => patternOf(pattern, head) })) };
  });
  return {
    tokens: labelled(keys, columns),
    targetTokens: labelled(queries, rows),
    kind,
    ...(!hasDistributions(model, kind, found) && { rows: "weights" }),
    layers: found,
  };
}

/** Where positions are not those of the tokens, as over parts of a picture, they have numbers. */
const labelled = (tokens: readonly string[], count: number): readonly string[] =>
  tokens.length === count ? tokens : Array.from({ length: count }, (_, i) => String(i));

/** A pattern is given out once in 32 bits and once as lists of numbers. */
const bytesOfShare = 4 + 4 + 8;

function refuseLargeLook({ device }: TrainedModel, layers: number, heads: number, queries: number, keys: number): void {
  const count = (value: number) => value.toLocaleString("en");
  refuseTooLarge(
    device,
    layers * heads * queries * keys * bytesOfShare,
    () =>
      `attention over this text is ${layers} layers × ${heads} heads × ${count(queries)} queries × ${count(keys)} keys × ${bytesOfShare} bytes`,
    "look at one layer, or at a shorter text",
  );
}

function patternOf({ shape: [, queries, keys], data }: Activation, head: number): AttentionHead["pattern"] {
  return Array.from({ length: queries }, (_, query) => listOf(data, (head * queries + query) * keys, keys));
}

/** Array.from would ask the part for each number in turn, which takes twice as long where heads have many millions of weights. */
function listOf(data: Float32Array, from: number, length: number): number[] {
  const list: number[] = [];
  for (let at = from; at < from + length; at++) list.push(data[at]);
  return list;
}

/** The kind that was asked for, if the model has it. */
export function chosenKind(model: ModelConfig, asked: AttentionKind | undefined): AttentionKind {
  const kinds = kindsOf(model);
  if (kinds.length === 0) {
    const cure =
      model.model === "own"
        ? `name its patterns [batch, head, query, key] with p.tap("pattern", …), or look at other taps`
        : model.model === "rnn" && model.task === "lm"
          ? sentence`look into a decoder (${setting("model", "decoder")}), or at what comes next (${instead("nextTokensOf")})`
          : sentence`train it without ${setting("attention", false)} to see an alignment`;
    throw new ConfigError(sentence`${described(model)} has no attention to look at; ${cure}`);
  }
  const kind = asked ?? kinds[0];
  if (!kinds.includes(kind))
    throw new ConfigError(`${described(model)} has no attention of the kind "${kind}"; it has ${kinds.join(", ")}`);
  return kind;
}

/** One of several, or all of them. */
export function chosen(what: "layer" | "head", count: number, asked: number | undefined): number[] {
  const all = [...Array(count).keys()];
  if (asked === undefined) return all;
  if (!all.includes(asked))
    throw new ConfigError(`there is no ${what} ${asked}; the model has ${count === 1 ? `only ${what} 0` : `${what}s 0 to ${count - 1}`}`);
  return [asked];
}
