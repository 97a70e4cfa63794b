import { GraphError } from "../base/errors.ts";
import type { Dim } from "../graph/dim.ts";
import { filled, type Initialiser } from "../graph/leaves.ts";
import { inPart } from "../graph/place.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add, mul } from "../ops/arithmetic.ts";
import { attend, attendPast } from "../ops/attend.ts";
import { and, cast, where } from "../ops/compare.ts";
import { fill } from "../ops/fill.ts";
import { tanh } from "../ops/functions.ts";
import { causalMask, lowest, masked, windowMask } from "../ops/mask.ts";
import { concat, slice, split } from "../ops/movement.ts";
import { matmul } from "../ops/products.ts";
import { softmax } from "../ops/softmax.ts";
import { drop, dropNoise } from "./dropout.ts";
import {
  type BiasKind,
  Groups,
  type HeadOptions,
  headSize,
  type MultiHead,
  mergeHeads,
  queries,
  repeatHeads,
  selfProjections,
  sourceProjections,
  splitHeads,
} from "./heads.ts";
import { dense } from "./linear.ts";
import { norm } from "./norm.ts";
import { attentionPositions, type Places, type PositionKind, type PositionSettings } from "./positions.ts";
import { type Score, scoresOf } from "./scores.ts";

/** How values are mixed: with a softmax; without one (linear); or without any parameters (free). */
export const mixKinds = ["softmax", "linear", "free"] as const;
export type MixKind = (typeof mixKinds)[number];

/** Where masked scores vanish: before the softmax, as it should be; after it, to see why; or, for the causal mask, nowhere. */
export const maskPlaces = ["before-softmax", "after-softmax", "none"] as const;
export type MaskPlace = (typeof maskPlaces)[number];

export interface AttentionConfig extends PositionSettings {
  readonly heads: number;
  readonly multiHead: MultiHead;
  readonly keySize?: number;
  readonly valueSize?: number;
  readonly score: Score;
  readonly attention: MixKind;
  readonly mask: MaskPlace;
  readonly positions: PositionKind;
  readonly dropout: number;
  /** Heads of keys and values; as many as of queries if left out. */
  readonly kvHeads?: number;
  readonly bias?: BiasKind;
  /** Whether queries and keys of each head are normalised before they are turned and compared. */
  readonly qkNorm?: boolean;
  /** Whether those of cross-attention are turned too (rotary): queries by their places in the target, keys by theirs in the source. */
  readonly crossPositions?: boolean;
  readonly epsilon?: number;
  /** How many keys a query sees in self-attention: itself and those before it, in an encoder as many after it. */
  readonly window?: number;
  /** Multiplies q·k in place of 1/√size. */
  readonly scale?: number;
  /** Scores go through cap · tanh(score/cap). */
  readonly scoreCap?: number;
}

export interface KeysAndValues {
  /** [batch, head, key, size] */
  readonly k: Tensor;
  readonly v: Tensor;
}

/** What is kept of the tokens before these: their keys and values, where these tokens stand, and which of [past…, new…] they may see. */
export interface Past extends KeysAndValues {
  readonly places: Places;
  /** bool [batch, 1, query, past + new] */
  readonly allowed: Tensor;
  /** Whether keys and values from before and new ones are put together: elsewhere the past may be empty, and an empty product wrong. */
  readonly joined?: boolean;
}

export interface AttentionInputs {
  /** Where keys and values come from; the queries' own sequence if left out. */
  readonly source?: Tensor;
  /** Keys and values of a source, computed before. */
  readonly known?: KeysAndValues;
  /** Tokens before these, which are seen too. */
  readonly past?: Past;
  /** Where the queries of cross-attention stand, when they go on after others; from 0 on if left out. */
  readonly places?: Places;
  readonly causal?: boolean;
  /** Which keys a query may see: bool, broadcasting to [batch, head, query, key]. */
  readonly allowed?: Tensor;
  /** A table of relative positions that all layers share. */
  readonly relative?: Tensor;
  /** Values of the same tokens in the first layer, which are mixed with those of this one: [batch, kvHead, key, size]. */
  readonly firstValues?: Tensor;
  readonly weight?: Initialiser;
  readonly output?: Initialiser;
}

/** Queries, keys and values with what changes their scores. */
interface Parts {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly bias?: Tensor;
  readonly causal: boolean;
  readonly window?: number;
  readonly allowed?: Tensor;
  readonly past?: Past;
}

/** Multi-head attention: each query mixes the values of the keys it resembles. */
export const attention = layer("heads", (p, x: Tensor, config: AttentionConfig, inputs: AttentionInputs = {}): Tensor => {
  const { causal = false, allowed, output, past } = inputs;
  const width = x.shape[2].known;
  const [q0, k0, v] = projections(p, x, config, inputs);
  const placed = isCross(inputs) ? placedAcross(p, q0, k0, config, inputs) : placedWithin(p, q0, k0, config, inputs);
  const { bias } = placed;
  const q = p.tap("q", placed.q); // [batch, head, query, size]
  const k = p.tap("k", placed.k); // [batch, kvHead, key, size]
  const window = isCross(inputs) ? undefined : config.window;
  const values = inputs.firstValues ? mixedValues(p, v, inputs.firstValues) : v;
  const parts = { q, k, v: p.tap("v", values), bias, causal: causal && config.mask !== "none", window, allowed, past };
  const mixed = p.tap("mixed", isPlain(p, config) ? fused(p, parts, config) : stepByStep(p, parts, config)); // [batch, head, query, size]
  const merged = mergeHeads(mixed);
  const projected = () =>
    inPart("output projection", () => dense(p.at("out"), merged, width, { weight: output, bias: hasBias(config, "out") }));
  return p.tap("out", config.attention === "free" ? merged : projected());
});

function projections(p: Scope, x: Tensor, config: AttentionConfig, { source, known, weight }: AttentionInputs): [Tensor, Tensor, Tensor] {
  const options = headOptions(p, x.shape[2].known, config, weight);
  if (config.attention === "free") return freeParts(p, x, source ?? known?.k, config);
  const normed = (name: "q" | "k", y: Tensor) => headNorm(p, name, y, config);
  if (known) return [normed("q", queries(p, x, options)), known.k, known.v];
  const [q, k, v] = source ? [queries(p, x, options), ...sourceProjections(p, source, options)] : selfProjections(p, x, options);
  return [normed("q", q), normed("k", k), v];
}

const isCross = ({ source, known }: AttentionInputs): boolean => source !== undefined || known !== undefined;

/** Queries and keys that know their places, and what places add to the scores. */
interface Placed {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly bias?: Tensor;
}

/** Of one sequence. */
function placedWithin(p: Scope, q: Tensor, k: Tensor, config: AttentionConfig, inputs: AttentionInputs): Placed {
  const { causal = false, past, relative } = inputs;
  const order = { causal, places: past?.places, table: relative };
  const { rotate = (x: Tensor) => x, bias } = attentionPositions(p, config.positions, q, order, config);
  return { q: rotate(q), k: rotate(k), bias };
}

/** Of a target and its source, which are counted each from its own beginning. Keys that are known were turned when they were made. */
function placedAcross(p: Scope, q: Tensor, k: Tensor, config: AttentionConfig, { known, places }: AttentionInputs): Placed {
  return { q: turnedAcross(p, q, config, places), k: known ? k : turnedAcross(p, k, config) };
}

function turnedAcross(p: Scope, x: Tensor, config: AttentionConfig, places?: Places): Tensor {
  if (!config.crossPositions) return x;
  const { rotate } = attentionPositions(p, config.positions, x, { causal: false, places }, config);
  if (!rotate) throw new GraphError(`at ${p.path}: only rotary positions reach into cross-attention, not ${config.positions} ones`);
  return rotate(x);
}

/** λ₁ v + λ₂ v₁ with two learned numbers (Zhou et al. 2024): what tokens were in the first layer stays within reach. */
function mixedValues(p: Scope, v: Tensor, first: Tensor): Tensor {
  const share = (name: string) => p.at("values").param(name, [1], filled(0.5));
  return add(mul(v, share("own")), mul(first, share("first")));
}

/** Queries or keys over their size; all heads have one scale. */
const headNorm = (p: Scope, name: "q" | "k", x: Tensor, { qkNorm, epsilon }: AttentionConfig): Tensor =>
  qkNorm ? norm(p.at(`${name}-norm`), x, { kind: "rms", epsilon }) : x;

/** Whether these projections of a block have biases. */
export const hasBias = ({ bias = "all" }: Pick<AttentionConfig, "bias">, what: "qkv" | "out" | "feedforward"): boolean =>
  bias === "all" || bias === what;

/** The keys and values that cross-attention has for a source, to be computed once and used as `known`. */
export const knownSource = layer((p, source: Tensor, config: AttentionConfig): KeysAndValues => {
  const [k, v] = sourceProjections(p, source, headOptions(p, source.shape[2].known, config));
  return { k: turnedAcross(p, headNorm(p, "k", k, config), config), v };
});

function headOptions(p: Scope, width: number, config: AttentionConfig, weight?: Initialiser): HeadOptions {
  const { heads, kvHeads, multiHead, keySize, valueSize, score, attention: kind } = config;
  if (kind === "free" && (score === "bilinear" || score === "additive")) {
    throw new GraphError(`at ${p.path}: parameter-free attention compares by dot product; the ${score} score has parameters`);
  }
  const size = keySize !== undefined && valueSize !== undefined ? 0 : headSize(width, heads, multiHead);
  const sizes = { keySize: keySize ?? size, valueSize: valueSize ?? size };
  return { heads, kvHeads, multiHead, ...sizes, bias: hasBias(config, "qkv"), weight };
}

/** y_i = Σ_j softmax(x_i·x_j) x_j: the sequence itself is query, key and value. */
function freeParts(p: Scope, x: Tensor, source: Tensor | undefined, { heads }: AttentionConfig): [Tensor, Tensor, Tensor] {
  if (source) throw new GraphError(`at ${p.path}: parameter-free attention is self-attention; cross-attention needs projections`);
  const parts = splitHeads(x, heads);
  return [parts, parts, parts];
}

/** Whether one op can do it: a softmax over masked dot products. */
export const isFused = ({ attention: kind, score, mask }: Pick<AttentionConfig, "attention" | "score" | "mask">): boolean =>
  kind !== "linear" && (score === "scaled" || score === "dot") && mask !== "after-softmax";

/** The same, where nobody looks at it. */
const isPlain = (p: Scope, config: AttentionConfig): boolean => isFused(config) && !p.isTapped("scores", "pattern");

/** Scores, mask, softmax, mix: each step can be tapped and patched. */
function stepByStep(p: Scope, given: Parts, config: AttentionConfig): Tensor {
  const parts = given.past ? { ...given, ...withPast(given, given.past) } : given;
  const { q, bias } = parts;
  const [k, v] = [parts.k, parts.v].map((x) => repeatHeads(x, q.shape[1]));
  const raw = scoresOf(p, config.score, q, k, config.scale); // [batch, head, query, key]
  const capped = inPart("scores", () => softCapped(raw, config.scoreCap));
  const scores = p.tap("scores", bias ? inPart("scores", () => add(capped, bias)) : capped);
  const pattern = inPart("softmax", () => p.tap("pattern", patternOf(scores, parts, config)));
  return inPart("weighted sum", () => matmul(drop(p.at("pattern"), pattern, config.dropout), v));
}

/** cap · tanh(x/cap): hardly changed where it is small, and never beyond the cap. */
export const softCapped = (x: Tensor, cap: number | undefined): Tensor => (cap === undefined ? x : mul(tanh(mul(x, 1 / cap)), cap));

function patternOf(scores: Tensor, parts: Parts, { attention: kind, mask: place }: AttentionConfig): Tensor {
  const { allowed } = parts;
  const mask = maskOf(parts);
  const zeroed = (x: Tensor) => (mask ? mul(x, cast(mask, x.dtype)) : x);
  // Without a softmax a masked score is multiplied by 0: the lowest number would be garbage here.
  if (kind === "linear") return zeroed(scores);
  // After it, rows no longer sum to one, and the denominator has seen the future. It never sees what is not allowed, such as padding.
  if (place === "after-softmax") return zeroed(softmax(allowed ? masked(scores, allowed) : scores));
  return softmax(mask ? masked(scores, mask) : scores);
}

/** Keys and values from before and new ones, put together. */
const withPast = ({ k, v }: Parts, past: Past) => ({
  k: concat([past.k, k], 2),
  v: concat([past.v, v], 2),
  causal: false, // what is allowed says it
  window: undefined,
  allowed: past.allowed,
});

function maskOf({ q, k, causal, window, allowed }: Parts): Tensor | undefined {
  const [query, key] = [q.shape[2], k.shape[2]];
  return inPart("softmax", () => {
    const masks = [
      ...(causal ? [causalMask(query, key)] : []),
      ...(window === undefined ? [] : [windowMask(query, key, window, { causal })]),
      ...(allowed ? [allowed] : []),
    ];
    return masks.length === 0 ? undefined : masks.reduce((a, b) => and(a, b));
  });
}

/** The same in one op for each block of queries. With a causal mask alone, a block leaves out the keys that all of its queries are too early for. */
function fused(p: Scope, parts: Parts, config: AttentionConfig): Tensor {
  const { q, k, v, bias, causal, window, allowed, past } = parts;
  const { score, scale: given = q.shape[3].known ** -0.5, scoreCap: cap, dropout: rate } = config;
  const scale = score === "scaled" ? given : 1;
  const groups = new Groups(q.shape[1], k.shape[1]);
  if (past) {
    const seen = groups.bias(additive(past.allowed, bias, q) as Tensor);
    if (!past.joined) return groups.back(attendPast(groups.rows(q), past, { k, v }, { scale, cap, bias: seen }));
    return groups.back(attend(groups.rows(q), concat([past.k, k], 2), concat([past.v, v], 2), { scale, cap, bias: seen }).mixed);
  }
  const noise = dropNoise(p.at("pattern"), [...q.shape.slice(0, 3), k.shape[2]], rate);
  const count = causal && !allowed ? blockCount(q.shape[2]) : 1;
  const [blocks, keys, values] = [q, k, v].map((x) => split(x, 2, count));
  const mixed = blocks.map((block, i) => {
    const seen = (all: readonly Tensor[]) => (count === 1 ? all[0] : concat(all.slice(0, i + 1), 2));
    const own = { q: block, k: seen(keys), v: seen(values), causal, window, allowed };
    const rows = (x: Tensor | undefined) => (x && count > 1 ? blockOf(x, block.shape[2], i) : x);
    const dropped = rows(noise);
    const added = additive(maskOf(own), rows(bias), q);
    const options = {
      scale,
      cap,
      bias: added && groups.bias(added),
      ...(dropped && { dropout: { noise: groups.rows(dropped), rate, by: p.noiseKind } }),
    };
    return groups.back(attend(groups.rows(own.q), own.k, own.v, options).mixed);
  });
  return count === 1 ? mixed[0] : concat(mixed, 2);
}

/** The rows of [… query, key] for one block of queries, and the keys up to its end. */
function blockOf(x: Tensor, size: Dim, index: number): Tensor {
  const [end, axis] = [size.times(index + 1), x.shape.length - 2];
  return slice(slice(x, axis, size.times(index), end), axis + 1, 0, end);
}

/** A mask and a bias as one tensor that is added to the scores. */
function additive(mask: Tensor | undefined, bias: Tensor | undefined, like: Tensor): Tensor | undefined {
  if (!mask) return bias;
  return inPart("softmax", () => where(mask, bias ?? fill(like.dtype, [], 0), lowest[like.dtype as "float32"]));
}

/** Blocks pay from a few hundred positions on. */
function blockCount(time: Dim): number {
  const { value = 0 } = time;
  return [8, 4, 2].find((count) => value % count === 0 && value / count >= 128) ?? 1;
}
