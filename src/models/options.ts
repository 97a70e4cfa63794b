import type { MaskPlace, MixKind } from "../layers/attention.ts";
import type { NormPlace, Parallel } from "../layers/block.ts";
import type { Activation } from "../layers/feedforward.ts";
import type { BiasKind, MultiHead } from "../layers/heads.ts";
import type { NormKind } from "../layers/norm.ts";
import type { PositionJoin, PositionKind, RopeScaling } from "../layers/positions.ts";
import type { Cell, RecurrenceForm } from "../layers/recurrent.ts";
import type { Score } from "../layers/scores.ts";
import type { ModelName } from "./any.ts";
import type { poolers, pools } from "./config.ts";
import { choice, grouped, number, type Option, positive, toggle } from "./option.ts";

// Every option of the models with what it does. Names of choices are held by types, ranges and usual values by a test against the schemas.

type Choices<Name extends string> = Readonly<Record<Name, string>>;

const transformers: readonly ModelName[] = ["decoder", "encoder", "encoder-decoder"];
const ofTransformers = { models: transformers };
const writers = { models: ["decoder", "encoder", "encoder-decoder"] as readonly ModelName[], tasks: ["lm", "translate", "mlm"] as const };

const models: Choices<ModelName> = {
  decoder: "a Transformer decoder: every token sees those before it, and the next one is foretold",
  encoder: "a Transformer encoder: every token sees the whole text, which is classified, tagged or filled in",
  "encoder-decoder": "the Transformer of 2017: an encoder reads a source, and a decoder that looks at it writes the target",
  rnn: "a recurrent network, which reads a token after the other; with attention over the source, if it translates",
};

const scores: Choices<Score> = {
  scaled: "q·k/√size: the dot product, kept from growing with the size of a head",
  dot: "q·k as it is",
  bilinear: "q·W·k with a matrix of its own",
  additive: "v·tanh(W·q + U·k), the first attention (Bahdanau et al. 2014)",
};
const mixes: Choices<MixKind> = {
  softmax: "weights that are positive and sum to 1",
  linear: "the scores themselves as weights, without a softmax",
  free: "no projections at all: tokens are compared with each other as they are",
};
const masks: Choices<MaskPlace> = {
  "before-softmax": "scores of what lies ahead become −∞, so the weights of the rest sum to 1",
  "after-softmax": "weights of what lies ahead become 0 after the softmax has seen them: they do not sum to 1 any more",
  none: "no causal mask: the model sees what it should foretell, and learns to copy",
};
const heads: Choices<MultiHead> = {
  split: "projected at full width and then cut into heads, as usual",
  narrow: "the tokens are cut first, so each head projects its own stretch of them",
  wide: "nothing is cut: each head has the full width",
};
const positions: Choices<PositionKind> = {
  learned: "a table with a vector for each place, which is learned; it ends where the context ends",
  sinusoidal: "sines and cosines of the place, as in the paper of 2017",
  rotary: "queries and keys are turned by an angle that grows with their place, so scores tell distances (RoPE)",
  alibi: "scores fall with the distance, in each head at a slope of its own",
  relative: "a learned number for each bucket of distances is added to the scores (T5)",
  none: "no positions: an encoder then sees a bag of words, a decoder only what its mask tells",
};
const joins: Choices<PositionJoin> = {
  add: "added to the tokens",
  concat: "put beside the tokens and projected back to the width",
};
const ropes: Choices<RopeScaling> = {
  none: "not stretched",
  linear: "all places are divided by the factor",
  llama3: "slow turns are stretched, fast ones stay, and those between are blended, as in Llama 3.1",
};
const norms: Choices<NormKind> = {
  layer: "LayerNorm: the mean is taken away, and what is left divided by its standard deviation",
  rms: "RMSNorm: divided by the root of the mean square only, which is cheaper and does as well",
  none: "no norms; training then easily breaks off",
};
const places: Choices<NormPlace> = {
  pre: "before each sublayer: the residual stream goes through untouched, and deep models train well",
  post: "after the sum of sublayer and residual, as in the paper of 2017; it needs a warm-up",
  both: "before each sublayer and after it, inside the residual connection",
};
const parallel: Choices<Parallel> = {
  none: "attention first, then the feed-forward layer on what it gave",
  "own-norm": "both on the same input, each with a norm of its own (GPT-NeoX)",
  "shared-norm": "both on the same input with one norm (GPT-J, Phi)",
};
const biases: Choices<BiasKind> = {
  all: "all but those with a gate",
  qkv: "queries, keys and values only",
  none: "none",
};
const functions: Choices<Activation> = {
  relu: "max(0, x)",
  relu2: "max(0, x)²: the cheapest to compute, without a gate (Primer)",
  gelu: "x·Φ(x), a smooth ReLU",
  "gelu-tanh": "GELU by its approximation with tanh, as in GPT-2",
  silu: "x·sigmoid(x)",
  swiglu: "silu(x·W)·(x·V): a gate; three matrices, of 8/3 of the width each, learn more than two of 4",
  geglu: "the same gate with GELU",
  "geglu-tanh": "the same gate with the approximation of GELU",
};
const gathering: Choices<(typeof pools)[number]> = {
  mean: "the mean over all positions",
  class: "a token of its own in front, whose state stands for the text (BERT's [CLS])",
  first: "the first token",
  last: "the last token",
};
const after: Choices<(typeof poolers)[number]> = {
  none: "no such layer",
  tanh: "a layer with tanh, as in BERT",
  relu: "a layer with ReLU",
};
const cells: Choices<Cell> = {
  rnn: "Elman's network: one tanh; its gradients vanish after some tokens",
  gru: "a gated recurrent unit: gates decide what is kept and what is new",
  lstm: "long short-term memory: a cell state beside the output, with three gates",
};
const forms: Choices<RecurrenceForm> = {
  unrolled: "every step is written out, for each length anew",
  scanned: "one loop for all lengths",
};

const rotary = { ...ofTransformers, needs: { "model.positions": ["rotary"] } } as const;
const stretched = { ...ofTransformers, needs: { "model.positions": ["rotary"], "model.ropeScaling": ["linear", "llama3"] } } as const;
const llama = { ...ofTransformers, needs: { "model.positions": ["rotary"], "model.ropeScaling": ["llama3"] } } as const;
const qkNorm = {
  what: "queries and keys of each head are normalised before they are compared",
  why: "Scores then depend on directions, not on lengths, and do not explode at high learning rates.",
};
const relative = { ...ofTransformers, needs: { "model.positions": ["relative"] } } as const;
const decoderOnly = { models: ["encoder-decoder"], chosen: "that of the encoder" } as const;

export const modelOptions: readonly Option[] = [
  ...grouped("task", [
    [
      "model.model",
      choice(models),
      "the architecture (default by task: lm decoder, classify, tag and mlm encoder, translate encoder-decoder)",
      "Which network is built. Each task has its usual one; a recurrent network can be compared with it where tokens are written.",
      { chosen: "by the task: lm decoder, classify, tag and mlm encoder, translate encoder-decoder" },
    ],
  ]),
  ...grouped("size", [
    [
      "model.layers",
      number(0, 1000),
      "blocks on top of each other",
      "Each block lets tokens look at each other and then thinks about each of them. More blocks can combine more steps, and cost time and memory in proportion.",
      { chosen: "4 for lm and mlm, 2 for examples, 1 for an RNN" },
    ],
    [
      "model.heads",
      number(1, 1_000_000),
      "heads of attention",
      "Attention looks several times at once, each time at something else: every head compares tokens by its own projections. The width must be divisible by them; more heads are smaller ones and cost the same.",
      { ...ofTransformers, usual: 4 },
    ],
    [
      "model.kvHeads",
      number(1, 1_000_000),
      "heads of keys and values, each for as many heads of queries",
      "Several heads of queries can share one head of keys and values (grouped queries). The cache of a model that writes then gets smaller by as much, at little loss.",
      { ...ofTransformers, chosen: "one for each head" },
    ],
    [
      "model.width",
      number(1, 200_000),
      "numbers that describe a token between the layers",
      "How much a token can carry from layer to layer. Parameters and arithmetic grow with its square; wider models want a smaller learning rate.",
      { usual: 128 },
    ],
    [
      "model.hidden",
      number(1, 8_000_000),
      "size inside the feed-forward layer (default 4 × width; 8/3 of it with a gate)",
      "The feed-forward layer widens each token to this size, bends it and narrows it again. Most of a Transformer's parameters are here.",
      { ...ofTransformers, chosen: "4 × width, or 8/3 of the width with a gate" },
    ],
    [
      "model.context",
      number(1, 1_000_000),
      "the most tokens that are seen at once",
      "How far a model looks back, and how long a training window is. Scores of attention grow with its square; texts that are longer are cut.",
      { chosen: "128 for text; for examples, from the longest of them" },
    ],
    [
      "model.keySize",
      number(1, 1_000_000),
      "size of queries and keys in a head",
      "How many numbers a query and a key are compared by. Smaller ones are cheaper, and tell fewer things apart.",
      { ...ofTransformers, chosen: "width / heads" },
    ],
    [
      "model.valueSize",
      number(1, 1_000_000),
      "size of values in a head",
      "How many numbers each head takes from the tokens that it looks at.",
      { ...ofTransformers, chosen: "width / heads" },
    ],
    [
      "model.decoderLayers",
      number(1, 1000),
      "blocks of the decoder, if other than the encoder's (encoder-decoder)",
      "A decoder may be shallower than its encoder: the source is read once, but the decoder runs for every token that is written.",
      decoderOnly,
    ],
    [
      "model.decoderHeads",
      number(1, 1_000_000),
      "heads of the decoder, if other than the encoder's (encoder-decoder)",
      "How often the decoder looks at once, at what it wrote and at the source.",
      decoderOnly,
    ],
    [
      "model.decoderHidden",
      number(1, 8_000_000),
      "size inside the decoder's feed-forward layers (encoder-decoder)",
      "The inner size of the decoder's own feed-forward layers.",
      decoderOnly,
    ],
  ]),
  ...grouped("attention", [
    [
      "model.score",
      choice(scores),
      "how a query is compared with a key",
      "The number that says how much one token should look at another. Without the division by √size, a softmax over large heads looks at one token only and stops learning.",
      { chosen: "scaled; additive for an RNN" },
    ],
    [
      "model.attention",
      choice(mixes),
      "how values are mixed",
      "What becomes of the scores. The softmax makes them shares of one whole; without it, or without projections, one sees what they are good for.",
      { ...ofTransformers, usual: "softmax" },
    ],
    [
      "model.multiHead",
      choice(heads),
      "how heads are made",
      "How the width is shared among the heads.",
      { ...ofTransformers, usual: "split" },
    ],
    [
      "model.mask",
      choice(masks),
      "where the causal mask is applied",
      "A decoder must not see the tokens that it is to foretell. The other choices are there to see why.",
      { ...ofTransformers, usual: "before-softmax" },
    ],
    [
      "model.scale",
      positive(1e6),
      "multiplies q·k in place of 1/√size",
      "Another factor for the scores; a larger one makes attention sharper.",
      { ...ofTransformers, chosen: "1/√size", needs: { "model.score": ["scaled"] } },
    ],
    [
      "model.scoreCap",
      positive(1e6),
      "scores of attention go through cap · tanh(score/cap)",
      "Scores cannot grow beyond this, which keeps training of large models steady (Gemma 2).",
      { ...ofTransformers, chosen: "no cap" },
    ],
    ["model.qkNorm", toggle, qkNorm.what, qkNorm.why, { models: ["decoder", "encoder"], usual: false }],
    [
      "model.qkNorm",
      toggle,
      qkNorm.what,
      qkNorm.why,
      {
        models: ["encoder-decoder"],
        chosen: "on beside rotary positions and scaled scores",
        without: "queries and keys are compared as they are",
      },
    ],
    [
      "model.valueResidual",
      toggle,
      "values of later layers are mixed with those of the first",
      "What a token is stays within reach of every layer: each mixes its own values with those of the first layer, in two shares that it learns (Zhou et al. 2024).",
      { ...ofTransformers, usual: false },
    ],
    [
      "model.window",
      number(1, 1_000_000),
      "how many keys a query sees, itself included",
      "Attention to the last so many tokens only; what lies further back comes through the layers. The cache of a long text stays small.",
      { ...ofTransformers, chosen: "all of the context" },
    ],
    [
      "model.windowEvery",
      number(1, 1_000_000),
      "every so many layers one sees everything",
      "Layers with a window and layers without take turns, as in Gemma.",
      { ...ofTransformers, chosen: "all layers have the window" },
    ],
    [
      "model.causal",
      toggle,
      "an encoder in which each position sees itself and what came before",
      "An encoder that reads like a decoder: only the last token has seen all of the text.",
      { models: ["encoder"], usual: false },
    ],
  ]),
  ...grouped("positions", [
    [
      "model.positions",
      choice(positions),
      "how order is told",
      "Attention by itself sees a set, not a sequence. Rotary positions learn best here and bear longer texts than they were trained on; the others are there to compare.",
      { ...ofTransformers, usual: "rotary" },
    ],
    [
      "model.joinPositions",
      choice(joins),
      "how positions join the tokens",
      "Learned and sinusoidal positions are usually added to the tokens; beside them they cost a projection.",
      { ...ofTransformers, usual: "add", needs: { "model.positions": ["learned", "sinusoidal"] } },
    ],
    [
      "model.ropeBase",
      number(1, 1e12, false),
      "rotary: the base of the angles (default 10000)",
      "Pair i of a head is turned by base^(−2i/size) for each place. A larger base turns more slowly, for longer contexts.",
      { ...rotary, usual: 10_000 },
    ],
    [
      "model.ropeShare",
      positive(1),
      "rotary: share of each head that is turned, from its front (default 1)",
      "The rest of a head then does not know about places.",
      { ...rotary, usual: 1 },
    ],
    [
      "model.ropeLocalBase",
      number(1, 1e12, false),
      "rotary: the base in layers with a window",
      "Layers that see a window only can turn faster than those that see everything.",
      { ...rotary, chosen: "the base of the others" },
    ],
    [
      "model.ropeScaling",
      choice(ropes),
      "rotary: how angles are stretched for a longer context",
      "A model that was trained on short texts reads longer ones if its angles are stretched to those that it knows.",
      { ...rotary, usual: "none" },
    ],
    [
      "model.ropeFactor",
      positive(1e6),
      "rotary: by how much they are stretched (default 8)",
      "8 makes a context of 8 times the length.",
      { ...stretched, usual: 8 },
    ],
    [
      "model.ropeLowFactor",
      positive(1e6),
      "rotary, llama3: pairs with fewer turns are stretched whole (default 1)",
      "Pairs that turn less often than this over the original context are stretched by the whole factor.",
      { ...llama, usual: 1 },
    ],
    [
      "model.ropeHighFactor",
      positive(1e6),
      "rotary, llama3: pairs with more turns stay as they are (default 4)",
      "Pairs that turn more often than this over the original context tell neighbours apart, and are left alone.",
      { ...llama, usual: 4 },
    ],
    [
      "model.ropeOriginal",
      number(1, 1e9),
      "rotary, llama3: the context before it was stretched (default 8192)",
      "Turns are counted over this many places.",
      { ...llama, usual: 8192 },
    ],
    [
      "model.crossPositions",
      toggle,
      "rotary: places are told in cross-attention too",
      "Where a target and its source go the same way, each token is found near its own place. Without this, cross-attention has to find it by its content alone, which takes far longer to learn.",
      {
        models: ["encoder-decoder"],
        chosen: "on beside rotary positions",
        without: "rotary: no places in cross-attention",
        needs: { "model.positions": ["rotary"] },
      },
    ],
    [
      "model.relativeShared",
      toggle,
      "relative: one table for all layers",
      "T5 has one table of distances for a whole stack; without, each layer learns its own.",
      { ...relative, usual: false },
    ],
    [
      "model.relativeBuckets",
      number(4, 10_000),
      "relative: buckets of distances (default 32)",
      "Near distances have a bucket each, far ones share some.",
      { ...relative, usual: 32 },
    ],
    [
      "model.relativeFarthest",
      number(2, 1_000_000),
      "relative: where the last bucket begins (default 128)",
      "From this distance on all tokens are equally far.",
      { ...relative, usual: 128 },
    ],
  ]),
  ...grouped("block", [
    [
      "model.norm",
      choice(norms),
      "normalisation",
      "Norms bring every token to a like size before a sublayer works on it. Without them the numbers grow from layer to layer.",
      { ...ofTransformers, usual: "rms" },
    ],
    [
      "model.normPlace",
      choice(places),
      "before each sublayer, after it, or both",
      "Where in a block the norms stand; it decides how easily deep models train.",
      { ...ofTransformers, usual: "pre" },
    ],
    [
      "model.normAffine",
      toggle,
      "norms have a scale and a bias of their own",
      "Without them a norm only projects onto a sphere: the lecture on the geometry of LayerNorm looks at this.",
      { ...ofTransformers, usual: true, without: "norms without a scale and a bias of their own" },
    ],
    [
      "model.normBias",
      toggle,
      "layer norms have a bias",
      "LayerNorm's bias adds little; many newer models leave it out.",
      { ...ofTransformers, usual: true, without: "layer norms without a bias", needs: { "model.norm": ["layer"] } },
    ],
    [
      "model.epsilon",
      number(0, 1, false),
      "what norms add under the root (default 1e-5, for rms 1e-6)",
      "Keeps a norm from dividing by zero; models from elsewhere bring their own.",
      { ...ofTransformers, chosen: "1e-5 for layer, 1e-6 for rms" },
    ],
    [
      "model.parallel",
      choice(parallel),
      "sublayers of a block side by side, each with a norm of its own or all with one",
      "Attention and feed-forward layer one after the other, or at the same time on the same input.",
      { ...ofTransformers, usual: "none" },
    ],
    [
      "model.bias",
      choice(biases),
      "which projections of a block have biases",
      "A bias adds a learned number to each output of a projection. Large models do without most of them.",
      { ...ofTransformers, usual: "all" },
    ],
    [
      "model.activation",
      choice(functions),
      "inside the feed-forward layer",
      "What bends the tokens between the two matrices; without it both would be one. A gate learns most for the same parameters.",
      { ...ofTransformers, usual: "swiglu" },
    ],
    [
      "model.residual",
      toggle,
      "each sublayer is added to what it is given",
      "The residual connections let tokens, and gradients, pass all layers. Leave them out to see a deep model fail.",
      { ...ofTransformers, usual: true, without: "leave out the residual connections" },
    ],
    [
      "model.feedforward",
      toggle,
      "blocks have a feed-forward layer",
      "Attention mixes tokens, the feed-forward layer works on each. Without it a model can move things, but hardly change them.",
      { ...ofTransformers, usual: true, without: "leave out the feed-forward layers" },
    ],
    [
      "model.zeroInit",
      toggle,
      "projections into the residual stream start at 0",
      "Every block begins by changing nothing, and learns what to add. Weights of their own that score tokens start at 0 too, so all tokens are equally likely at first.",
      { ...ofTransformers, usual: false },
    ],
  ]),
  ...grouped("ends", [
    [
      "model.tie",
      toggle,
      "the output weights are those of the embeddings",
      "The same table turns tokens into vectors and vectors into scores of tokens: fewer parameters, and often a better model.",
      {
        tasks: writers.tasks,
        chosen: "on for Transformers, off for an RNN",
        without: "output weights of their own, not those of the embeddings",
      },
    ],
    [
      "model.embeddingNorm",
      toggle,
      "a norm of the tokens before the first block",
      "Tokens with their positions are brought to a like size before anything is done with them, as in BERT.",
      { ...ofTransformers, usual: false },
    ],
    [
      "model.embeddingScale",
      positive(1e6),
      "multiplies tokens that are looked up",
      "The paper of 2017 multiplies tokens by √width, so that positions do not drown them.",
      { ...ofTransformers, chosen: "√width beside sinusoidal positions, else 1" },
    ],
    [
      "model.segments",
      number(0, 1000),
      "rows of a table of segments, whose first is added to every token",
      "BERT tells two texts apart by such a table; a model of one's own hardly needs it.",
      { ...ofTransformers, usual: 0 },
    ],
    [
      "model.scoresScale",
      positive(1e6),
      "multiplies the last states before the scores of tokens",
      "Some published models scale their last states; trained from the start, it changes how sharp the first foretellings are.",
      { ...writers, chosen: "no scaling" },
    ],
    [
      "model.scoresBias",
      toggle,
      "a bias of the scores of tokens",
      "A number for each token of the vocabulary, which can say how frequent it is.",
      { ...writers, usual: false },
    ],
    [
      "model.scoresCap",
      positive(1e6),
      "scores of tokens go through cap · tanh(score/cap)",
      "No token can become surer than this lets it (Gemma 2).",
      { ...writers, chosen: "no cap" },
    ],
    [
      "model.pool",
      choice(gathering),
      "how an encoder gathers a text (classify)",
      "One vector must stand for the whole text before it is given a label.",
      { models: ["encoder"], tasks: ["classify"], usual: "mean" },
    ],
    [
      "model.pooler",
      choice(after),
      "a layer with this function between the gathered text and its labels (classify)",
      "One more layer before the labels, as BERT has it.",
      { models: ["encoder"], tasks: ["classify"], usual: "none" },
    ],
    [
      "model.headTransform",
      toggle,
      "a layer before the scores of hidden tokens (mlm)",
      "A layer with the activation and a norm between the last block and the scores of tokens, as BERT has it.",
      { models: ["encoder"], tasks: ["mlm"], usual: true, without: "no layer before the scores of hidden tokens (mlm)" },
    ],
  ]),
  ...grouped("recurrent", [
    [
      "model.cell",
      choice(cells),
      "the recurrent cell (rnn)",
      "What carries the state from token to token. Gates let it keep something for longer.",
      { models: ["rnn"], usual: "gru" },
    ],
    [
      "model.recurrence",
      choice(forms),
      "how an RNN is computed (rnn)",
      "One loop is faster, takes less memory, and serves texts of all lengths at once. The weights are the same either way.",
      { models: ["rnn"], chosen: "scanned" },
    ],
    [
      "model.bidirectional",
      toggle,
      "an encoder that reads both ways (rnn)",
      "Each token of the source is then known with what comes before and after it.",
      { models: ["rnn"], tasks: ["translate"], usual: false },
    ],
    [
      "model.attention",
      toggle,
      "each step of an RNN looks at all states of the source (rnn)",
      "Without attention the whole source must fit into one vector, and long sentences are forgotten: this is what attention was invented for.",
      {
        models: ["rnn"],
        tasks: ["translate"],
        usual: true,
        without: "an RNN encoder–decoder with one vector for the whole source (rnn)",
      },
    ],
  ]),
  ...grouped("restraint", [
    [
      "model.dropout",
      number(0, 0.99, false),
      "share of numbers that are dropped while training",
      "Dropped at random, no number can be relied on, so the model learns by heart less easily. More for little data, none where all data is seen about once.",
      { chosen: "0 for text, 0.1 for examples" },
    ],
  ]),
];
