import type { Measures } from "../../../src/evaluation/evaluate.ts";
import { digits, percent } from "../../parts/numbers.ts";
import { Wide } from "../wide.tsx";

// The measures of a task, with a few words on each.

interface Line {
  readonly label: string;
  readonly value: string;
  readonly words: string;
}

const score = (value: number): string => value.toFixed(1);

const known: Readonly<Record<string, { readonly label: string; readonly words: string; readonly shown: (value: number) => string }>> = {
  perplexity: { label: "Perplexity", words: "as unsure as between so many equally likely tokens", shown: digits },
  bitsPerByte: { label: "Bits per byte", words: "what a byte of the text would take, stored with this model", shown: digits },
  bitsPerToken: { label: "Bits per token", words: "the same for a token", shown: digits },
  loss: { label: "Loss", words: "mean −log p of what did come, in nats", shown: digits },
  bleu: { label: "BLEU", words: "words and groups of words that the reference has too, of 100", shown: score },
  chrf: { label: "chrF", words: "the same for groups of letters, of 100", shown: score },
  exact: { label: "Exact", words: "translations that are the reference", shown: percent },
  tokenErrorRate: { label: "Token error rate", words: "tokens to change, for each of the reference", shown: percent },
  wordErrorRate: { label: "Word error rate", words: "words to change, for each of the reference", shown: percent },
  accuracy: { label: "Accuracy", words: "answers that are right", shown: percent },
  f1: { label: "F1", words: "of each label, the harmonic mean of precision and recall; the mean of them", shown: digits },
  microF1: { label: "Micro F1", words: "the same over all labels together", shown: digits },
  spanF1: { label: "F1 of spans", words: "spans that were found with both ends and their type", shown: digits },
  ece: { label: "Calibration error", words: "how far its probabilities are from how often it is right", shown: percent },
  tokens: { label: "Tokens", words: "that were scored", shown: (value) => value.toLocaleString("en") },
  examples: { label: "Examples", words: "that were held out", shown: (value) => value.toLocaleString("en") },
};

const linesOf = (measures: Measures): readonly Line[] =>
  Object.entries(known).flatMap(([name, { label, words, shown }]) => {
    const value = (measures as unknown as Readonly<Record<string, unknown>>)[name];
    return typeof value === "number" ? [{ label, words, value: shown(value) }] : [];
  });

export const MeasureList = ({ measures }: { readonly measures: Measures }) => (
  <dl class="measures">
    {linesOf(measures).map(({ label, value, words }) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>
          <strong>{value}</strong> <small class="what">{words}</small>
        </dd>
      </div>
    ))}
  </dl>
);

/** Precision, recall and F1 of every label. */
export function ClassTable({ measures }: { readonly measures: Measures }) {
  if (!("classes" in measures)) return null;
  return (
    <details>
      <summary>Label by label</summary>
      <Wide label="Measures label by label">
        <table>
          <thead>
            <tr>
              <th scope="col">Label</th>
              {["Precision", "Recall", "F1", "How many"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {measures.classes.map(({ label, precision, recall, f1, support }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td class="number">{percent(precision)}</td>
                <td class="number">{percent(recall)}</td>
                <td class="number">{f1.toFixed(3)}</td>
                <td class="number">{support.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </details>
  );
}
