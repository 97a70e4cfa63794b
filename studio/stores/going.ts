import type { Computer, PageData, PageTrainSettings } from "../../src/worker/computer.ts";
import { computer, kind } from "../compute/place.ts";
import { type Live, lives, rejoin, watch } from "./live.ts";
import { folderOf, nameOf, runs } from "./runs.ts";
import { setPrompt } from "./sample-text.ts";
import { unwish, wish, wished } from "./wishes.ts";

// Beginning a training, and going on with one.

export interface Beginning {
  readonly name: string;
  readonly data: PageData;
  readonly settings: PageTrainSettings;
  /** What it is shown again and again while it learns. */
  readonly prompt?: string;
}

/** Every so many steps the norms of all layers are told. */
const partsEvery = 10;

export function beginTraining({ name, data, settings, prompt }: Beginning): Live {
  const run = folderOf(name);
  if (prompt !== undefined) setPrompt(run, prompt);
  const training = computer().begin(data, { partsEvery, ...settings, out: run });
  wish(name);
  return watch(run, training);
}

/** A browser whose disk gets full removes what nobody asked it to keep. Some ask the person, so it is done for what a person began. */
export function keepRuns(): void {
  if (kind === "page")
    void computer()
      .persist()
      .catch(() => {}); // without it runs are kept as long as there is room
}

/** Goes on where it was saved; to more steps, if they are given. */
export async function resumeTraining(name: string, steps?: number): Promise<Live> {
  const training = computer().resume({ run: folderOf(name) }, steps === undefined ? {} : { steps });
  wish(name);
  return rejoin(folderOf(name), training);
}

/** What goes on elsewhere is followed; and what was under way when this page was left goes on, which a house sees to by itself. */
export async function goOn(found: Computer): Promise<void> {
  for (const { run, state, steps } of await found.trainings()) {
    const known = lives.value.get(nameOf(run));
    if (known && !known.isOver) continue;
    const live = await rejoin(run, found.follow({ run }));
    live.attach(state, steps);
  }
  if (kind !== "page") return;
  for (const name of wished()) {
    if (lives.value.has(name)) continue;
    const facts = runs.value?.find(({ run }) => nameOf(run) === name);
    if (facts?.training) continue; // in another tab
    if (facts && facts.step < facts.steps) void resumeTraining(name);
    else unwish(name);
  }
}
