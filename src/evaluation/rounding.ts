import { cut, encodePairs } from "../batches/encode.ts";
import { pairLayout, scoringBatches } from "../batches/examples.ts";
import { scoringWindows } from "../batches/windows.ts";
import { ownData } from "../data/held-out.ts";
import { scoringRows } from "../data/material.ts";
import { separator, tokenise } from "../data/tokenised.ts";
import type { WeightFile } from "../disk/weight-file.ts";
import { perplexity } from "../metrics/perplexity.ts";
import type { OpenRun } from "../runs/folder.ts";
import type { Pair } from "../text/examples.ts";
import { baked, type Precision } from "../trained/baked.ts";
import { Scorer } from "../training/score.ts";

/** What rounding the weights does to a model, on a part of the data that it was not trained on. */
export interface Rounding {
  readonly precision: Precision;
  /** With the weights as they were trained, and rounded. */
  readonly f32: number;
  readonly rounded: number;
  readonly tokens: number;
}

const mostTokens = 16_384;

/** The perplexity before and after. */
export async function roundingOf(
  run: OpenRun,
  weights: WeightFile,
  precision: Precision,
  { cache, threads, warn = () => {} }: { readonly cache: string; readonly threads?: number; readonly warn?: (sentence: string) => void },
): Promise<Rounding> {
  const { batches, close } = await heldOutBatches(run, cache, warn);
  const scored = async (kind: Precision) => {
    const scorer = new Scorer(run.config.model, { threads, ...baked(weights, kind) });
    return scorer.score(batches()).finally(() => scorer.release());
  };
  try {
    const [before, after] = [await scored("f32"), await scored(precision)];
    return { precision, f32: perplexity(before.loss), rounded: perplexity(after.loss), tokens: before.targets };
  } finally {
    close();
  }
}

async function heldOutBatches({ config, tokenizer }: OpenRun, cache: string, warn: (sentence: string) => void) {
  const { model } = config;
  const data = await ownData(config, warn);
  if (data.kind === "text") {
    const { ids } = await tokenise(data.parts, data.sha256, tokenizer, config.tokenizer.sha256, cache);
    const windows = Math.ceil(mostTokens / model.context);
    const options = { batch: scoringRows(model), context: model.context, before: separator(tokenizer) ?? 0, windows };
    return { batches: () => scoringWindows(ids, options), close: () => ids.close() };
  }
  const pairs = cut(encodePairs(data.examples as Pair[], tokenizer), model.context).examples;
  const few = pairs.slice(
    0,
    Math.max(1, Math.ceil(mostTokens / (pairs.reduce((sum, { targets }) => sum + targets.length, 0) / pairs.length))),
  );
  return { batches: () => scoringBatches(few, pairLayout, { batch: 32, shapes: "any" }), close: () => {} };
}
