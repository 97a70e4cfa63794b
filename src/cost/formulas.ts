import { mostHidden } from "../batches/hidden.ts";
import type { Part } from "../graph/place.ts";
import { isFused } from "../layers/attention.ts";
import { isGated } from "../layers/feedforward.ts";
import { architectureOf, hasClassToken, type ModelConfig, type Transformer } from "../models/any.ts";
import { decoderSide, type EncoderConfig, kvHeadsOf, type RnnConfig, type TransformerConfig } from "../models/config.ts";
import { headSizes, keepsPast } from "../models/continuation.ts";
import type { Extent, PhaseName } from "./phases.ts";

// The FLOPs of all products by formula: 2 · rows · depth · columns of each. The graph's own counts are compared with these.

export type Formulas = ReadonlyMap<Part, number>;

/** What one attention works on: positions that ask, positions that are projected to keys and values, and pairs that are compared. */
interface Span {
  readonly asking: number;
  readonly asked: number;
  readonly pairs: number;
}

class Sum {
  readonly parts = new Map<Part, number>();

  add(part: Part, flops: number): void {
    if (flops > 0) this.parts.set(part, (this.parts.get(part) ?? 0) + flops);
  }
}

/** How often a product is computed, and how often what is computed again for the way back. */
interface Often {
  readonly times: number;
  readonly again: number;
}

/** In c blocks of queries, each of which leaves out the keys after it, (c + 1)/2c of all pairs are compared. */
export const causalShare = (queryBlocks: number): number => (queryBlocks + 1) / (2 * queryBlocks);

/** The products of a phase, by part. In training each has two more, for the gradients of its two sides. */
export function productFormulas(model: ModelConfig, phase: PhaseName, extent: Extent, queryBlocks = 1): Formulas {
  const config = architectureOf(model, "a formula");
  const sum = new Sum();
  if (config.model === "rnn") recurrent(sum, config, phase, extent);
  else transformer(sum, config, phase, extent, queryBlocks);
  return sum.parts;
}

function transformer(
  sum: Sum,
  config: Transformer,
  phase: PhaseName,
  { batch, length, sourceLength, decode }: Extent,
  queryBlocks: number,
): void {
  const training = phase === "training";
  const times = batch * (training ? 3 : 1);
  const kept = phase === "token" && config.model !== "encoder" && keepsPast(config);
  const seen = phase === "token" ? decode : length + (hasClassToken(config) ? 1 : 0);
  const rows = kept ? 1 : seen;
  const share = queryBlocks === 1 ? 1 : causalShare(queryBlocks);
  const self = { asking: rows, asked: rows, pairs: rows * seen * share };
  const often = { times, again: training ? batch : 0 };
  if (config.model !== "encoder-decoder") stack(sum, config, often, [self]);
  else {
    const source = { asking: sourceLength, asked: sourceLength, pairs: sourceLength ** 2 };
    if (!kept) stack(sum, config, often, [source]);
    stack(sum, decoderSide(config), often, [self, { asking: rows, asked: kept ? 0 : sourceLength, pairs: rows * sourceLength }]);
  }
  if (config.model === "encoder") answers(sum, config, times, training && config.task === "mlm" ? picked(sum, config, batch, rows) : rows);
  else sum.add("logits", times * 2 * rows * config.width * config.vocab);
}

/** What an encoder says of whole texts, or of each of their positions. */
function answers(sum: Sum, config: EncoderConfig, times: number, rows: number): void {
  const { task, width, pooler, labels, vocab, headTransform } = config;
  const whole = task === "classify" || task === "embed";
  const product = (at: number, columns: number) => sum.add("logits", times * 2 * at * width * columns);
  if (whole && pooler !== "none") product(1, width);
  if (task === "classify") product(1, labels);
  if (task === "tag") product(rows, labels);
  if (task === "mlm" && headTransform) product(rows, width);
  if (task === "mlm") product(rows, vocab);
}

/** In training, tokens are scored where some are hidden: these are counted, picked and on the way back put where they were. */
function picked(sum: Sum, { width }: EncoderConfig, batch: number, rows: number): number {
  const most = mostHidden(rows);
  sum.add("logits", batch * 2 * (rows ** 2 + 2 * most * rows * width));
  return most;
}

/** Positions that are joined, and blocks with one attention (itself) or two (and the source). */
function stack(sum: Sum, config: TransformerConfig, often: Often, spans: readonly Span[]): void {
  const { times } = often;
  const { layers, width, hidden = 4 * width, activation, joinPositions } = config;
  const [{ asking: rows }] = spans;
  if (joinPositions === "concat") sum.add("positions", times * 2 * rows * 2 * width * width);
  for (const span of spans) attention(sum, config, { times: times * layers, again: often.again * layers }, span);
  if (config.feedforward) sum.add("feed-forward", times * layers * 2 * rows * width * hidden * (isGated(activation) ? 3 : 2));
}

function attention(sum: Sum, config: TransformerConfig, { times, again }: Often, { asking, asked, pairs }: Span): void {
  const { width, heads, score } = config;
  const kvHeads = kvHeadsOf(config);
  const { key, value } = headSizes(config);
  const from = (count: number) => count * (config.multiHead === "narrow" ? width / count : width);
  if (config.attention !== "free") {
    sum.add("projections", times * 2 * (from(heads) * asking * key + from(kvHeads) * asked * (key + value)));
    sum.add("output projection", times * 2 * asking * heads * value * width);
  }
  sum.add("scores", times * heads * scores(score, key, asking, pairs / asking, pairs));
  if (config.scoreCap !== undefined && isFused(config)) sum.add("scores", again * heads * 2 * pairs * key);
  sum.add("weighted sum", times * 2 * heads * pairs * value);
}

/** One head's scores: q·k, qᵀWk, or vᵀtanh(Wq + Uk). */
function scores(kind: TransformerConfig["score"], size: number, queries: number, keys: number, pairs: number): number {
  const own = kind === "bilinear" ? queries : kind === "additive" ? queries + keys : 0;
  return 2 * own * size ** 2 + 2 * pairs * size;
}

const gates = { rnn: 1, gru: 3, lstm: 4 } as const;

function recurrent(sum: Sum, config: RnnConfig, phase: PhaseName, { batch, length, sourceLength }: Extent): void {
  const { width, layers, cell, vocab, task } = config;
  const steps = phase === "token" ? 1 : length;
  const back = phase === "training" ? 3 : 1;
  const matrix = 2 * batch * width * width;
  // A state that starts at zero needs no gradient, which saves one product in each layer; all steps of a loop are alike.
  const saves = phase === "training" && config.recurrence === "unrolled";
  const layer = (times: number, fromZero: boolean) =>
    sum.add("recurrence", gates[cell] * matrix * (back * 2 * times - (fromZero && saves ? 1 : 0)));
  for (let i = 0; i < layers; i++) layer(steps, task === "lm" && phase !== "token");
  if (task === "translate" && phase !== "token") encoder(sum, config, sourceLength, back * matrix, (times) => layer(times, true));
  if (task === "translate" && config.attention) {
    const pairs = steps * sourceLength;
    sum.add("scores", back * batch * scores(config.score, width, steps, sourceLength, pairs));
    sum.add("weighted sum", back * batch * 2 * pairs * width);
    sum.add("output projection", back * matrix * 2 * steps); // of state and context together
  }
  sum.add("logits", back * 2 * batch * steps * width * vocab);
}

/** The RNN's encoder: each layer in one direction or two, whose outputs and last states are joined. */
function encoder(sum: Sum, config: RnnConfig, length: number, matrix: number, layer: (times: number) => void): void {
  const states = config.cell === "lstm" ? 2 : 1;
  for (let i = 0; i < config.layers; i++) {
    layer(length);
    if (!config.bidirectional) continue;
    layer(length);
    const read = config.attention || i < config.layers - 1;
    sum.add("recurrence", 2 * matrix * (states + (read ? length : 0)));
  }
}
