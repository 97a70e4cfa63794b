import type { TrainedModel } from "../trained/trained.ts";
import { answersOf, likeliest, rowsOf } from "./answers.ts";
import { type ReadingOptions, readingOf } from "./reading.ts";

export interface Tagged {
  readonly tokens: readonly string[];
  /** The likeliest tag of each token. */
  readonly tags: readonly string[];
  readonly probabilities: readonly number[];
}

/** What a tagger says of each token, and how sure it is. */
export async function tagsOf(run: TrainedModel, text: string, options: ReadingOptions = {}): Promise<Tagged> {
  run.require("tag");
  const reading = await readingOf(run, text, options);
  const best = rowsOf((await answersOf(run, reading)).logProbabilities).map((row) => likeliest(run, row, 1)[0]);
  return { tokens: reading.tokens, tags: best.map(({ token }) => token), probabilities: best.map(({ probability }) => probability) };
}
