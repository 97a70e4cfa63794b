import { classifyTexts } from "../evaluation/predict.ts";
import { predictionCommand } from "./predictions.ts";

export const classify = predictionCommand("classify", classifyTexts, ({ text, label, labels: chosen, probabilities }, { labels }) => {
  const width = Math.max(...labels.map(({ length }) => length));
  if (chosen)
    return `${chosen.map((name) => `${name} ${probabilities[name].toFixed(2)}`).join(", ") || "(none)"}\t${text.replace(/\s+/g, " ")}`;
  return `${label.padEnd(width)}  ${probabilities[label].toFixed(2)}  ${text.replace(/\s+/g, " ")}`;
});
