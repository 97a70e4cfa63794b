import type { Part } from "../graph/place.ts";
import type { ModelCost, PhaseCost } from "./cost.ts";
import { isLanguageModel } from "./phases.ts";

// What it takes to train a language model on so many tokens: the usual estimate, and what it leaves out.

export interface Published {
  readonly parameters: number;
  /** Of training on `publishedTokens`. */
  readonly flops?: number;
}

export const publishedTokens = 300e9;

/** The GPT-3 table as published (Brown et al. 2020, tables 2.1 and D.1), by the name of the preset. */
export const published: Readonly<Record<string, Published>> = {
  "gpt3-small": { parameters: 125e6 },
  "gpt3-medium": { parameters: 350e6 },
  "gpt3-large": { parameters: 760e6 },
  "gpt3-xl": { parameters: 1.3e9 },
  "gpt3-2.7b": { parameters: 2.7e9 },
  "gpt3-6.7b": { parameters: 6.7e9 },
  "gpt3-13b": { parameters: 13e9 },
  "gpt3-175b": { parameters: 175e9, flops: 3.14e23 },
};

export interface TrainingTotal {
  readonly tokens: number;
  /** 6 · parameters · tokens: each weight multiplies and adds once on the way forward, and twice on the way back. */
  readonly estimate: number;
  /** What the graph counts beyond that; the last may be below zero. */
  readonly pairs: number;
  readonly rest: number;
  readonly unmultiplied: number;
  /** Forward and backward, as counted in the graph. The optimizer, once for each batch, comes on top. */
  readonly flops: number;
}

const comparing: ReadonlySet<Part> = new Set(["scores", "weighted sum"]);
/** Their products are sums over a row or a choice, not weights; or, of Muon, with weights, but not of tokens. */
const aside: ReadonlySet<Part> = new Set(["norms", "other", "optimizer"]);

/** FLOPs of training on so many tokens in windows of the length that was counted; undefined for other than language models. */
export function trainingTotal({ model, parameters, batch, length, phases }: ModelCost, tokens: number): TrainingTotal | undefined {
  const { training } = phases;
  if (!training || !isLanguageModel(model)) return undefined;
  const share = tokens / (batch * length);
  const pairs = products(training, (name) => comparing.has(name));
  const weights = products(training, (name) => !comparing.has(name) && !aside.has(name));
  const optimizer = training.parts.find(({ name }) => name === "optimizer")?.flops ?? 0;
  const all = training.flops - optimizer;
  const estimate = 6 * parameters * tokens;
  return {
    tokens,
    estimate,
    pairs: share * pairs,
    rest: share * (all - pairs - weights),
    unmultiplied: share * weights - estimate,
    flops: share * all,
  };
}

const products = ({ parts }: PhaseCost, wanted: (name: Part) => boolean): number =>
  parts.filter(({ name }) => wanted(name)).reduce((total, part) => total + part.products, 0);
