import { type InputTypes, tensorFunction } from "../graph/graph.ts";
import { normal } from "../graph/leaves.ts";
import { inPart } from "../graph/place.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { float32, int32 } from "../graph/type.ts";
import { drop } from "../layers/dropout.ts";
import { dense } from "../layers/linear.ts";
import { recurrent, type State } from "../layers/recurrent.ts";
import { additiveInTurn, scoresOf } from "../layers/scores.ts";
import { tanh } from "../ops/functions.ts";
import { embedding } from "../ops/lookup.ts";
import { masked } from "../ops/mask.ts";
import { concat, reshape, slice } from "../ops/movement.ts";
import { linear, matmul } from "../ops/products.ts";
import { softmax } from "../ops/softmax.ts";
import { type RnnConfig, type RnnInput, rnnConfig } from "./config.ts";
import { nextToken } from "./continuation.ts";
import { type LossOptions, modeOf, nextTokenLoss, type Pair, pairLoss } from "./losses.ts";
import { effective, type Mode } from "./mode.ts";
import { keyMask, realPositions } from "./transformer.ts";

/** Recurrent layers on top of each other; each may start from a state that it is given. */
function layersOf(
  p: Scope,
  x: Tensor,
  { layers, cell, width, dropout, recurrence: form }: RnnConfig,
  starts: readonly State[] = [],
  real?: Tensor,
): { outputs: Tensor; last: State[] } {
  let y = x;
  const last: State[] = [];
  for (let i = 0; i < layers; i++) {
    const result = recurrent(p.at("layer", i), drop(p.at("layer", i), y, dropout), { cell, width, start: starts[i], real, form });
    last.push(result.last);
    y = p.at("layer", i).tap("output", result.outputs);
  }
  return { outputs: y, last };
}

/** An RNN language model: the scores of every next token, [batch, time, vocab]. */
export const rnnLanguageModel = layer((p, ids: Tensor, given: RnnConfig, mode: Mode = {}): Tensor => {
  const config = effective(given, mode);
  const table = targetTable(p, config);
  return scoresOver(p, layersOf(p, p.tap("embedded", lookedUp(table, ids)), config).outputs, table, config);
});

/**
 * The RNN encoder–decoder. Without attention the source is one vector, the encoder's last state (the bottleneck); with it, every
 * step of the decoder also mixes the encoder's states: c_t = Σ α_j h_j, joined with the decoder's state before the output layer.
 */
export const rnnEncoderDecoder = layer((p, pair: Pair, given: RnnConfig, mode: Mode = {}): Tensor => {
  const { source, lengths, target } = pair;
  const config = effective(given, mode);
  const table = targetTable(p, config);
  const { states, last } = encodedSource(p, sourceTable(p, config) ?? table, source, lengths, config);
  const writer = p.at("decoder");
  const { outputs } = layersOf(writer, writer.tap("embedded", lookedUp(table, target)), config, last);
  return answered(p, table, outputs, { states, lengths }, config);
});

const tableOf = (p: Scope, name: string, vocab: number, width: number): Tensor =>
  inPart("embedding", () => p.param(name, [vocab, width], normal(0.1)));

const targetTable = (p: Scope, { vocab, width }: RnnConfig): Tensor => tableOf(p, "tokens", vocab, width);

const sourceTable = (p: Scope, { sourceVocab, width }: RnnConfig): Tensor | undefined =>
  sourceVocab === undefined ? undefined : tableOf(p, "source-tokens", sourceVocab, width);

const lookedUp = (table: Tensor, ids: Tensor): Tensor => inPart("embedding", () => embedding(table, ids));

const encodedSource = (p: Scope, table: Tensor, source: Tensor, lengths: Tensor, config: RnnConfig): { states: Tensor; last: State[] } =>
  encoded(p.at("encoder"), p.at("encoder").tap("embedded", lookedUp(table, source)), realPositions(lengths, source), config);

interface Memory {
  readonly states: Tensor;
  readonly lengths: Tensor;
}

/** The scores of the next tokens from the decoder's outputs, with attention also from what they find in the source. */
function answered(p: Scope, table: Tensor, outputs: Tensor, { states, lengths }: Memory, config: RnnConfig): Tensor {
  if (!config.attention) return scoresOver(p, outputs, table, config);
  const context = mixed(p.at("attention"), outputs, states, keyMask(realPositions(lengths, states)), config);
  // No tanh over the two: it saturates while the model learns which words are frequent, and hundreds of steps go by until it moves again.
  const both = p.tap(
    "joined",
    inPart("output projection", () => joined(p.at("join"), outputs, context, config.width)),
  );
  return scoresOver(p, both, table, config);
}

/** Names for the states of all layers, as inputs and outputs of a function. */
const stateNames = ({ layers, cell }: RnnConfig): string[][] =>
  Array.from({ length: layers }, (_, i) => (cell === "lstm" ? [`h.${i}`, `c.${i}`] : [`h.${i}`]));

/** The names of an RNN's states, [batch, width] each: all that it keeps of the tokens it has seen. */
export const rnnStates = (config: RnnConfig): string[] => stateNames(config).flat();

const stateInputs = (config: RnnConfig): InputTypes =>
  Object.fromEntries(rnnStates(config).map((name) => [name, float32(["batch", config.width])]));

const namedStates = (config: RnnConfig, last: readonly State[]): Record<string, Tensor> =>
  Object.fromEntries(stateNames(config).flatMap((names, i) => names.map((name, j) => [name, last[i][j]])));

/** The same model with every step written out: for single steps, and where graphs are read rather than run. */
export const writtenOut = (config: RnnConfig): RnnConfig => ({ ...config, recurrence: "unrolled" });

/** The encoder as it is used: it runs once for a source. Its length must be bound where it is unrolled. */
export function rnnEncode(given: RnnInput) {
  const config = rnnConfig({ ...given, task: "translate", dropout: 0 });
  return tensorFunction({ source: int32(["batch", "sourceTime"]), lengths: int32(["batch"]) }, (root, inputs) => {
    const p = root.at("model");
    const table = sourceTable(p, config) ?? targetTable(p, config);
    const { states, last } = encodedSource(p, table, inputs.source, inputs.lengths, config);
    return { states, ...namedStates(config, last) };
  });
}

/**
 * The decoder, or the language model, as it is used: it goes on from the states before, over new tokens of which each row has `count`
 * real ones, to the states after them and the scores of the next, [batch, vocab]. `time` must be bound where it is unrolled.
 */
export function rnnStep(given: RnnInput) {
  const config = rnnConfig({ ...given, dropout: 0 });
  const memory: InputTypes =
    config.task === "translate" ? { states: float32(["batch", "sourceTime", config.width]), lengths: int32(["batch"]) } : {};
  const inputs = { ids: int32(["batch", "time"]), count: int32(["batch"]), ...stateInputs(config), ...memory };
  return tensorFunction(inputs, (root, given: Readonly<Record<string, Tensor>>): Record<string, Tensor> => {
    const { ids, count, states, lengths } = given;
    const p = root.at("model");
    const table = targetTable(p, config);
    const start = stateNames(config).map((names) => names.map((name) => given[name]));
    const real = realPositions(count, ids); // at the others a state stays what it is, so the last is that of the last real token
    const place = config.task === "translate" ? p.at("decoder") : p;
    const { outputs, last } = layersOf(place, lookedUp(table, ids), config, start, real);
    const time = ids.shape[1];
    const outcome = slice(outputs, 1, time.minus(1), time); // [batch, 1, width]
    const scores =
      config.task === "translate" ? answered(p, table, outcome, { states, lengths }, config) : scoresOver(p, outcome, table, config);
    return { ...nextToken(reshape(scores, [ids.shape[0], config.vocab])), ...namedStates(config, last) };
  });
}

/** The encoder's states [batch, time, width] and, for each layer, its last state; two directions are joined and projected. */
const encoded = layer("recurrence", (p, x: Tensor, real: Tensor, config: RnnConfig): { states: Tensor; last: State[] } => {
  const { layers, cell, width, bidirectional, dropout, attention, recurrence: form } = config;
  let y = x;
  const last: State[] = [];
  for (let i = 0; i < layers; i++) {
    const place = p.at("layer", i);
    const input = drop(place, y, dropout);
    const forward = recurrent(place.at("forward"), input, { cell, width, real, form });
    const backward = bidirectional ? recurrent(place.at("backward"), input, { cell, width, real, form, backward: true }) : undefined;
    const read = attention || i < layers - 1; // without attention nobody reads the states of the last layer
    last.push(backward ? forward.last.map((s, j) => tanh(joined(place.at("last", j), s, backward.last[j], width))) : forward.last);
    y = place.tap("output", backward && read ? joined(place.at("outputs"), forward.outputs, backward.outputs, width) : forward.outputs);
  }
  return { states: y, last };
});

const joined = (p: Scope, a: Tensor, b: Tensor, width: number): Tensor => dense(p, concat([a, b], -1), width);

/** α = softmax(score(decoder state, encoder states)) and c = Σ α_j h_j, for every step of the decoder. */
function mixed(p: Scope, queries: Tensor, states: Tensor, real: Tensor, { score, width, recurrence: form }: RnnConfig): Tensor {
  const oneHead = (x: Tensor) => reshape(x, [x.shape[0], 1, x.shape[1], width]); // [batch, 1, time, width]
  const keys = oneHead(states);
  const inTurn = form === "scanned" && score === "additive";
  const scores = p.tap("scores", inTurn ? additiveInTurn(p, oneHead(queries), keys) : scoresOf(p, score, oneHead(queries), keys)); // [batch, 1, target, source]
  const pattern = inPart("softmax", () => p.tap("pattern", softmax(masked(scores, real))));
  return p.tap(
    "context",
    inPart("weighted sum", () => reshape(matmul(pattern, keys), queries.shape)),
  );
}

const scoresOver = layer(
  "logits",
  (p, states: Tensor, table: Tensor, { tie, vocab }: RnnConfig): Tensor =>
    tie ? linear(states, table, undefined, { transposed: true }) : dense(p.at("scores"), states, vocab),
);

/** The training loss of an RNN language model. */
export function rnnLanguageModelLoss(given: RnnInput, options: LossOptions = {}) {
  const config = rnnConfig({ ...given, task: "lm" });
  return nextTokenLoss((p, ids) => rnnLanguageModel(p.at("model"), ids, config, modeOf(options)), options);
}

/** The training loss of an RNN encoder–decoder: targets are the target tokens shifted by one. */
export function rnnLoss(given: RnnInput, options: LossOptions = {}) {
  const config = rnnConfig({ ...given, task: "translate" });
  return pairLoss((p, pair) => rnnEncoderDecoder(p.at("model"), pair, config, modeOf(options)), options);
}
