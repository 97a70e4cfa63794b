import type { ToldError } from "../protocol/messages.ts";
import type { FromWorker, Job, JobAnswers, JobEvent, TrainingFacts } from "../worker/messages.ts";
import { Child } from "./child.ts";
import type { Waiting } from "./reader.ts";
import type { ChildSettings } from "./settings.ts";

// One training, in a process of its own: it belongs to the studio, and whoever follows it hears of it.

/** What those who come later are told of what was: enough to join the log, whose newest lines are not written yet. */
const remembered = 1000;
const job = 1;

export type TrainWork = Extract<Job, { kind: "train" | "resume" }>;

/** How a training ended. */
type Ending = { readonly answer: JobAnswers["train"] } | { readonly error: ToldError; readonly stopped: boolean };

export class LiveTraining {
  /** How it ended; never rejected. */
  readonly ended: Promise<Ending>;
  readonly #child: Child;
  readonly #followers = new Set<Waiting>();
  readonly #changed: (training: LiveTraining) => void;
  #ready: Extract<JobEvent, { kind: "ready" }> | undefined;
  #recent: JobEvent[] = [];
  #facts: Omit<TrainingFacts, "run">;
  #run: string | undefined;
  #placed: boolean;
  #unwanted = false;
  #restWanted = false;
  #why: string | undefined;
  #ending: Ending | undefined;
  #settle: (ending: Ending) => void = () => {};

  /** `changed` is called when it begins, rests, goes on and is to end. */
  constructor(
    work: TrainWork,
    settings: ChildSettings,
    { known = { step: 0, steps: 0 }, changed }: { known?: { step: number; steps: number }; changed(training: LiveTraining): void },
  ) {
    this.#changed = changed;
    this.#run = work.kind === "resume" ? work.run : work.settings.out;
    this.#placed = work.kind === "resume";
    this.#facts = { state: "training", ...known };
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#child = new Child(settings, (said) => this.#hear(said));
    this.#child.send({ job, work });
    void this.#child.ended.then((error) => this.#end({ error, stopped: false }));
  }

  /** Its run, as soon as it is known. */
  get run(): string | undefined {
    return this.#run;
  }

  get facts(): TrainingFacts | undefined {
    return this.#run === undefined ? undefined : { run: this.#run, ...this.#facts };
  }

  get over(): boolean {
    return this.#ending !== undefined;
  }

  /** Whether its folder is a run that can go on. */
  get isPlaced(): boolean {
    return this.#placed;
  }

  /** Whether somebody has asked it to rest. */
  get rests(): boolean {
    return this.#facts.state === "paused";
  }

  /** Whether it is to go on when the studio is ended and starts again: not what a person let rest, or is stopping. */
  get goesOn(): boolean {
    return this.#placed && !this.rests && !this.#unwanted;
  }

  /** Hears of it from now on, after what was lately; gives back what ends that. */
  follow(follower: Waiting): () => void {
    if (this.#ready) follower.events([this.#ready, ...this.#recent, ...(this.rests ? [{ kind: "paused" } as const] : [])]);
    if (this.#ending) tellEnding(follower, this.#ending);
    else this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  pause(): void {
    this.#restWanted = true;
    this.#child.send({ pause: job });
  }

  go(): void {
    this.#restWanted = false;
    this.#child.send({ go: job });
    this.#setState("training");
  }

  /** Saves it and ends it; whoever follows it is told why, where no person wanted it. */
  stop(why?: string): void {
    this.#why ??= why;
    this.#child.send({ stop: job });
    if (why !== undefined || this.#unwanted) return;
    this.#unwanted = true;
    this.#changed(this);
  }

  #setState(state: TrainingFacts["state"]): void {
    if (this.#facts.state === state) return;
    this.#facts = { ...this.#facts, state };
    this.#changed(this);
  }

  #hear(said: Exclude<FromWorker, { ready: unknown }>): void {
    if (!("job" in said)) return;
    if ("events" in said) {
      for (const event of said.events) this.#note(event);
      for (const { events } of this.#followers) events(said.events);
    } else if ("answer" in said) this.#end({ answer: said.answer as JobAnswers["train"] });
    else {
      const why = said.stopped && this.#why !== undefined ? { message: this.#why } : {};
      this.#end({ error: { ...said.error, ...why }, stopped: said.stopped });
    }
  }

  #note(event: JobEvent): void {
    if (event.kind === "ready") {
      this.#ready = event;
      this.#run = event.folder;
      this.#facts = { ...this.#facts, step: event.step, steps: event.config.training.steps };
      if (this.#placed) this.#changed(this);
      return;
    }
    if (event.kind === "loading") return;
    if (event.kind === "paused") {
      if (this.#restWanted) this.#setState("paused"); // else it was told to go on before its rest was heard of
    } else this.#recent.push(event);
    if (this.#recent.length > 2 * remembered) this.#recent = this.#recent.slice(-remembered);
    if (event.kind !== "step" && event.kind !== "validation") return;
    this.#facts = { ...this.#facts, step: event.step };
    if (event.kind === "step") this.#setState("training"); // the rest that was heard of may be that of a pause before the last
    if (this.#placed || event.step === 0) return; // what it begins with is measured before there is a run
    this.#placed = true; // its config is written before the first of its steps is told
    this.#changed(this);
  }

  #end(ending: Ending): void {
    if (this.#ending) return;
    this.#ending = ending;
    this.#child.leave();
    for (const follower of this.#followers) tellEnding(follower, ending);
    this.#followers.clear();
    this.#settle(ending);
  }
}

function tellEnding(follower: Waiting, ending: Ending): void {
  if ("answer" in ending) follower.answer(ending.answer);
  else follower.error(ending.error, ending.stopped);
}
