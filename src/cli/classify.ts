import { Option } from "commander";
import { classifyTexts } from "../evaluation/predict.ts";
import { predictionCommand } from "./predictions.ts";

export const classify = predictionCommand("classify", {
  predict: classifyTexts,
  empty: (text) => ({ text, label: null, probabilities: {} }),
  shown({ text, label, labels: chosen, probabilities }, { labels }) {
    const line = text.replace(/\s+/g, " ");
    if (chosen) return `${chosen.map((name) => `${name} ${probabilities[name].toFixed(2)}`).join(", ") || "(none)"}\t${line}`;
    const width = Math.max(...labels.map(({ length }) => length));
    return `${label.padEnd(width)}  ${probabilities[label].toFixed(2)}  ${line}`;
  },
  flags: [new Option("--probabilities", "with --in: the probability of every label, not only of the likeliest")],
});
