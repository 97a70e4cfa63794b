import { computer } from "../compute/place.ts";
import { lives } from "../stores/live.ts";
import { useAnswer, type Waited } from "../stores/models.ts";
import { folderOf, runNamed } from "../stores/runs.ts";
import { Series } from "../stores/series.ts";

// The courses of runs, point by point, as their logs have them; those that go on, as far as they are.

export interface Course {
  readonly name: string;
  readonly loss: Series;
  readonly validation: Series;
}

const known = new Map<string, { readonly stamp: number; readonly course: Course }>();

async function courseOf(name: string): Promise<Course> {
  const live = lives.value.get(name);
  if (live && !live.isOver) return { name, loss: live.loss, validation: live.validation };
  const stamp = runNamed(name)?.modified ?? 0;
  const before = known.get(name);
  if (before?.stamp === stamp) return before.course;
  const course: Course = { name, loss: new Series(), validation: new Series() };
  for (const { step, loss, validLoss } of await computer().log({ run: folderOf(name) })) {
    if (typeof step !== "number") continue;
    if (typeof loss === "number") course.loss.add(step, loss);
    if (typeof validLoss === "number") course.validation.add(step, validLoss);
  }
  known.set(name, { stamp, course });
  return course;
}

/** What the table of runs knows of one: few points, at once. */
export function hintOf(name: string): Course {
  const course: Course = { name, loss: new Series(), validation: new Series() };
  for (const [step, loss] of runNamed(name)?.curve ?? []) course.loss.add(step, loss);
  return course;
}

const frame = (): Promise<unknown> => new Promise((resolve) => requestAnimationFrame(resolve));

/** One after the other, with a picture of the screen between two: twenty long logs at once would hold up whoever points at something. */
async function coursesOf(names: readonly string[], signal: AbortSignal): Promise<readonly Course[]> {
  const found: Course[] = [];
  for (const name of names) {
    signal.throwIfAborted();
    found.push(await courseOf(name));
    await frame();
  }
  return found;
}

export const useCourses = (names: readonly string[]): Waited<readonly Course[]> =>
  useAnswer(names.length > 0 ? (signal) => coursesOf(names, signal) : undefined, [
    names.join(","),
    names.map((name) => runNamed(name)?.modified).join(),
  ]);
