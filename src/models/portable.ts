import { Dim } from "../graph/dim.ts";
import { buildGraph, type Graph, graphNodes, type InputTypes, type TensorFunction, tensorFunction } from "../graph/graph.ts";
import { isInput } from "../graph/leaves.ts";
import type { Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { float32, int64 } from "../graph/type.ts";
import { type KeysAndValues, knownSource, type Past } from "../layers/attention.ts";
import { add, div, mul, sub } from "../ops/arithmetic.ts";
import { cast, greater } from "../ops/compare.ts";
import { extent, fill, iota } from "../ops/fill.ts";
import { causalMask, windowMask } from "../ops/mask.ts";
import { concat, reshape, slice } from "../ops/movement.ts";
import { expand, sum } from "../ops/sum.ts";
import {
  type DecoderConfig,
  decoderConfig,
  decoderSide,
  type EncoderConfig,
  type EncoderDecoderConfig,
  encoderConfig,
  encoderDecoderConfig,
  kvHeadsOf,
  type RnnConfig,
  rnnConfig,
  type TransformerConfig,
  windowAt,
} from "./config.ts";
import { headSizes, keptOf } from "./continuation.ts";
import { encoder } from "./encoder.ts";
import { encodedSource, sourceTable, targetTable } from "./encoder-decoder.ts";
import { rnnEncode, rnnStates, rnnStep, writtenOut } from "./rnn.ts";
import { embedded, keyMask, stack, tokenScores, tokenTable } from "./transformer.ts";

// Models as others run them, made of the same functions: with the names, types and axes that transformers.js and Python's optimum have
// for inputs and outputs. A cache begins empty and is joined with what is new, so that one file does for the first token and the rest.

export interface PortableOptions {
  /** Attention patterns as more outputs. */
  readonly attentions?: boolean;
}

/** The axes' names. Readers know `batch_size`; what else is open begins at 0 in a cache that is new. */
const batch = "batch_size";
const time = "sequence_length";
const past = "past_sequence_length";
const source = "encoder_sequence_length";
const pastSource = "past_encoder_sequence_length";

const ids = int64([batch, time]);

/** A decoder: the scores of every next token, after whatever is in the cache. Masked places must come first in a row (padding at the left). */
export function portableDecoder(given: DecoderConfig, { attentions = false }: PortableOptions = {}): Graph {
  const config = decoderConfig({ ...given, dropout: 0 });
  const all = Dim.of(past).plus(time);
  const inputs = {
    input_ids: ids,
    attention_mask: int64([batch, all]),
    position_ids: ids,
    ...cacheInputs(config, (i) => `past_key_values.${i}`, past),
  };
  const fn = tensorFunction(inputs, (root, x: Readonly<Record<string, Tensor>>) => {
    const p = root.at("decoder");
    const table = tokenTable(p, "tokens", config.vocab, config);
    const pasts = pastsOf(config, x, (i) => `past_key_values.${i}`, {
      at: cast(x.position_ids, "int32"),
      real: greater(x.attention_mask, 0),
    });
    const states = stack(p, embedded(p, table, cast(x.input_ids, "int32"), config, { places: pasts[0].places }), config, (i) => ({
      causal: true,
      past: pasts[i],
    }));
    return {
      logits: tokenScores(p, table, states, config),
      ...presents(root, config, "decoder", x, (i) => [`past_key_values.${i}`, `present.${i}`]),
    };
  });
  return withPatterns(fn, attentions ? layersOf(config, (i) => [`attentions.${i}`, `decoder/block.${i}/attention/pattern`]) : []);
}

/**
 * An encoder: scores of labels, for a whole text or for each position, or of tokens, as they are before a softmax; or the states of a text
 * and its vector. Padding is at the right.
 */
export function portableEncoder(
  given: EncoderConfig,
  { attentions = false, temperature = 1 }: PortableOptions & { readonly temperature?: number } = {},
): Graph {
  const config = encoderConfig({ ...given, dropout: 0 });
  const inputs = { input_ids: ids, attention_mask: ids, ...(config.segments > 1 && { token_type_ids: ids }) };
  const fn = tensorFunction(inputs, (root, x: Readonly<Record<string, Tensor>>): Record<string, Tensor> => {
    const p = root.at("encoder");
    const [tokens, lengths] = [cast(x.input_ids, "int32"), lengthsOf(x.attention_mask)];
    const facts = x.token_type_ids ? { segments: cast(x.token_type_ids, "int32") } : {};
    const said = encoder(p, tokens, lengths, config, {}, facts);
    if (config.task !== "embed") return { logits: temperature === 1 ? said : div(said, temperature) };
    const states = root.tapped("encoder/states");
    const own = config.pool === "class" ? slice(states, 1, 1, tokens.shape[1].plus(1)) : states; // without the class token in front
    return { last_hidden_state: own, sentence_embedding: said };
  });
  return withPatterns(fn, attentions ? layersOf(config, (i) => [`attentions.${i}`, `encoder/block.${i}/attention/pattern`]) : []);
}

/** An encoder–decoder in two files: what the encoder makes of a source, and the decoder, which makes keys and values of that once. */
export function portableEncoderDecoder(
  given: EncoderDecoderConfig,
  { attentions = false }: PortableOptions = {},
): { encoder: Graph; decoder: Graph } {
  const config = encoderDecoderConfig({ ...given, dropout: 0 });
  return { encoder: sourceGraph(config, attentions), decoder: targetGraph(config, attentions) };
}

function sourceGraph(config: EncoderDecoderConfig, attentions: boolean): Graph {
  const fn = tensorFunction({ input_ids: ids, attention_mask: ids }, (root, x) => {
    const p = root.at("model");
    const table = sourceTable(p, config) ?? targetTable(p, config);
    return { last_hidden_state: encodedSource(p, table, cast(x.input_ids, "int32"), lengthsOf(x.attention_mask), config) };
  });
  return withPatterns(
    fn,
    attentions ? layersOf(config, (i) => [`encoder_attentions.${i}`, `model/encoder/block.${i}/attention/pattern`]) : [],
  );
}

function targetGraph(config: EncoderDecoderConfig, attentions: boolean): Graph {
  const side = decoderSide(config);
  const own = (i: number) => `past_key_values.${i}.decoder`;
  const asked = (i: number) => `past_key_values.${i}.encoder`;
  const inputs = {
    input_ids: ids,
    encoder_hidden_states: float32([batch, source, config.width]),
    encoder_attention_mask: int64([batch, source]),
    ...cacheInputs(side, own, past),
    ...cacheInputs(side, asked, pastSource),
  };
  const fn = tensorFunction(inputs, (root, x: Readonly<Record<string, Tensor>>) => {
    const p = root.at("model");
    const writer = p.at("decoder");
    const table = targetTable(p, config);
    const [rows, width] = x.input_ids.shape;
    const before = x[`${own(0)}.key`].shape[2];
    const at = expand(reshape(add(cast(iota(width), "int32"), extent(before, "int32")), [1, width]), [rows, width]); // rows go on together
    const pasts = pastsOf(side, x, own, { at });
    const known = knownSources(writer, x, side, asked);
    const allowed = keyMask(greater(x.encoder_attention_mask, 0));
    const tokens = embedded(writer, table, cast(x.input_ids, "int32"), side, { places: pasts[0].places });
    const written = stack(writer, tokens, side, (i) => ({ causal: true, past: pasts[i], memory: { known: known[i], allowed } }));
    const kept = known.flatMap(({ k, v }, i) => [
      [`present.${i}.encoder.key`, k],
      [`present.${i}.encoder.value`, v],
    ]);
    return {
      logits: tokenScores(p, table, written, config),
      ...presents(root, side, "model/decoder", x, (i) => [own(i), `present.${i}.decoder`]),
      ...Object.fromEntries(kept),
    };
  });
  const place = (i: number) => `model/decoder/block.${i}`;
  const patterns = layersOf(side, (i): Named[] => [
    [`decoder_attentions.${i}`, `${place(i)}/attention/pattern`],
    [`cross_attentions.${i}`, `${place(i)}/cross/pattern`],
  ]);
  return withPatterns(fn, attentions ? patterns.flat() : []);
}

/** Keys and values of the source for every layer. Only what the cache lacks is projected: all of the source at first, and nothing after that. */
function knownSources(
  writer: Scope,
  inputs: Readonly<Record<string, Tensor>>,
  config: TransformerConfig,
  name: (layer: number) => string,
): KeysAndValues[] {
  const states = inputs.encoder_hidden_states;
  const unseen = slice(states, 1, inputs[`${name(0)}.key`].shape[2], states.shape[1]);
  return layersOf(config, (i) => {
    const { k, v } = knownSource(writer.at("block", i).at("cross"), unseen, config);
    return { k: concat([inputs[`${name(i)}.key`], k], 2), v: concat([inputs[`${name(i)}.value`], v], 2) };
  });
}

/** A step of an RNN, one token for each row: its states before and after, and the scores of the next token. */
export function portableRnnStep(given: RnnConfig): Graph {
  const config = rnnConfig({ ...writtenOut(given), dropout: 0 });
  const states = rnnStates(config);
  const memory: InputTypes =
    config.task === "translate"
      ? { encoder_hidden_states: float32([batch, source, config.width]), encoder_attention_mask: int64([batch, source]) }
      : {};
  const inputs = {
    input_ids: int64([batch, 1]),
    ...Object.fromEntries(states.map((name) => [`past_states.${name}`, float32([batch, config.width])])),
    ...memory,
  };
  const step = rnnStep(config);
  const fn = tensorFunction(inputs, (root, x: Readonly<Record<string, Tensor>>) => {
    const [rows] = x.input_ids.shape;
    const { scores, ...after } = step.build(root, {
      ids: cast(x.input_ids, "int32"),
      count: fill("int32", [rows], 1),
      ...Object.fromEntries(states.map((name) => [name, x[`past_states.${name}`]])),
      ...(config.task === "translate" && { states: x.encoder_hidden_states, lengths: lengthsOf(x.encoder_attention_mask) }),
    } as never);
    return { logits: scores, ...Object.fromEntries(states.map((name) => [`present_states.${name}`, after[name]])) };
  });
  return withPatterns(fn);
}

/** An RNN's encoder. It is unrolled, for not every reader has loops, so sources are filled up to the context. */
export function portableRnnEncoder(given: RnnConfig): Graph {
  const config = rnnConfig({ ...writtenOut(given), dropout: 0 });
  const read = rnnEncode(config);
  const padded = int64([batch, config.context]);
  const fn = tensorFunction({ input_ids: padded, attention_mask: padded }, (root, x) => {
    const { states, ...last } = read.build(root, { source: cast(x.input_ids, "int32"), lengths: lengthsOf(x.attention_mask) });
    const named = Object.entries(last).map(([name, state]) => [`present_states.${name}`, state]);
    return { last_hidden_state: states, ...Object.fromEntries(named) };
  });
  return withPatterns(fn);
}

const layersOf = <T>({ layers }: { readonly layers: number }, of: (layer: number) => T): T[] =>
  Array.from({ length: layers }, (_, i) => of(i));

function cacheInputs(config: TransformerConfig, name: (layer: number) => string, axis: string): InputTypes {
  const { key, value } = headSizes(config);
  const parts = layersOf(config, (i) => [
    [`${name(i)}.key`, float32([batch, kvHeadsOf(config), axis, key])],
    [`${name(i)}.value`, float32([batch, kvHeadsOf(config), axis, value])],
  ]);
  return Object.fromEntries(parts.flat());
}

/** For each layer, what new tokens see: what is real of the cache and of themselves, and nothing that comes later. */
function pastsOf(
  config: TransformerConfig,
  inputs: Readonly<Record<string, Tensor>>,
  name: (layer: number) => string,
  { at, real }: { readonly at: Tensor; readonly real?: Tensor },
): Past[] {
  const [rows, width] = at.shape;
  const before = inputs[`${name(0)}.key`].shape[2];
  const all = before.plus(width);
  const causal = reshape(causalMask(width, all), [1, 1, width, all]);
  const allowed = real ? both(causal, keyMask(real)) : expand(causal, [rows, 1, width, all]);
  // Padding at one side leaves distances as they are, so the window is that of the places in the row.
  const near = (window: number) => both(allowed, reshape(windowMask(width, all, window, { causal: true }), [1, 1, width, all]));
  const keys = real && leftPadded(real);
  const { window } = config;
  const within = window === undefined ? allowed : near(window);
  return layersOf(config, (i) => ({
    k: inputs[`${name(i)}.key`],
    v: inputs[`${name(i)}.value`],
    places: { at, past: before, ...(keys && { keys }) },
    allowed: windowAt(config, i) === undefined ? allowed : within,
    joined: true,
  }));
}

/** Where each key of a row stands, whose padding is at the left: int32 [batch, key]. */
function leftPadded(real: Tensor): Tensor {
  const [rows, all] = real.shape;
  const padding = sub(extent(all, "int32"), lengthsOf(real)); // [batch]
  return sub(reshape(cast(iota(all), "int32"), [1, all]), reshape(padding, [rows, 1]));
}

/** The one and the other. WebGPU has products, and no `And`. */
const both = (a: Tensor, b: Tensor): Tensor => greater(mul(cast(a, "float32"), cast(b, "float32")), 0);

/** How many places of each row are real: int32 [batch]. */
const lengthsOf = (mask: Tensor): Tensor => cast(sum(cast(mask, "float32"), { axis: 1 }), "int32");

/** The keys and values of all tokens so far: those of the cache, and the new ones behind them. */
function presents(
  root: Scope,
  config: TransformerConfig,
  place: string,
  inputs: Readonly<Record<string, Tensor>>,
  names: (layer: number) => readonly [before: string, after: string],
): Record<string, Tensor> {
  const joined = keptOf(config, place).map(({ tap }, j) => {
    const [before, after] = names(j >> 1);
    const part = j % 2 === 0 ? "key" : "value";
    return [`${after}.${part}`, concat([inputs[`${before}.${part}`], root.tapped(tap)], 2)];
  });
  return Object.fromEntries(joined);
}

type Named = readonly [output: string, tap: string];

/** A function's graph with more outputs, which are taps, and without inputs that nothing reads. */
function withPatterns(fn: TensorFunction, patterns: readonly Named[] = []): Graph {
  const graph = buildGraph(fn, { taps: patterns.map(([, tap]) => tap) });
  const names = new Map(patterns.map(([output, tap]) => [tap, output]));
  const outputs = new Map([...graph.outputs].map(([name, tensor]) => [names.get(name) ?? name, tensor]));
  const read = new Set<unknown>(graphNodes({ ...graph, outputs }).filter((node) => isInput(node)));
  return { ...graph, outputs, inputs: new Map([...graph.inputs].filter(([, { node }]) => read.has(node))) };
}
