import { type Tagging, tagTexts } from "../evaluation/predict.ts";
import { predictionCommand } from "./predictions.ts";

export const tag = predictionCommand("tag", {
  predict: tagTexts,
  empty: (text) => ({ text, tokens: [], tags: [] }),
  shown: (tagging) => rows(tagging, process.stdout.columns ?? 100),
});

/** Tokens with their tags below them, in as many pairs of rows as the width asks for, and an empty row at the end. */
export function rows({ tokens, tags }: Tagging, width: number): string {
  const lines: { tokens: string; tags: string }[] = [];
  let line = { tokens: "", tags: "" };
  for (const [i, token] of tokens.map(visible).entries()) {
    const cell = Math.max([...token].length, tags[i].length) + 1;
    if (line.tags !== "" && [...line.tokens].length + cell > width) {
      lines.push(line);
      line = { tokens: "", tags: "" };
    }
    line = { tokens: line.tokens + padded(token, cell), tags: line.tags + padded(tags[i], cell) };
  }
  return [...lines, line].map((one) => `${one.tokens.trimEnd()}\n${one.tags.trimEnd()}\n`).join("");
}

const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - [...text].length));

/** Line ends and the like would tear the rows apart. */
const visible = (token: string): string => token.replace(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
