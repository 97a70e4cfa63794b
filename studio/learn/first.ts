import { put } from "../address.ts";
import { beginTraining } from "../stores/going.ts";
import { keep, kept } from "../stores/kept.ts";
import { lives } from "../stores/live.ts";
import { runs } from "../stores/runs.ts";

// A first visit: a small model begins to learn at once, so that there is something to see.

export const firstName = "first-steps";

/** Whoever removed all runs wanted none. */
const key = "qkv-first-visit";
let begun = false;

export const isFirstVisit = (): boolean => !begun && runs.value?.length === 0 && lives.value.size === 0 && kept(key) !== "over";

export const firstVisitIsOver = (): void => keep(key, "over");

/** Two layers of four heads learn to guess the next character of the beginning of a book. */
export async function beginFirst(): Promise<void> {
  begun = true;
  const answer = await fetch(new URL("./book.txt", document.baseURI));
  if (!answer.ok) throw new Error(`the book for a first look is not there (status ${answer.status}); begin a training of your own`);
  const text = await answer.text();
  beginTraining({
    name: firstName,
    data: { text, name: "book.txt" },
    prompt: "Call me Ishmael. Some years ago",
    settings: {
      task: "lm",
      tokenizer: "char",
      model: { model: "decoder", layers: 2, heads: 4, width: 64, context: 128 },
      batch: 6,
      steps: 1500,
      lr: 3e-3,
      evalEvery: 100,
      saveEvery: 25,
      keep: 60,
    },
  });
  put({ run: firstName, new: undefined });
}
