import { Option } from "commander";
import { classifyTexts } from "../evaluation/predict.ts";
import { predictionCommand } from "./predictions.ts";

export const classify = predictionCommand("classify", {
  predict: classifyTexts,
  empty: (text) => ({ text, label: null, probabilities: {} }),
  shown({ text, label, probabilities }, { labels }) {
    const width = Math.max(...labels.map(({ length }) => length));
    return `${label.padEnd(width)}  ${probabilities[label].toFixed(2)}  ${text.replace(/\s+/g, " ")}`;
  },
  flags: [new Option("--probabilities", "with --in: the probability of every label, not only of the likeliest")],
});
