import { existsSync, lstatSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { ConfigError } from "../base/errors.ts";
import type { DeviceChoice } from "../node/devices.ts";
import type { GivenFile, Job, JobAnswers, JobEvent, JobKind, ModelPlace, SentSettings } from "./messages.ts";

// Where a worker keeps what. Whoever asks it names runs as "/runs/<name>" and models that came from elsewhere as "/models/…", wherever these lie; what he
// names becomes a path here and nowhere else, so nothing that he says leads out of these folders.

export interface Home {
  /** What its sentences call it. */
  readonly called: "page" | "studio";
  /** The folder of runs, each under its name. */
  readonly runs: string;
  /** Where data lies, each file in a folder called by its content: the same file is there once, whatever run it is for. */
  readonly data: string;
  readonly models: string;
  /** Where tokenised text is kept. */
  readonly cache: string;
  /** Whether it gets what lies at an address. */
  readonly fetches: boolean;
  /** What trains where nothing is said; the library's own choice if left out. */
  readonly device?: DeviceChoice;
  /** Threads where nothing is said. */
  readonly threads?: number;
}

/** What runs and models are called by whoever asks. */
const [runs, models] = ["/runs", "/models"];

/** A name of one thing in a folder: no way out of it, nothing hidden, nothing that some system takes for more than a name. */
const isName = (name: string): boolean =>
  name !== "" && !name.startsWith(".") && !/[/\\\p{Cc}]/u.test(name) && !(sep === "\\" && /[<>:"|?*]/.test(name));

/** Where on the disk something is that is called "/runs/<name>" or "/models/…". */
export function realPlace(place: unknown, home: Home, path = "run"): string {
  if (typeof place !== "string") throw refused(place, home, path);
  const [room, ...names] = place.replace(/^\//, "").replace(/\/$/, "").split("/");
  const inRuns = room === "runs" && names.length === 1;
  const inModels = room === "models" && names.length > 0;
  if (!(inRuns || inModels) || !names.every(isName)) throw refused(place, home, path);
  const folder = inRuns ? home.runs : home.models;
  const real = join(folder, ...names);
  if (!staysIn(folder, real))
    throw new ConfigError(`${place} is a link to somewhere else, where the ${home.called} does not go; move what it leads to here`, {
      path,
    });
  return real;
}

/** A link may lead to a neighbour, but not out of the folder, nor to where something might come to be. */
function staysIn(folder: string, path: string): boolean {
  if (!existsSync(path)) return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  return leadsInside(relative(realpathSync(folder), realpathSync(path)));
}

const leadsInside = (way: string): boolean => way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);

/** Whether a path that somebody wrote down is one in a folder, also where links lead. */
export const isInside = (folder: string, path: string): boolean => leadsInside(relative(folder, resolve(path))) && staysIn(folder, path);

const refused = (place: unknown, { called }: Home, path: string): ConfigError =>
  new ConfigError(
    `${typeof place === "string" ? JSON.stringify(place) : "what was given"} is not a run of this ${called}; runs are called by a name in ${runs}, such as "${runs}/mine"`,
    { path },
  );

/** What something on the disk is called by whoever asks. */
export function toldPlace(path: string, home: Home): string {
  for (const [folder, room] of [
    [home.models, models],
    [home.runs, runs],
  ]) {
    const way = relative(folder, resolve(path));
    if (leadsInside(way)) return [room, ...way.split(sep)].join("/");
  }
  return path;
}

/** A job as it is done here: every place that it names is one of the disk, and every address is one that may be asked. */
export function workAt(work: Job, home: Home): Job {
  const at = (place: unknown, path: string) => realPlace(place, home, path);
  return {
    ...work,
    ...("run" in work && { run: at(work.run, "run") }),
    ...("adapter" in work && work.adapter !== undefined && { adapter: at(work.adapter, "adapter") }),
    ...("from" in work && { from: modelAt(work.from, home) }),
    ...("data" in work && { data: work.data.map((one) => allowed(one, home, "data")) }),
    ...("valid" in work && work.valid && { valid: allowed(work.valid, home, "valid") }),
    ...("data" in work && "settings" in work && { settings: settingsAt(work.settings, home) }),
  } as Job;
}

function modelAt(from: ModelPlace, home: Home): ModelPlace {
  return "run" in from ? { run: realPlace(from.run, home) } : allowed(from, home, "from");
}

/** A studio that got what lies at addresses would get for any page what its machine alone may see. */
function allowed<Given extends GivenFile | ModelPlace>(given: Given, { fetches }: Home, path: string): Given {
  if (!("url" in given) || fetches) return given;
  throw new ConfigError(
    "the studio does not get what lies at an address; save it and give it as a file, or put the model's folder beside the runs",
    { code: "config.choice", path },
  );
}

function settingsAt(settings: SentSettings, home: Home): SentSettings {
  const { out, from, tokenizer } = settings;
  return {
    ...settings,
    ...(out !== undefined && { out: newRun(out, home) }),
    ...(from !== undefined && { from: realPlace(from, home, "from") }),
    ...(tokenizer !== undefined && { tokenizer: tokenizerAt(tokenizer, home) }),
  };
}

/** What is trained becomes a run. */
function newRun(out: unknown, home: Home): string {
  const place = realPlace(out, home, "out");
  if (dirname(place) === resolve(home.runs)) return place;
  throw refused(out, home, "out");
}

/** A kind, or the file of a run. */
function tokenizerAt(given: string, home: Home): string {
  if (typeof given !== "string" || !/[/\\.]/.test(given)) return given;
  if (basename(given) === "tokenizer.json") return join(realPlace(dirname(given), home, "tokenizer"), "tokenizer.json");
  throw new ConfigError(`a tokenizer is a kind, such as "bpe", or that of a run: "${runs}/mine/tokenizer.json"`, { path: "tokenizer" });
}

export const toldEvent = (event: JobEvent, home: Home): JobEvent =>
  event.kind === "ready" ? { ...event, folder: toldPlace(event.folder, home) } : event;

/** An answer with the names that whoever asks knows. */
export function toldAnswer(kind: JobKind, answer: JobAnswers[JobKind], home: Home): JobAnswers[JobKind] {
  const named = <Facts extends { readonly run: string }>(one: Facts): Facts => ({ ...one, run: toldPlace(one.run, home) });
  switch (kind) {
    case "train":
    case "resume":
      return { result: named((answer as JobAnswers["train"]).result) };
    case "open":
      return named(answer as JobAnswers["open"]);
    case "runs":
      return (answer as JobAnswers["runs"]).map(named);
    case "trainings":
      return (answer as JobAnswers["trainings"]).map(named);
    default:
      return answer;
  }
}
