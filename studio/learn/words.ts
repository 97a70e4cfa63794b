import type { RunFacts } from "../../src/worker/found.ts";
import type { Live } from "../stores/live.ts";
import type { Series } from "../stores/series.ts";

// What is said of a run in few words.

export function stateWords(live: Live | undefined, facts: RunFacts | undefined): string {
  if (live && !live.isOver) return live.state.value;
  if (live?.state.value === "failed" || live?.state.value === "interrupted") return live.state.value;
  if (facts?.training) return facts.training;
  if (!facts) return live?.state.value ?? "";
  return facts.step >= facts.steps ? "done" : "stopped";
}

/** What tasks are called. */
export const taskWords: Readonly<Record<string, string>> = {
  lm: "writes on",
  classify: "gives labels",
  tag: "tags words",
  translate: "translates",
  mlm: "fills in words",
  embed: "gives vectors",
};

const most = 60;

/** A growing series in so few points that they can be drawn small: each the mean of its stretch. */
export function curveOf({ steps, values }: Series): readonly (readonly [number, number])[] {
  const size = Math.max(1, Math.ceil(values.length / most));
  const found: (readonly [number, number])[] = [];
  for (let from = 0; from < values.length; from += size) {
    const stretch = values.slice(from, from + size);
    found.push([steps[Math.min(steps.length, from + size) - 1], stretch.reduce((sum, one) => sum + one, 0) / stretch.length]);
  }
  return found;
}
