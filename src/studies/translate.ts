import type { Trained } from "../library/trained.ts";
import { bleu } from "../metrics/bleu.ts";
import { chrf } from "../metrics/chrf.ts";
import { words } from "../metrics/ngrams.ts";
import { type Answer, answersOf } from "./answers.ts";
import { byBucket, inBuckets } from "./buckets.ts";
import type { Measured, Row, Study } from "./study.ts";

type Metric = (hypotheses: readonly string[], references: readonly string[]) => number;

const scored =
  (metric: Metric) =>
  (answers: readonly Answer[]): number =>
    metric(
      answers.map(({ answer }) => answer),
      answers.map(({ nearest }) => nearest),
    );

async function measure(run: Trained): Promise<Measured> {
  const answers = await answersOf(run);
  const groups = inBuckets(answers, ({ source }) => words(source).length, [10, 20, 30, 40]);
  return {
    figures: { BLEU: scored(bleu)(answers), chrF: scored(chrf)(answers) },
    breakdowns: {
      "BLEU by words of the source": byBucket(groups, scored(bleu)),
      "chrF by words of the source": byBucket(groups, scored(chrf)),
    },
  };
}

const recurrent = { model: "rnn", cell: "gru", width: 256, bidirectional: true, dropout: 0.1 } as const;
const common: Pick<Row, "data" | "full" | "measure"> = { data: "translate", full: true, measure };
/** The rate that suits the recurrent ones; the Transformer has its usual optimizer and rate. */
const training = { lr: 1e-3 };

export const translate: Study = {
  name: "translate",
  teaches:
    "The comparison of the lectures: English verses into German with an RNN that has one vector for the whole verse, the same with attention, and a Transformer, each with as much time.",
  minutes: 10,
  rows: [
    {
      name: "rnn",
      what: "a GRU that reads both ways and writes from one vector",
      model: { ...recurrent, attention: false },
      training,
      ...common,
    },
    { name: "rnn-attention", what: "the same, and every token attends to the source", model: recurrent, training, ...common },
    { name: "transformer", what: "the long setting of the recipe", ...common },
  ],
};
