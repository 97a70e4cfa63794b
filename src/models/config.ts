import * as z from "zod";
import { ConfigError } from "../base/errors.ts";
import { either, sentence, setting, type Wording } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { maskPlaces, mixKinds } from "../layers/attention.ts";
import { normPlaces, parallels } from "../layers/block.ts";
import { activations } from "../layers/feedforward.ts";
import { biasKinds, multiHeadKinds } from "../layers/heads.ts";
import { normKinds } from "../layers/norm.ts";
import { positionJoins, positionKinds, ropeScalings, turnedSize } from "../layers/positions.ts";
import { cells, recurrences } from "../layers/recurrent.ts";
import { scoreKinds } from "../layers/scores.ts";
import { labellings, type ModelTask } from "../text/columns.ts";
import { between, codeOf, positive, whole } from "./bounds.ts";

// One typed config for each model, checked once, at the edge. Every choice has the name that the command line gives it.

/** What each model can be trained for. */
export const modelTasks = {
  decoder: ["lm"],
  encoder: ["classify", "tag", "embed", "mlm"],
  "encoder-decoder": ["translate"],
  rnn: ["lm", "translate"],
} as const satisfies Readonly<Record<string, readonly ModelTask[]>>;

/** How an encoder gathers a text: the mean over its positions, a token of its own in front, or its first or last token. */
export const pools = ["mean", "class", "first", "last"] as const;

/** What the layer between a gathered text and its labels goes through; none is no such layer. */
export const poolers = ["none", "tanh", "relu"] as const;

const count = whole(1, 1_000_000);
/** Every layer is built one by one, so a number that nobody could train is refused before that. */
const widthCount = whole(1, 200_000);
const layerCount = whole(1, 1000);
const share = between(0, 0.99);

const blockFields = {
  layers: layerCount.default(4).describe("blocks on top of each other"),
  heads: count.default(4).describe("heads of attention"),
  kvHeads: count.optional().describe("heads of keys and values, each for as many heads of queries; one for each if left out"),
  width: widthCount.default(128).describe("numbers that describe a token between the layers"),
  hidden: whole(1, 8_000_000).optional().describe("size inside the feed-forward layer; 4 × width if left out"),
  context: count.default(64).describe("the most tokens that are seen at once"),
  vocab: count.describe("entries of the vocabulary"),
  dropout: share.default(0).describe("share of numbers that are dropped while training"),
  keySize: count.optional().describe("size of queries and keys in a head; width/heads if left out"),
  valueSize: count.optional().describe("size of values in a head; width/heads if left out"),
  multiHead: z
    .enum(multiHeadKinds)
    .default("split")
    .describe("how the width is shared among heads: cut after the projection, cut before it, or not cut"),
  score: z.enum(scoreKinds).default("scaled").describe("how a query is compared with a key"),
  attention: z.enum(mixKinds).default("softmax").describe("how values are mixed: with a softmax, without one, or without any parameters"),
  scale: positive(1e6).optional().describe("multiplies q·k in place of 1/√size (score scaled)"),
  scoreCap: positive(1e6).optional().describe("scores of attention go through cap · tanh(score/cap) before the mask"),
  qkNorm: z.boolean().default(false).describe("whether queries and keys of each head are normalised (RMSNorm) before they are compared"),
  valueResidual: z
    .boolean()
    .default(false)
    .describe("whether values of the layers after the first are mixed with those of the first, in shares that are learned"),
  window: count
    .optional()
    .describe("how many keys a query sees, itself included: the last ones, in an encoder as many ahead; all if left out"),
  windowEvery: count.optional().describe("every so many layers one sees everything; all layers have the window if left out"),
  mask: z.enum(maskPlaces).default("before-softmax").describe("where the causal mask is applied"),
  positions: z.enum(positionKinds).default("learned").describe("how order is told"),
  joinPositions: z.enum(positionJoins).default("add").describe("how learned and sinusoidal positions join the tokens"),
  ropeBase: between(1, 1e12).default(10_000).describe("rotary: pair i is turned by base^(−2i/size) for each position"),
  ropeShare: positive(1).default(1).describe("rotary: share of each head that is turned, from its front"),
  ropeLocalBase: between(1, 1e12).optional().describe("rotary: the base in layers with a window, which are not stretched either"),
  ropeScaling: z.enum(ropeScalings).default("none").describe("rotary: how angles are stretched for a longer context"),
  ropeFactor: positive(1e6).default(8).describe("rotary: by how much they are stretched"),
  ropeLowFactor: positive(1e6).default(1).describe("rotary, llama3: pairs with fewer turns over the original context are stretched whole"),
  ropeHighFactor: positive(1e6).default(4).describe("rotary, llama3: pairs with more turns over it stay as they are"),
  ropeOriginal: whole(1, 1e9).default(8192).describe("rotary, llama3: the context before it was stretched"),
  relativeShared: z.boolean().default(false).describe("relative: whether all layers of a stack have one table"),
  relativeBuckets: whole(4, 10_000).default(32).describe("relative: how many buckets of distances there are"),
  relativeFarthest: whole(2, 1_000_000).default(128).describe("relative: the distance from which on all are in the last bucket"),
  segments: whole(0, 1000).default(0).describe("rows of a table of segments, whose first row is added to every token; no table if 0"),
  embeddingScale: positive(1e6)
    .optional()
    .describe("multiplies tokens that are looked up; √width beside sinusoidal positions and 1 elsewhere if left out"),
  embeddingNorm: z.boolean().default(false).describe("whether tokens with their positions are normalised before the first block"),
  norm: z.enum(normKinds).default("layer").describe("which normalisation"),
  normPlace: z
    .enum(normPlaces)
    .default("pre")
    .describe("before each sublayer, after it and its residual connection, or before it and after it inside that connection"),
  normAffine: z.boolean().default(true).describe("whether norms have a scale and a bias of their own"),
  normBias: z.boolean().default(true).describe("whether LayerNorm has a bias beside its scale"),
  epsilon: between(0, 1).optional().describe("what norms add under the root; 1e-5 for layer and 1e-6 for rms if left out"),
  parallel: z
    .enum(parallels)
    .default("none")
    .describe("whether the sublayers of a block work side by side on the same input, each with a norm of its own or all with one"),
  bias: z
    .enum(biasKinds)
    .default("all")
    .describe("which projections of a block have biases: all (never those with a gate), those of queries, keys and values, or none"),
  activation: z.enum(activations).default("gelu").describe("inside the feed-forward layer"),
  residual: z.boolean().default(true).describe("whether each sublayer is added to what it is given"),
  feedforward: z.boolean().default(true).describe("whether blocks have a feed-forward layer"),
  zeroInit: z
    .boolean()
    .default(false)
    .describe("whether projections into the residual stream, and scores of tokens with weights of their own, start at 0"),
};

/** How states become scores of tokens. */
const scoreFields = {
  tie: z.boolean().default(true).describe("whether the output weights are those of the embeddings"),
  scoresScale: positive(1e6).optional().describe("multiplies the last states before the scores of tokens"),
  scoresBias: z.boolean().default(false).describe("whether the scores of tokens have a bias"),
  scoresCap: positive(1e6).optional().describe("scores of tokens go through cap · tanh(score/cap)"),
};

const decoderSchema = z.strictObject({
  model: z.literal("decoder").default("decoder"),
  ...blockFields,
  ...scoreFields,
});

const encoderSchema = z.strictObject({
  model: z.literal("encoder").default("encoder"),
  ...blockFields,
  layers: whole(0, 1000).default(4).describe("blocks on top of each other; with none, the tokens themselves are classified"),
  task: z
    .enum(modelTasks.encoder)
    .default("classify")
    .describe("one label for the whole text, one for each position, a vector for the text, or the tokens that are hidden in it"),
  labels: whole(0, 1_000_000).default(0).describe("how many labels or tags there are (classify, tag)"),
  labelling: z
    .enum(labellings)
    .default("one")
    .describe("whether the labels of a text exclude each other (softmax), or each is there or not (sigmoid)"),
  pool: z
    .enum(pools)
    .default("mean")
    .describe("how a text is gathered: the mean over its positions, a token of its own in front, its first token, or its last"),
  pooler: z.enum(poolers).default("none").describe("a layer with this function between the gathered text and its labels"),
  normalise: z.boolean().default(false).describe("whether vectors of texts have length 1 (embed)"),
  causal: z.boolean().default(false).describe("whether each position sees only itself and what came before, as in a decoder"),
  ...scoreFields,
  headTransform: z
    .boolean()
    .default(true)
    .describe("whether a layer with the activation and a norm comes before the scores of tokens (mlm)"),
});

const encoderDecoderSchema = z.strictObject({
  model: z.literal("encoder-decoder").default("encoder-decoder"),
  ...blockFields,
  sourceVocab: count.optional().describe("entries of the source's vocabulary; that of the target if left out"),
  decoderLayers: layerCount.optional().describe("blocks of the decoder; as many as the encoder has if left out"),
  decoderHeads: count.optional().describe("heads of the decoder; as many as the encoder has if left out"),
  decoderHidden: whole(1, 8_000_000).optional().describe("size inside the decoder's feed-forward layers; the encoder's if left out"),
  crossPositions: z
    .boolean()
    .default(false)
    .describe("rotary: whether queries and keys of cross-attention are turned too, each by its place in its own sequence"),
  ...scoreFields,
});

const rnnSchema = z.strictObject({
  model: z.literal("rnn").default("rnn"),
  task: z.enum(modelTasks.rnn).default("translate").describe("writes on, or writes what a source becomes"),
  cell: z.enum(cells).default("gru").describe("the recurrent cell"),
  layers: layerCount.default(1).describe("recurrent layers on top of each other"),
  width: widthCount.default(128).describe("numbers of a state and of a token"),
  vocab: count.describe("entries of the vocabulary"),
  sourceVocab: count.optional().describe("entries of the source's vocabulary; that of the target if left out"),
  context: count.default(64).describe("the most tokens that are seen at once"),
  dropout: share.default(0).describe("share of numbers that are dropped while training"),
  bidirectional: z.boolean().default(false).describe("whether the encoder reads both ways"),
  attention: z.boolean().default(true).describe("whether each step mixes the encoder's states; without, the source is one vector"),
  score: z.enum(scoreKinds).default("additive").describe("how a query is compared with a key"),
  tie: z.boolean().default(false).describe("whether the output weights are those of the embeddings"),
  recurrence: z
    .enum(recurrences)
    .default("unrolled")
    .describe("how it is computed: every step written out, or one loop for all lengths; the weights are the same"),
});

export type DecoderInput = z.input<typeof decoderSchema>;
export type EncoderInput = z.input<typeof encoderSchema>;
export type EncoderDecoderInput = z.input<typeof encoderDecoderSchema>;
export type RnnInput = z.input<typeof rnnSchema>;

export type DecoderConfig = z.output<typeof decoderSchema>;
export type EncoderConfig = z.output<typeof encoderSchema>;
export type EncoderDecoderConfig = z.output<typeof encoderDecoderSchema>;
export type RnnConfig = z.output<typeof rnnSchema>;

/** What the three Transformers share. */
export type TransformerConfig = Omit<DecoderConfig, "model" | keyof typeof scoreFields>;

/** How its states become scores of tokens. */
export type ScoreConfig = Pick<DecoderConfig, "vocab" | "zeroInit" | keyof typeof scoreFields>;

/** An encoder–decoder's config as it counts in its decoder. */
export const decoderSide = <C extends EncoderDecoderConfig>(config: C): C => ({
  ...config,
  layers: config.decoderLayers ?? config.layers,
  heads: config.decoderHeads ?? config.heads,
  hidden: config.decoderHidden ?? config.hidden,
});

/** How many heads of keys and values there are. */
export const kvHeadsOf = ({ heads, kvHeads = heads }: TransformerConfig): number => kvHeads;

/** The window of a layer, if it has one. */
export const windowAt = ({ window, windowEvery }: TransformerConfig, layer: number): number | undefined =>
  windowEvery !== undefined && (layer + 1) % windowEvery === 0 ? undefined : window;

export const decoderConfig = (given: DecoderInput): DecoderConfig => fitting(parseConfig("decoder", given));

export function encoderConfig(given: EncoderInput): EncoderConfig {
  const config = fitting(parseConfig("encoder", given));
  const { task, labels, labelling, pooler } = config;
  const labelled = task === "classify" || task === "tag";
  refuseIf(labelled && labels === 0, "labels", "a whole number from 1 to 1,000,000 is wanted, not nothing");
  refuseIf(!labelled && labels > 0, "labels", sentence`there are no labels in ${setting("task", task)}; leave them out`);
  refuseIf(task === "tag" && labelling === "several", "labelling", "a tagger gives one tag to each token, not several");
  refuseIf(pooler !== "none" && (task === "tag" || task === "mlm"), "pooler", pooledOnly);
  refuseIf(
    task !== "embed" && config.normalise,
    "normalise",
    sentence`only vectors of texts have a length; use it with ${setting("task", "embed")}`,
  );
  for (const [key, usual] of Object.entries(usualScores)) {
    const set = config[key as keyof typeof usualScores] !== usual;
    if (task !== "mlm" && set)
      throw new ConfigError(
        sentence`an encoder in ${setting("task", task)} gives no scores of tokens; it has this in ${setting("task", "mlm")}, and ${either(modelsWith(key).filter((name) => name !== "encoder"))} always`,
        { code: "config.conflict", ...placeOf([key]) },
      );
  }
  return config;
}

/** Only hidden tokens are scored; elsewhere these have their usual values. */
export const usualScores = { tie: true, scoresScale: undefined, scoresBias: false, scoresCap: undefined } as const;

const pooledOnly = sentence`a layer after gathering is for whole texts: ${setting("task", "classify")} or ${setting("task", "embed")}`;

export function encoderDecoderConfig(given: EncoderDecoderInput): EncoderDecoderConfig {
  const config = fitting(parseConfig("encoder-decoder", given));
  fitting(decoderSide(config));
  refuseIf(
    config.attention === "free",
    "attention",
    "parameter-free attention is self-attention, and an encoder–decoder needs cross-attention too",
  );
  refuseIf(
    config.crossPositions && config.positions !== "rotary",
    "crossPositions",
    sentence`only rotary positions reach into cross-attention, and these are ${config.positions}; use it with ${setting("positions", "rotary")}`,
  );
  return config;
}

export function rnnConfig(given: RnnInput): RnnConfig {
  const config = parseConfig("rnn", given);
  refuseIf(
    config.task === "lm" && config.bidirectional,
    "bidirectional",
    "a language model reads in one direction, or it would see what it should foretell",
  );
  refuseIf(config.task === "lm" && config.sourceVocab !== undefined, "sourceVocab", "a language model has no source");
  return config;
}

function refuseIf(wrong: boolean, key: string, reason: Wording): void {
  if (wrong) throw new ConfigError(reason, { code: "config.conflict", ...placeOf([key]) });
}

const placeOf = (keys: readonly PropertyKey[]) => ({ at: ["config", ...keys].join("."), path: ["model", ...keys].join(".") });

/** Choices that are each right, but not together. */
function fitting<C extends TransformerConfig>(config: C): C {
  const { width, heads, multiHead, keySize, valueSize, positions, joinPositions, attention, score } = config;
  const cut =
    multiHead === "narrow" || attention === "free" || (multiHead === "split" && (keySize === undefined || valueSize === undefined));
  refuseIf(
    cut && width % heads !== 0,
    "heads",
    sentence`a ${setting("width")} of ${width} is not divisible into ${heads} heads; change one of them, or give ${setting("keySize")} and ${setting("valueSize")} with split heads`,
  );
  const size = attention === "free" ? width / heads : (keySize ?? (multiHead === "wide" ? width : width / heads));
  const front = turnedSize(size, config.ropeShare);
  refuseIf(
    positions === "rotary" && config.ropeShare === 1 && size % 2 !== 0,
    "positions",
    sentence`rotary positions turn pairs, so the head size must be even, not ${size}; change heads, width or ${setting("keySize")}`,
  );
  refuseIf(
    positions === "rotary" && (front === 0 || front % 2 !== 0),
    "ropeShare",
    sentence`rotary positions turn pairs, and a ${setting("ropeShare")} of ${config.ropeShare} of a head of ${size} is ${front}; choose a share that makes an even number, at least 2`,
  );
  refuseIf(
    positions === "sinusoidal" && width % 2 !== 0,
    "positions",
    `sinusoidal positions come in pairs, so the width must be even, not ${width}`,
  );
  const additive = positions === "learned" || positions === "sinusoidal";
  refuseIf(
    joinPositions === "concat" && !additive,
    "joinPositions",
    `${positions} positions act inside attention; only learned and sinusoidal ones can be joined to the tokens`,
  );
  refuseIf(
    attention === "free" && (score === "bilinear" || score === "additive"),
    "score",
    `parameter-free attention compares by dot product; the ${score} score has parameters`,
  );
  refuseIf(
    attention === "free" && (keySize !== undefined || valueSize !== undefined || multiHead === "wide"),
    "attention",
    "parameter-free attention has no projections, so its heads are parts of the width",
  );
  fittingHeads(config);
  fittingPositions(config);
  fittingBlocks(config);
  return config;
}

function fittingHeads({ heads, kvHeads = heads, attention, qkNorm, valueResidual, scale, score }: TransformerConfig): void {
  refuseIf(
    heads % kvHeads !== 0,
    "kvHeads",
    sentence`${kvHeads} heads of keys and values cannot serve ${heads} heads of queries equally; ${setting("kvHeads")} must divide ${setting("heads")}: ${divisors(heads)}`,
  );
  refuseIf(
    attention === "free" && (kvHeads !== heads || qkNorm),
    kvHeads === heads ? "qkNorm" : "kvHeads",
    "parameter-free attention has no queries and keys apart from the tokens themselves; leave it out, or choose attention with a softmax",
  );
  refuseIf(
    attention === "free" && valueResidual,
    "valueResidual",
    "parameter-free attention has no values apart from the tokens themselves; leave it out, or choose attention with a softmax",
  );
  refuseIf(
    scale !== undefined && score !== "scaled",
    "scale",
    sentence`the ${score} score has no scale; use it with ${setting("score", "scaled")}`,
  );
}

const divisors = (n: number): string =>
  Array.from({ length: n }, (_, i) => i + 1)
    .filter((i) => n % i === 0)
    .join(", ");

/** Settings of one kind of positions, with the values that they have unless they are given. */
const kindOfPositions = {
  rotary: { ropeBase: 10_000, ropeShare: 1, ropeLocalBase: undefined, ropeScaling: "none" },
  relative: { relativeShared: false, relativeBuckets: 32, relativeFarthest: 128 },
} as const;

function fittingPositions(config: TransformerConfig): void {
  for (const [kind, usual] of Object.entries(kindOfPositions)) {
    const given = Object.entries(usual).find(([key, value]) => config[key as keyof TransformerConfig] !== value);
    refuseIf(
      config.positions !== kind && given !== undefined,
      given?.[0] ?? "positions",
      sentence`it is for ${kind} positions, and these are ${config.positions}; use it with ${setting("positions", kind)}`,
    );
  }
  const { relativeBuckets: buckets, relativeFarthest: farthest } = config;
  refuseIf(
    buckets % 4 !== 0,
    "relativeBuckets",
    `half of the buckets on each side are for single distances, so their number must be divisible by 4, not ${buckets}`,
  );
  refuseIf(
    farthest <= buckets / 2,
    "relativeFarthest",
    sentence`${buckets / 2} buckets are for single distances, so the farthest must be above ${buckets / 2}, not ${farthest}; raise it, or lower ${setting("relativeBuckets")}`,
  );
  refuseIf(
    config.ropeHighFactor <= config.ropeLowFactor,
    "ropeHighFactor",
    sentence`it must be above ${setting("ropeLowFactor")}, which is ${config.ropeLowFactor}, not ${config.ropeHighFactor}`,
  );
  for (const key of ["windowEvery", "ropeLocalBase"] as const)
    refuseIf(
      config[key] !== undefined && config.window === undefined,
      key,
      sentence`no layer has a window; give ${setting("window")} too, or leave it out`,
    );
}

function fittingBlocks({ norm, normPlace, embeddingNorm, parallel, zeroInit, residual }: TransformerConfig): void {
  refuseIf(
    zeroInit && !residual,
    "zeroInit",
    sentence`with ${setting("residual", false)} nothing would come through blocks that start at 0; leave one of the two out`,
  );
  refuseIf(
    zeroInit && normPlace === "both" && norm !== "none",
    "zeroInit",
    sentence`a norm after each sublayer would divide by 0; use it with ${setting("normPlace", ["pre", "post"])}`,
  );
  refuseIf(
    embeddingNorm && norm === "none",
    "embeddingNorm",
    sentence`there is no norm to use; choose ${setting("norm", ["layer", "rms"])}, or leave it out`,
  );
  refuseIf(
    parallel !== "none" && normPlace === "post",
    "parallel",
    sentence`a norm after each sublayer leaves nothing to do side by side; use it with ${setting("normPlace", ["pre", "both"])}`,
  );
}

/** The options of each model, with what they are: what configs are checked by, and the reference is made of. */
export const modelSchemas = {
  decoder: decoderSchema,
  encoder: encoderSchema,
  "encoder-decoder": encoderDecoderSchema,
  rnn: rnnSchema,
} as const;
type Schemas = typeof modelSchemas;

/** The models that have a setting of this name. */
const modelsWith = (key: string): string[] =>
  Object.entries(modelSchemas)
    .filter(([, schema]) => Object.hasOwn(schema.shape, key))
    .map(([name]) => name);

function parseConfig<Name extends keyof Schemas>(name: Name, given: unknown): z.output<Schemas[Name]> {
  const schema: z.ZodObject = modelSchemas[name];
  const result = schema.safeParse(given);
  if (result.success) return result.data as z.output<Schemas[Name]>;
  const [issue] = result.error.issues;
  if (issue.code !== "unrecognized_keys") throw new ConfigError(issue.message, { code: codeOf(issue), ...placeOf(issue.path) });
  const [key] = issue.keys;
  const place = placeOf([...issue.path, key]);
  const able = modelsWith(key);
  if (able.length === 0) throw new ConfigError(`unknown key${suggest(key, Object.keys(schema.shape))}`, { code: codeOf(issue), ...place });
  const models = { given: name, able };
  throw new ConfigError(`not a setting of model ${name}, but of ${able.join(", ")}`, { code: "config.other-model", models, ...place });
}
