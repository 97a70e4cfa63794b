import { z } from "zod";
import { ConfigError } from "../base/errors.ts";
import { sentence, setting, type Wording } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { maskPlaces, mixKinds } from "../layers/attention.ts";
import { normPlaces } from "../layers/block.ts";
import { activations } from "../layers/feedforward.ts";
import { multiHeadKinds } from "../layers/heads.ts";
import { normKinds } from "../layers/norm.ts";
import { positionJoins, positionKinds } from "../layers/positions.ts";
import { cells } from "../layers/recurrent.ts";
import { scoreKinds } from "../layers/scores.ts";
import { labellings, type Task } from "../text/columns.ts";
import { between, codeOf, whole } from "./bounds.ts";

// One typed config for each model, checked once, at the edge. Every choice has the name that the command line gives it.

/** What each model can be trained for. */
export const modelTasks = {
  decoder: ["lm"],
  encoder: ["classify", "tag"],
  "encoder-decoder": ["translate"],
  rnn: ["lm", "translate"],
} as const satisfies Readonly<Record<string, readonly Task[]>>;

/** How an encoder gathers a text: the mean over its positions, or a token of its own in front. */
export const pools = ["mean", "class"] as const;

const count = whole(1, 1_000_000);
/** Every layer is built one by one, so a number that nobody could train is refused before that. */
const widthCount = whole(1, 200_000);
const layerCount = whole(1, 1000);
const share = between(0, 0.99);

const blockFields = {
  layers: layerCount.default(4).describe("blocks on top of each other"),
  heads: count.default(4).describe("heads of attention"),
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
  mask: z.enum(maskPlaces).default("before-softmax").describe("where the causal mask is applied"),
  positions: z.enum(positionKinds).default("learned").describe("how order is told"),
  joinPositions: z.enum(positionJoins).default("add").describe("how learned and sinusoidal positions join the tokens"),
  norm: z.enum(normKinds).default("layer").describe("which normalisation"),
  normPlace: z.enum(normPlaces).default("pre").describe("before each sublayer, or after it"),
  normAffine: z.boolean().default(true).describe("whether norms have a scale and a bias of their own"),
  activation: z.enum(activations).default("gelu").describe("inside the feed-forward layer"),
  residual: z.boolean().default(true).describe("whether each sublayer is added to what it is given"),
  feedforward: z.boolean().default(true).describe("whether blocks have a feed-forward layer"),
};

const decoderSchema = z.strictObject({
  model: z.literal("decoder").default("decoder"),
  ...blockFields,
  tie: z.boolean().default(true).describe("whether the output weights are those of the embeddings"),
});

const encoderSchema = z.strictObject({
  model: z.literal("encoder").default("encoder"),
  ...blockFields,
  layers: whole(0, 1000).default(4).describe("blocks on top of each other; with none, the tokens themselves are classified"),
  task: z.enum(modelTasks.encoder).default("classify").describe("one label for the whole text, or one for each position"),
  labels: count.describe("how many labels or tags there are"),
  labelling: z
    .enum(labellings)
    .default("one")
    .describe("whether the labels of a text exclude each other (softmax), or each is there or not (sigmoid)"),
  pool: z.enum(pools).default("mean").describe("how a text is gathered: the mean over its positions, or a token of its own in front"),
});

const encoderDecoderSchema = z.strictObject({
  model: z.literal("encoder-decoder").default("encoder-decoder"),
  ...blockFields,
  sourceVocab: count.optional().describe("entries of the source's vocabulary; that of the target if left out"),
  tie: z.boolean().default(true).describe("whether the output weights are those of the embeddings"),
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
export type TransformerConfig = Omit<DecoderConfig, "model" | "tie">;

export const decoderConfig = (given: DecoderInput): DecoderConfig => fitting(parseConfig("decoder", given));

export function encoderConfig(given: EncoderInput): EncoderConfig {
  const config = fitting(parseConfig("encoder", given));
  refuseIf(config.task === "tag" && config.labelling === "several", "labelling", "a tagger gives one tag to each token, not several");
  return config;
}

export function encoderDecoderConfig(given: EncoderDecoderInput): EncoderDecoderConfig {
  const config = fitting(parseConfig("encoder-decoder", given));
  refuseIf(
    config.attention === "free",
    "attention",
    "parameter-free attention is self-attention, and an encoder–decoder needs cross-attention too",
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
  refuseIf(
    positions === "rotary" && size % 2 !== 0,
    "positions",
    sentence`rotary positions turn pairs, so the head size must be even, not ${size}; change heads, width or ${setting("keySize")}`,
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
  return config;
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
