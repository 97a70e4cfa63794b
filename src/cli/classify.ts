import { classifyTexts } from "../evaluation/predict.ts";
import { predictionCommand } from "./predictions.ts";

export const classify = predictionCommand("classify", classifyTexts, ({ text, label, probabilities }, { labels }) => {
  const width = Math.max(...labels.map(({ length }) => length));
  return `${label.padEnd(width)}  ${probabilities[label].toFixed(2)}  ${text.replace(/\s+/g, " ")}`;
});
