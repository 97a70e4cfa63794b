import type { Transformer } from "../models/any.ts";
import { decoderSide, type EncoderConfig, type EncoderDecoderConfig, type RnnConfig } from "../models/config.ts";

/** How many steps there are, with n for the length of a sequence. */
export interface Formula {
  readonly formula: string;
  readonly expected: number;
}

interface Formulas {
  readonly path: Formula;
  readonly sequential: Formula;
}

/** Products on the way to the scores of queries and keys, after their projections. */
const scoreProducts = (score: RnnConfig["score"]): number => (score === "bilinear" || score === "additive" ? 2 : 1);

/** Whatever the length: one attention, of a few products, in each layer. */
export function transformerSteps(model: Transformer): Formulas {
  const { layers } = model;
  const projections = model.attention === "free" ? 0 : 2; // into heads, and out of them
  const attention = projections + scoreProducts(model.score) + 1;
  const feedforward = model.feedforward ? 2 : 0;
  const ends = (model.joinPositions === "concat" ? 1 : 0) + 1 + (model.model === "encoder" ? headLayers(model) : 0); // joining positions, and the answer
  const parallel = model.parallel !== "none";
  const [block, written] = parallel // side by side, the longer way counts
    ? [`${Math.max(attention, feedforward)}`, Math.max(attention, feedforward)]
    : [`(${attention} + ${feedforward})`, attention + feedforward];
  if (model.model === "encoder-decoder") return crossSteps(model, { attention, feedforward, ends });
  return {
    path: { formula: `${layers} × 1`, expected: layers },
    sequential: { formula: `${layers} × ${block} + ${ends}`, expected: layers * written + ends },
  };
}

/** Layers between the states and the answer. */
const headLayers = ({ task, pooler, headTransform }: EncoderConfig): number =>
  Number(pooler !== "none") + Number(task === "mlm" && headTransform);

function crossSteps(
  model: EncoderDecoderConfig,
  { attention, feedforward, ends }: Record<"attention" | "feedforward" | "ends", number>,
): Formulas {
  const { layers } = model;
  const { layers: writing } = decoderSide(model);
  if (model.parallel !== "none") {
    const block = Math.max(attention, feedforward);
    return {
      path: { formula: `${layers} in the encoder + ${writing} in the decoder`, expected: layers + writing },
      sequential: { formula: `(${layers} + ${writing}) × ${block} + ${ends}`, expected: (layers + writing) * block + ends },
    };
  }
  return {
    path: {
      formula: `${layers} in the encoder + ${2 * writing - 1} in the decoder, whose first attention is not on the way`,
      expected: layers + 2 * writing - 1,
    },
    sequential: {
      formula: `${layers} × (${attention} + ${feedforward}) + ${writing} × (2 × ${attention} + ${feedforward}) − ${attention} + ${ends}`,
      expected: layers * (attention + feedforward) + writing * (2 * attention + feedforward) - attention + ends,
    },
  };
}

/** One step after the other, in each layer. */
export function recurrentSteps(model: RnnConfig, n: number): Formulas {
  const { layers } = model;
  if (model.task === "lm")
    return {
      path: { formula: `${layers} × (n − 1)`, expected: layers * (n - 1) },
      sequential: { formula: `${layers} × n + 1`, expected: layers * n + 1 },
    };
  const alignment = model.attention ? scoreProducts(model.score) + 2 : 0; // scores, mixing, joining with the state
  const rest = alignment + (model.bidirectional ? layers : 0) + 1; // both directions are joined in each layer
  const mixing = model.attention ? 1 : 0;
  return {
    path: { formula: `${layers + 1} × n − ${layers}${mixing ? " + 1" : ""}`, expected: (layers + 1) * n - layers + mixing },
    sequential: { formula: `${layers + 1} × n + ${rest}`, expected: (layers + 1) * n + rest },
  };
}
