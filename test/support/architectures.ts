import { type ModelInput, modelConfig } from "../../src/models/any.ts";
import { type Combination, pairwise } from "./combinations.ts";

const transformers = {
  model: ["decoder", "encoder", "encoder-decoder"],
  multiHead: ["split", "narrow", "wide"],
  score: ["scaled", "bilinear", "additive"],
  attention: ["softmax", "linear", "free"],
  mask: ["before-softmax", "after-softmax", "none"],
  positions: ["learned", "sinusoidal", "rotary", "relative", "alibi", "none"],
  joinPositions: ["add", "concat"],
  norm: ["layer", "rms", "none"],
  normPlace: ["pre", "post"],
  activation: ["relu", "gelu", "gelu-tanh", "swiglu"],
  residual: [true, false],
  feedforward: [true, false],
  dropout: [0, 0.1],
};
const recurrences = {
  model: ["rnn"],
  task: ["lm", "translate"],
  cell: ["rnn", "gru", "lstm"],
  layers: [1, 2],
  bidirectional: [true, false],
  attention: [true, false],
  score: ["scaled", "bilinear", "additive"],
  dropout: [0, 0.1],
  tie: [true, false],
  recurrence: ["unrolled", "scanned"],
};

/** Settings that only one of the models has. */
const own = [
  { model: "decoder", tie: false },
  { model: "encoder", task: "tag" },
  { model: "encoder", pool: "class" },
  { model: "encoder-decoder", tie: false, sourceVocab: 7 },
  { model: "encoder-decoder", positions: "rotary", crossPositions: true },
  ...["decoder", "encoder", "encoder-decoder"].map((model) => ({ model, valueResidual: true, zeroInit: true, activation: "relu2" })),
];

type Sizes = Readonly<Record<"layers" | "heads" | "width" | "hidden" | "context" | "vocab", number>>;

/** Few models, by a name for each, in which every two choices that go together at all occur together. */
export function architectures(sizes: Sizes): (readonly [name: string, given: ModelInput])[] {
  const { width, context, vocab } = sizes;
  const given = (one: Combination) => {
    const shared = one.model === "rnn" ? { width, context, vocab } : { ...sizes, ...(one.model === "encoder" && { labels: 3 }) };
    return { ...shared, ...one } as unknown as ModelInput;
  };
  const allowed = (one: Combination) => {
    try {
      return modelConfig(given(one)) !== undefined;
    } catch {
      return false;
    }
  };
  const found: Combination[] = [...pairwise(transformers, allowed), ...pairwise(recurrences, allowed), ...own];
  return found.map((one) => [Object.values(one).join(" "), given(one)] as const);
}
