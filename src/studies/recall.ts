import { type Chance, chance } from "../base/chance.ts";
import type { Trained } from "../library/trained.ts";
import { modelLoss } from "../models/any.ts";
import { parametersOf } from "../runtime/compile.ts";
import { initialise } from "../weights/initialise.ts";
import { byBucket, inBuckets, share } from "./buckets.ts";
import { type Reach, reachOf, type Window } from "./gradients.ts";
import type { MadeData, Measured } from "./study.ts";

// Something to remember: every line is a letter, up to 40 zeros and ones that have nothing to do with it, "=", and the same letter again.

const letters = "abcdefghijklmnop";
const mostDigits = 40;
/** A window holds the longest line. */
export const recallContext = 64;

interface Line {
  readonly text: string;
  /** From the letter's second place back to its first. */
  readonly distance: number;
}

function lineOf(own: Chance): Line {
  const letter = letters[own.fork("letter").integer(0, letters.length)];
  const count = 1 + own.fork("count").integer(0, mostDigits);
  const digits = Array.from({ length: count }, (_, i) => own.fork("digits").integer(i, 2)).join("");
  return { text: `${letter}${digits}=${letter}\n`, distance: count + 2 };
}

function linesOf(purpose: string, count: number): Line[] {
  const source = chance(1).fork("recall").fork(purpose);
  return Array.from({ length: count }, (_, i) => lineOf(source.fork(i)));
}

const textOf = (lines: readonly Line[]): string => lines.map(({ text }) => text).join("");

export const recallText: MadeData = {
  name: "recall",
  ending: "txt",
  make: async () => ({ train: textOf(linesOf("train", 20_000)), valid: textOf(linesOf("valid", 500)) }),
};

interface Question extends Window {
  readonly distance: number;
}

/** Windows that end just before the letter is asked for. */
export function recallQuestions({ tokenizer }: Pick<Trained, "tokenizer">, count: number): Question[] {
  const lines = linesOf("test", count + Math.ceil(recallContext / 4)); // the first ones only fill the first window
  const ids = tokenizer.encode(textOf(lines));
  let end = 0;
  return lines
    .flatMap(({ text, distance }) => {
      end += text.length;
      const asked = end - 2; // before the newline
      return asked < recallContext ? [] : [{ ids: ids.slice(asked - recallContext, asked), next: ids[asked], distance }];
    })
    .slice(0, count);
}

const distances = [1, 2, 4, 8, 16, 32];

/** How much is remembered, and how far the gradient reaches before and after training. */
export async function measureRecall(run: Trained): Promise<Measured> {
  const { model } = run;
  const { training } = run.run.config;
  const questions = recallQuestions(run, 500);
  const start = initialise(parametersOf(modelLoss(model)), chance(training.seed)); // as training itself began
  const before = await reachOf(model, start, questions, training.threads);
  const after = await reachOf(model, run.weights.buffer, questions, training.threads);
  const answered = questions.map((question, i) => ({ ...question, right: after.answers[i] === question.next }));
  const groups = inBuckets(answered, ({ distance }) => distance, [10, 20, 30]);
  return {
    figures: { "letters remembered": share(answered, ({ right }) => right) },
    breakdowns: {
      "Letters remembered, by how many positions ago they were": byBucket(groups, (own) => share(own, ({ right }) => right)),
      "Norm of the gradient by distance before training (1 at distance 0)": relative(before),
      "Norm of the gradient by distance after training (1 at distance 0)": relative(after),
    },
  };
}

const relative = ({ norms }: Reach): Record<string, number> => Object.fromEntries(distances.map((k) => [`${k}`, norms[k] / norms[0]]));
