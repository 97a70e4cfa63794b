import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { RunError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { diskError, makeFolders, removeEmpty, removeQuietly, syncFolder, systemCode } from "./files.ts";

// A folder that is there whole or not at all, whatever moment a kill or a full disk chooses. It grows as `.<name>.<process>.writing` beside
// its place, is brought down to the disk, and gets its name. One that is replaced waits as `.<name>.<process>.old` until the new one has it.

export interface WholeFolder {
  readonly folder: string;
  /** Whether a folder of the same kind that is there may be replaced. */
  readonly overwrite?: boolean;
  /** What is written: "the export", "the run". */
  readonly what: string;
  /** Whether a file, by its path in the folder (with /), is of this kind: a folder that has others is never replaced. */
  readonly owns: (file: string) => boolean;
  /** Called between stages, to break it off as a kill would: `started`, `filled`, `synced`, `aside` (when one is replaced), `placed`. */
  readonly pause?: (stage: string) => void;
}

/** Fills a folder that is not there yet, and puts it in its place when it is whole; nothing is left of one that fails. */
export async function writeWholeFolder<Result>(
  options: WholeFolder,
  fill: (temporary: string) => Result | Promise<Result>,
): Promise<Result> {
  const { pause = () => {} } = options;
  const folder = realFolder(options.folder);
  if (existsSync(dirname(folder))) onDisk(options, () => cleanLeftovers(folder));
  refuseTakenFolder(options);
  const temporary = besideOf(folder, process.pid, "writing");
  let made: readonly string[] = [];
  try {
    made = makeFolders(dirname(folder));
    mkdirSync(temporary);
    writing.add(temporary);
    pause("started");
    const result = await fill(temporary);
    pause("filled");
    syncAll(temporary);
    pause("synced");
    placeFolder(temporary, options);
    return result;
  } catch (error) {
    if (!(error instanceof BrokenOff)) {
      removeQuietly(temporary);
      removeEmpty(made);
    }
    throw told(error, options);
  } finally {
    writing.delete(temporary);
  }
}

const told = (error: unknown, { folder, what }: WholeFolder): unknown =>
  systemCode(error) === undefined ? error : diskError(error, folder, `write ${what} to`);

function onDisk(options: WholeFolder, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw told(error, options);
  }
}

/** Thrown by a `pause`: the disk stays as a kill would leave it. */
export class BrokenOff extends Error {}

/** What this process is writing at this moment. */
const writing = new Set<string>();

/** Refuses a folder that must not be written, before any work is done for it. */
export function refuseTakenFolder({ folder, overwrite = false, what, owns }: WholeFolder): void {
  const names = namesIn(folder);
  if (names === undefined || names.length === 0) return;
  if (!overwrite)
    throw new RunError(
      sentence`${folder} is there already; choose another ${setting("out")}, or replace it with ${setting("overwrite", true)}`,
      { code: "run.exists" },
    );
  const foreign = filesIn(folder).filter((file) => !owns(file));
  if (foreign.length === 0) return;
  const more = foreign.length > 1 ? ` and ${foreign.length - 1} more` : "";
  throw new RunError(
    sentence`${folder} holds ${foreign[0]}${more}, which is no part of ${what}, so ${setting("overwrite", true)} leaves it alone; choose another ${setting("out")}`,
    { code: "run.exists" },
  );
}

/** Gives a whole folder its name; what had it before goes when the new one is there. Both lie in the same folder. */
function placeFolder(temporary: string, options: WholeFolder): void {
  const { pause = () => {} } = options;
  const folder = realFolder(options.folder);
  refuseTakenFolder(options); // somebody may have been faster
  const old = besideOf(folder, process.pid, "old");
  const replaces = existsSync(folder) && readdirSync(folder).length > 0;
  if (replaces) renameSync(folder, old);
  pause("aside");
  try {
    renameSync(temporary, folder);
  } catch (error) {
    if (replaces) renameSync(old, folder);
    throw error;
  }
  syncFolder(dirname(folder));
  pause("placed");
  if (replaces) rmSync(old, { recursive: true, force: true });
}

const besideOf = (folder: string, process: number, state: "writing" | "old"): string =>
  join(dirname(folder), `.${basename(folder)}.${process}.${state}`);

/** Where a name leads: a link to a folder stays a link. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return resolve(folder);
  }
}

/** Removes what killed processes left; one that was set aside goes back to its place, unless something has it. */
function cleanLeftovers(folder: string): void {
  const start = `.${basename(folder)}.`;
  for (const name of readdirSync(dirname(folder))) {
    const [, process, state] = (name.startsWith(start) && /^(\d+)\.(writing|old)$/.exec(name.slice(start.length))) || [];
    const path = join(dirname(folder), name);
    if (process === undefined || writing.has(path) || isAtWork(Number(process))) continue;
    if (state === "old" && !existsSync(folder)) renameSync(path, folder);
    else rmSync(path, { recursive: true, force: true });
  }
}

/** Another process that is alive. Our own number without our writing was left by one of the same number. */
function isAtWork(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === "EPERM"; // somebody else's
  }
}

function namesIn(folder: string): readonly string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw diskError(error, folder, "look into");
  }
}

/** All that is no folder, by its path with /. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();

function syncAll(folder: string): void {
  for (const entry of readdirSync(folder)) {
    const path = join(folder, entry);
    if (statSync(path).isDirectory()) syncAll(path);
    else syncFile(path);
  }
  syncFolder(folder);
}

function syncFile(file: string): void {
  const handle = openSync(file, "r+"); // Windows syncs only what may be written
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
