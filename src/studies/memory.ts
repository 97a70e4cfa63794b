import { chance } from "../base/chance.ts";
import type { Trained } from "../library/trained.ts";
import type { Pair } from "../text/examples.ts";
import { answersTo } from "./answers.ts";
import { share } from "./buckets.ts";
import { errorByPlace } from "./places.ts";
import { jsonLines, type MadeData, type Measure } from "./study.ts";

// A sequence through the eye of a needle: 20 random letters are read and written again. Nothing helps but remembering each of them.

const letters = "abcdefghijklmnopqrstuvwxyz";
const length = 20;
export const memoryContext = length + 1;

type Order = "forwards" | "backwards";

const turned = (text: string, order: Order): string => (order === "forwards" ? text : [...text].reverse().join(""));

function pairsOf(purpose: string, count: number, order: Order): Pair[] {
  const strings = chance(1).fork("memory").fork(purpose);
  return Array.from({ length: count }, (_, i) => {
    const own = strings.fork(i);
    const source = Array.from({ length }, (_, k) => letters[own.integer(k, letters.length)]).join("");
    return { source, target: turned(source, order) };
  });
}

export const memoryPairs = (order: Order): MadeData => ({
  name: order,
  ending: "jsonl",
  make: async () => ({ train: jsonLines(pairsOf("train", 40_000, order)), valid: jsonLines(pairsOf("valid", 500, order)) }),
});

/** Which letters are lost, by where they stood in the source. */
export const measureMemory =
  (order: Order): Measure =>
  async (run: Trained) => {
    const answers = await answersTo(run, pairsOf("test", 500, order));
    const asRead = answers.map(({ source, answer }) => ({ answer: [...turned(answer, order)], reference: [...source] }));
    return {
      figures: { exact: share(answers, ({ answer, references }) => references.includes(answer)) },
      breakdowns: { "Share of letters lost, by their place in the source": errorByPlace(asRead) },
    };
  };
