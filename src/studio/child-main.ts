import { plainError } from "../protocol/words.ts";
import type { FromWorker, Job, ToWorker } from "../worker/messages.ts";
import { type CarriedFile, carried, decoded, encoded, type Frame } from "../worker/wire.ts";
import { PageWorker } from "../worker/worker.ts";
import { type ChildSettings, homeOf } from "./settings.ts";

// A child process of a studio: what a worker is in a page, on Node's engine. It ends with its parent; a training saves itself first.

const settings = JSON.parse(process.argv[2]) as ChildSettings;

const say = (said: FromWorker | { readonly frame: Frame }): void => {
  if (process.connected) process.send?.(said, () => {}); // a parent that has gone is noticed otherwise
};

/** Files are what a pipe between processes does not carry. */
const tell = (said: FromWorker): void => {
  const files = "answer" in said && Array.isArray(said.answer) && said.answer.some((one) => (one as unknown) instanceof File);
  if ("answer" in said || "error" in said) trainings.delete("job" in said ? said.job : 0);
  if (!files) say(said);
  else
    carried(said).then(
      (read) => say({ frame: encoded(read) }),
      (error) => "job" in said && say({ job: said.job, error: plainError(error), stopped: false }),
    );
  if (!process.connected && trainings.size === 0) process.exit(0);
};

const worker = new PageWorker(tell, homeOf(settings));
/** Jobs that train. */
const trainings = new Set<number>();

const fileOf = ({ name, bytes, modified }: CarriedFile): File => new File([bytes], name, { lastModified: modified });

process.on("message", ({ frame }: { readonly frame: Frame }) => {
  const message = decoded(frame, fileOf) as Exclude<ToWorker, { start: unknown }>;
  if ("work" in message && (["train", "resume"] as Job["kind"][]).includes(message.work.kind)) trainings.add(message.job);
  worker.hear(message);
});

/** Whoever trains hears the end of its parent as a stop: it saves, and goes on when somebody resumes it. */
process.on("disconnect", () => {
  if (trainings.size === 0) process.exit(0);
  for (const job of trainings) worker.hear({ stop: job });
});

// A Ctrl-C goes to everybody in the terminal; when this process ends is for its parent to say.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

say({ ready: {} as never });
