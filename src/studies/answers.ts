import { cacheFolder } from "../data/cache.ts";
import { ownData } from "../data/held-out.ts";
import { nearest, questionsOf } from "../evaluation/references.ts";
import type { Trained } from "../library/trained.ts";
import type { Pair } from "../text/examples.ts";
import type { Measured } from "./study.ts";

/** What a model answered to a source, and what it might have answered. */
export interface Answer {
  readonly source: string;
  readonly answer: string;
  readonly references: readonly string[];
  /** The reference that the answer comes nearest to. */
  readonly nearest: string;
}

/** Every source of the test once, with the model's own answer: the likeliest token each time. */
export async function answersOf(run: Trained): Promise<Answer[]> {
  return answersTo(run, (await heldOut(run)) as readonly Pair[]);
}

export async function answersTo(run: Trained, pairs: readonly Pair[]): Promise<Answer[]> {
  const questions = questionsOf(pairs);
  const translations = await run.translate(questions.map(({ place }) => pairs[place].source));
  return translations.map(({ source, target }, i) => {
    const { references } = questions[i];
    return { source, answer: target, references, nearest: nearest(target, references) };
  });
}

/** The examples that a run was not trained on. */
export async function heldOut({ run }: Trained) {
  const { data, close } = await ownData(run, cacheFolder(), () => {});
  close();
  return data.kind === "examples" ? data.examples : [];
}

/** Measures of `qkv eval`, under other names. One that a run does not have is left out. */
export const evaluated =
  (names: Readonly<Record<string, string>>) =>
  async (run: Trained): Promise<Measured> => {
    const measures: Readonly<Record<string, unknown>> = { ...(await run.evaluate()) };
    const figures = Object.entries(names).flatMap(([name, key]) => {
      const value = measures[key];
      return typeof value === "number" ? [[name, value] as const] : [];
    });
    return { figures: Object.fromEntries(figures) };
  };
