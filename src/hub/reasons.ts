import type { Architecture } from "../models/any.ts";

// Why a model of ours is none of a family's.

/** Settings and the values that a family can express; undefined where a setting must be left out. */
export type Wants = Readonly<Record<string, readonly unknown[]>>;

export const wants = {
  /** What has a name of its own here, and none at Hugging Face. */
  plainDecoder: {
    model: ["decoder"],
    multiHead: ["split"],
    score: ["scaled"],
    attention: ["softmax"],
    mask: ["before-softmax"],
    residual: [true],
    feedforward: [true],
    normAffine: [true],
    normBias: [undefined, true],
    parallel: [undefined, "none"],
    qkNorm: [undefined, false],
    valueResidual: [undefined, false],
    window: [undefined],
    scale: [undefined],
    scoreCap: [undefined],
    scoresCap: [undefined],
    embeddingNorm: [undefined, false],
    embeddingScale: [undefined],
    scoresBias: [undefined, false],
    scoresScale: [undefined],
    segments: [undefined, 0],
  },
} as const satisfies Readonly<Record<string, Wants>>;

/** Every setting that stands in the way, with what would do. */
export function refusals(model: Architecture, wanted: Wants): string[] {
  const given: Readonly<Record<string, unknown>> = { ...model };
  return Object.entries(wanted).flatMap(([key, values]) => {
    if (values.includes(given[key])) return [];
    const able = values.filter((value) => value !== undefined).map(String);
    return [`${key} is ${String(given[key])}${able.length > 0 ? ` (only ${able.join(" or ")})` : " (only without)"}`];
  });
}
