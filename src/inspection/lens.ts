import { transformerOf } from "../models/any.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { answersOf, type Candidate, likeliest, rowsOf } from "./answers.ts";
import { attentionSizes, stackPlace } from "./attention.ts";
import { observe } from "./observe.ts";
import { type ReadingOptions, readingOf } from "./reading.ts";

export interface LensOptions extends ReadingOptions {
  /** How many answers to give for each position. */
  readonly top?: number;
}

export interface Lens {
  readonly layers: readonly {
    readonly layer: number;
    readonly positions: readonly { readonly token: string; readonly top: readonly Candidate[] }[];
  }[];
}

/**
 * The logit lens: what the model would answer if it ended after each layer. A layer's output takes the place of the last one's, so the
 * model's own norm and output weights read it, and the last row is the model's answer itself.
 */
export async function logitLens(run: TrainedModel, text: string, { top = 5, ...options }: LensOptions = {}): Promise<Lens> {
  const model = transformerOf(run.model, "the logit lens", "has no blocks to look into after each layer");
  const names = Array.from(
    { length: attentionSizes(model, "self").layers },
    (_, layer) => `${stackPlace(model, "self")}/block.${layer}/output`,
  );
  const last = names[names.length - 1];
  const reading = await readingOf(run, text, options);
  const outputs = await observe(run, reading, { taps: names });
  const tokens = model.model === "encoder" && model.task === "classify" ? [text] : (reading.target?.read ?? reading.tokens);
  const layers = [];
  for (const [layer, name] of names.entries()) {
    const { logProbabilities } = await answersOf(run, reading, { [last]: outputs[name] });
    const positions = rowsOf(logProbabilities).map((row, i) => ({ token: tokens[i], top: likeliest(run, row, top) }));
    layers.push({ layer, positions });
  }
  return { layers };
}
