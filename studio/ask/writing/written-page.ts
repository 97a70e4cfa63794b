import { escaped } from "../../../src/pictures/escape.ts";
import { percent } from "../../parts/numbers.ts";
import { doubtOf } from "./doubt.ts";

// A written text as a page that needs nothing else: every token under its doubt, with its probability where one points.

interface SavedToken {
  readonly text: string;
  /** None where nothing was before it. */
  readonly logProbability: number | null;
}

export interface SavedText {
  readonly title: string;
  readonly prompt: readonly SavedToken[];
  readonly tokens: readonly SavedToken[];
}

const style = `body { margin: 2rem auto; max-width: 48rem; padding: 0 1rem; font: 16px/1.7 ui-monospace, monospace; color-scheme: light dark; }
p { white-space: pre-wrap; overflow-wrap: anywhere; }
.prompt { opacity: 0.7; }
span[title] { text-decoration: underline 2px; text-decoration-color: rgb(213 94 0 / var(--doubt)); }`;

export function writtenPage({ title, prompt, tokens }: SavedText): string {
  const spans = (all: readonly SavedToken[], kind: "prompt" | "text") => all.map((token) => spanOf(token, kind)).join("");
  return `<!doctype html>
<html lang="">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${style}</style>
<h1>${escaped(title)}</h1>
<p dir="auto">${spans(prompt, "prompt")}${spans(tokens, "text")}</p>
<p>The stronger the line under a token, the less sure the model was of it; point at one for its probability.</p>
</html>
`;
}

function spanOf({ text, logProbability }: SavedToken, kind: "prompt" | "text"): string {
  const shown =
    logProbability === null ? "" : ` title="${percent(Math.exp(logProbability))}" style="--doubt: ${doubtOf(logProbability).toFixed(2)}"`;
  return `<span class="${kind}"${shown}>${escaped(text)}</span>`;
}
