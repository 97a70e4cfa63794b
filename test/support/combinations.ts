import { chance } from "../../src/base/chance.ts";
import { ConfigError } from "../../src/base/errors.ts";
import { mixKinds } from "../../src/layers/attention.ts";
import { biasKinds, multiHeadKinds } from "../../src/layers/heads.ts";
import { normKinds } from "../../src/layers/norm.ts";
import { positionKinds } from "../../src/layers/positions.ts";
import { scoreKinds } from "../../src/layers/scores.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";

/** A choice for each of several questions. */
export type Choices = Readonly<Record<string, readonly unknown[]>>;
export type Combination = Readonly<Record<string, unknown>>;

/** All that happens inside attention. */
export const insideAttention = {
  positions: positionKinds,
  score: scoreKinds,
  attention: mixKinds,
  multiHead: multiHeadKinds,
  norm: normKinds,
} as const;

/** How published models tell order, as far as it goes together. */
const orders = {
  learned: { positions: "learned" },
  "sinusoidal in a window": { positions: "sinusoidal", window: 2 },
  "part of a head turned": { positions: "rotary", ropeShare: 0.5, ropeBase: 100 },
  "stretched by a factor, another base in windows": {
    positions: "rotary",
    ropeScaling: "linear",
    window: 2,
    windowEvery: 2,
    ropeLocalBase: 50,
  },
  "stretched as in Llama 3": { positions: "rotary", ropeScaling: "llama3", ropeOriginal: 30, window: 3 },
  "one table for all layers": { positions: "relative", relativeShared: true, relativeBuckets: 8, relativeFarthest: 6 },
  "a table for each, in windows": { positions: "relative", window: 3, windowEvery: 2 },
  "ALiBi in a window": { positions: "alibi", window: 3 },
} as const;

/** How they put norms and sublayers together. */
const blocks = {
  pre: {},
  post: { normPlace: "post" },
  both: { normPlace: "both", norm: "rms" },
  "side by side": { parallel: "own-norm", normBias: false },
  "side by side after one norm": { parallel: "shared-norm", norm: "rms", normPlace: "both" },
} as const;

/** How published models differ besides. */
const published = {
  order: Object.keys(orders),
  block: Object.keys(blocks),
  score: ["scaled", "dot", "bilinear"],
  multiHead: ["split", "narrow"],
  activation: ["silu", "relu2", "geglu", "geglu-tanh"],
  kvHeads: [undefined, 1],
  bias: biasKinds,
  epsilon: [undefined, 0.01],
  qkNorm: [false, true],
  valueResidual: [false, true],
  zeroInit: [false, true],
  scale: [undefined, 0.7],
  scoreCap: [undefined, 1.5],
  embeddingNorm: [false, true],
  segments: [0, 2],
  embeddingScale: [undefined, 3],
};

/** How tokens are scored. */
export const scoring = { scoresBias: [false, true], scoresScale: [undefined, 0.5], scoresCap: [undefined, 2], tie: [true, false] };

/** A decoder that is unlike its encoder, and what it knows of its places. */
export const sides = {
  decoderLayers: [undefined, 1],
  decoderHeads: [undefined, 1],
  decoderHidden: [undefined, 10],
  crossPositions: [false, true],
};

/** Few models with the options of published ones, by a name for each; every two that go together occur together. */
export function publishedModels(given: Partial<ModelInput>, own: Choices = {}): (readonly [name: string, settings: Combination])[] {
  const settings = ({ order, block, ...rest }: Combination): Combination => ({
    ...orders[order as keyof typeof orders],
    ...blocks[block as keyof typeof blocks],
    ...rest,
  });
  const allowed = (one: Combination) => accepted({ ...given, ...settings(one) } as ModelInput);
  return pairwise({ ...published, ...own }, allowed, 60).map((one) => [Object.values(one).join(" "), settings(one)] as const);
}

/** Whether a model takes choices together. */
function accepted(given: ModelInput): boolean {
  try {
    return modelConfig(given) !== undefined;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

/** Choices that are each right can be wrong together. */
export const possible = ({ attention, score, multiHead, keySize, valueSize, joinPositions, positions }: Combination): boolean =>
  (attention !== "free" ||
    (score !== "bilinear" && score !== "additive" && multiHead !== "wide" && keySize === undefined && valueSize === undefined)) &&
  (joinPositions !== "concat" || positions === "learned" || positions === "sinusoidal");

/** The same with a source, which parameter-free attention has no way to ask. */
export const crossing = (one: Combination): boolean => possible(one) && one.attention !== "free";

/** Every combination. */
export function product(choices: Choices): Combination[] {
  return Object.entries(choices).reduce<Combination[]>(
    (found, [name, values]) => found.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
}

/** Few combinations in which every pair of choices that is allowed at all occurs together: greedy, the same each time. */
export function pairwise(choices: Choices, allowed: (one: Combination) => boolean, tries = 300): Combination[] {
  const names = Object.keys(choices);
  const key = (a: string, x: unknown, b: string, y: unknown) => `${a}=${x} & ${b}=${y}`;
  const open = new Map<string, Combination>();
  for (const [i, a] of names.entries()) {
    for (const b of names.slice(i + 1))
      for (const x of choices[a]) for (const y of choices[b]) open.set(key(a, x, b, y), { [a]: x, [b]: y });
  }
  const covered = (one: Combination) =>
    names.flatMap((a, i) => names.slice(i + 1).map((b) => key(a, one[a], b, one[b]))).filter((pair) => open.has(pair));
  const source = chance(1).fork("pairwise");
  let drawn = 0;
  const completed = (pair: Combination): Combination => ({
    ...Object.fromEntries(names.map((name) => [name, choices[name][source.integer(drawn++, choices[name].length)]])),
    ...pair,
  });
  const chosen: Combination[] = [];
  while (open.size > 0) {
    const [[pairKey, pair]] = open;
    const candidates = Array.from({ length: tries }, () => completed(pair)).filter(allowed);
    if (candidates.length === 0) {
      open.delete(pairKey); // not possible together
      continue;
    }
    const best = candidates.reduce((a, b) => (covered(b).length > covered(a).length ? b : a));
    for (const found of covered(best)) open.delete(found);
    chosen.push(best);
  }
  return chosen;
}
