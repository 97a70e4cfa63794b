import type { Trained } from "../library/trained.ts";
import { words } from "../metrics/ngrams.ts";
import { type Answer, answersOf } from "./answers.ts";
import { byBucket, inBuckets, share } from "./buckets.ts";
import { errorByPlace } from "./places.ts";
import type { Measured, Row, Study } from "./study.ts";

/** A word is wrong if it is said in none of its listed ways. */
const isWrong = ({ answer, references }: Answer): boolean => !references.includes(answer);

async function measure(run: Trained): Promise<Measured> {
  const answers = await answersOf(run);
  const sounds = answers.map((one) => ({ answer: words(one.answer), reference: words(one.nearest) }));
  return {
    figures: {
      "word error rate": share(answers, isWrong),
      "of the first listed": share(answers, ({ answer, references }) => answer !== references[0]),
    },
    breakdowns: {
      "Word error rate by letters of the word": byBucket(
        inBuckets(answers, ({ source }) => [...source].length, [4, 6, 8, 10]),
        (own) => share(own, isWrong),
      ),
      "Share of sounds that are wrong, by their place in the word": errorByPlace(sounds), // sounds follow the letters, so this is a place in the source too
    },
  };
}

const recurrent = { model: "rnn", cell: "gru", width: 256, bidirectional: true, dropout: 0.1 } as const;
const common: Pick<Row, "data" | "measure"> = { data: "pronounce", measure };
/** The rate that suits the recurrent ones; the Transformer has its usual optimizer and rate. */
const training = { lr: 2e-3 };

export const pronounce: Study = {
  name: "pronounce",
  teaches:
    "What attention is for: words to sounds with an RNN that puts the whole word into one vector, the same RNN with attention, and a Transformer, each with as much time.",
  minutes: 10,
  rows: [
    {
      name: "rnn",
      what: "a GRU that reads both ways and writes from one vector",
      model: { ...recurrent, attention: false },
      training,
      ...common,
    },
    { name: "rnn-attention", what: "the same, and every sound attends to the letters", model: recurrent, training, ...common },
    // Without dropout it says more words right, at the same validation loss (docs/recipes.md).
    { name: "transformer", what: "3 + 3 layers of width 128", model: { layers: 3, heads: 4, width: 128, dropout: 0 }, ...common },
  ],
};
