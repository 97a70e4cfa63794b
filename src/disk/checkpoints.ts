import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { ConfigError, RunError } from "../base/errors.ts";
import { sentence } from "../base/sentence.ts";
import { atOnce } from "../base/turns.ts";
import { diskError, megabytes, removeQuietly, syncFolder, systemCode, writingSynced } from "./files.ts";
import { type Manifest, manifestName, manifestOf, readManifest, readVerified, sameManifest, verifyFiles } from "./manifest.ts";

export interface Checkpoint {
  readonly step: number;
  readonly folder: string;
  read(name: string): Uint8Array;
  /** The same as work that can be left between two pieces. */
  reading(name: string): Generator<void, Uint8Array>;
}

export interface CheckpointsOptions {
  /**
   * Called between the stages of a save, to slow it down or to break it off: what it throws leaves the disk as a kill at that
   * moment would. In order: `started`, `writing <file>` before each part of each file, `written`, `described` (the manifest is
   * there), `placed`; when a checkpoint is replaced, `beside`, `deleting` and `moved` come before `placed`. Pruning has `deleting` too.
   */
  readonly pause?: (stage: string) => void;
}

/** A folder with a number for a name, and what its manifest says. */
interface Entry {
  readonly name: string;
  readonly step: number;
  readonly manifest?: Manifest;
  /** Why the manifest cannot be used. */
  readonly problem?: string;
}

/**
 * The checkpoints of a run: `<step>/` with files and a manifest, each complete or absent, whatever moment a kill chooses.
 * `<step>.new` stands beside `<step>` for the moment in which one replaces the other. One process writes at a time.
 */
export class Checkpoints {
  readonly folder: string;
  readonly #pause: (stage: string) => void;
  /** What this process wrote or verified, so that pruning never counts a damaged one, nor hashes one twice. */
  readonly #valid = new Map<string, boolean>();

  constructor(folder: string, { pause = () => {} }: CheckpointsOptions = {}) {
    this.folder = folder;
    this.#pause = pause;
  }

  save(step: number, files: ReadonlyMap<string, readonly Uint8Array[]>): void {
    atOnce(this.saving(step, files));
  }

  /** The same as work that can be left between two pieces; what is saved must not change meanwhile. */
  *saving(step: number, files: ReadonlyMap<string, readonly Uint8Array[]>): Generator<void, void> {
    const manifest = yield* manifestOf(step, files);
    if (yield* this.#holds(manifest)) return;
    const temporary = this.#path(`.saving-${step}-${process.pid}`);
    try {
      this.#makeFolder();
      rmSync(temporary, { recursive: true, force: true });
      mkdirSync(temporary);
      this.#pause("started");
      for (const [name, parts] of files) yield* writingSynced(join(temporary, name), parts, () => this.#pause(`writing ${name}`));
      this.#pause("written");
      yield* writingSynced(join(temporary, manifestName), [new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`)]);
      syncFolder(temporary);
      this.#pause("described");
      this.#place(temporary, `${step}`);
      this.#valid.set(`${step}`, true);
      this.#pause("placed");
    } catch (error) {
      if (systemCode(error) !== undefined) removeQuietly(temporary); // room for the others, on a disk that is full
      throw diskError(error, this.folder, `save the checkpoint of step ${step} (${megabytes([...files.values()].flat())}) in`);
    }
  }

  /** The newest that is whole. Newer ones that are damaged are named in a warning each. */
  latest(warn: (sentence: string) => void): Checkpoint | undefined {
    return atOnce(this.findingLatest(warn));
  }

  /** The same as work that can be left: all of it is read, to see whether it is whole. */
  *findingLatest(warn: (sentence: string) => void): Generator<void, Checkpoint | undefined> {
    for (const { name, step, manifest, problem } of this.#entries()) {
      const folder = this.#path(name);
      const damage = problem ?? (yield* damageOf(folder, manifest));
      this.#valid.set(name, damage === undefined);
      if (manifest && damage === undefined) return checkpointIn(folder, step, manifest);
      warn(`the checkpoint ${folder} is damaged: ${damage}; it is passed over`);
    }
    return undefined;
  }

  /** That of one step, if it is there; what is damaged in it is told when it is read. */
  at(step: number): Checkpoint | undefined {
    const found = this.#entries().find((one) => one.step === step && one.manifest);
    return found?.manifest && checkpointIn(this.#path(found.name), step, found.manifest);
  }

  /** The steps that have a checkpoint with a readable manifest, from the oldest on. */
  list(): number[] {
    const steps = this.#entries().flatMap(({ step, manifest }) => (manifest ? [step] : []));
    return [...new Set(steps)].reverse();
  }

  /** Removes all that are older than the newest `keep` whole ones. */
  prune(keep: number): void {
    if (!(keep >= 1)) throw new ConfigError(`at least 1 checkpoint must be kept, not ${keep}`);
    let whole = 0;
    for (const { name } of this.#entries()) {
      if (whole >= keep) this.#onDisk(name, "remove", () => this.#remove(name));
      else if (this.#isValid(name)) whole++;
    }
  }

  /** Removes what kills have left behind, and ends a replacement that was cut short. */
  clean(): void {
    for (const name of this.#names()) {
      if (/^\d+\.new$/.test(name)) this.#onDisk(name, "put in its place", () => this.#settle(name.slice(0, -".new".length)));
      else if (/^\.(saving|deleting)-/.test(name))
        this.#onDisk(name, "remove", () => rmSync(this.#path(name), { recursive: true, force: true }));
    }
  }

  #path(name: string): string {
    return join(this.folder, name);
  }

  /** Whether the very same is there already, whole, and nothing waits to replace it. */
  *#holds(wanted: Manifest): Generator<void, boolean> {
    const name = `${wanted.step}`;
    const { manifest } = this.#entry(name);
    if (!manifest || !sameManifest(manifest, wanted) || existsSync(this.#path(`${name}.new`))) return false;
    return (yield* damageOf(this.#path(name), manifest)) === undefined;
  }

  #onDisk(name: string, doing: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      throw diskError(error, this.#path(name), doing);
    }
  }

  #makeFolder(): void {
    if (mkdirSync(this.folder, { recursive: true }) !== undefined) syncFolder(dirname(this.folder));
  }

  /** Folders cannot be swapped in one step, so a new one waits under a name that `latest` knows while the old one goes. */
  #place(temporary: string, name: string): void {
    this.#settle(name);
    const replaces = existsSync(this.#path(name));
    renameSync(temporary, this.#path(replaces ? `${name}.new` : name));
    syncFolder(this.folder);
    if (!replaces) return;
    this.#valid.set(`${name}.new`, true);
    this.#pause("beside");
    this.#settle(name);
  }

  #settle(name: string): void {
    if (!existsSync(this.#path(`${name}.new`))) return;
    if (!this.#isValid(`${name}.new`)) {
      this.#remove(`${name}.new`);
      return;
    }
    if (existsSync(this.#path(name))) this.#remove(name);
    this.#pause("moved");
    renameSync(this.#path(`${name}.new`), this.#path(name));
    syncFolder(this.folder);
    this.#valid.delete(`${name}.new`);
    this.#valid.set(name, true);
  }

  /** First out of sight, then away: a kill in between leaves no half checkpoint. */
  #remove(name: string): void {
    const away = this.#path(`.deleting-${name}-${process.pid}`);
    rmSync(away, { recursive: true, force: true });
    renameSync(this.#path(name), away);
    this.#valid.delete(name);
    syncFolder(this.folder);
    this.#pause("deleting");
    rmSync(away, { recursive: true, force: true });
  }

  #isValid(name: string): boolean {
    const known = this.#valid.get(name);
    if (known !== undefined) return known;
    const valid = atOnce(damageOf(this.#path(name), this.#entry(name).manifest)) === undefined;
    this.#valid.set(name, valid);
    return valid;
  }

  #names(): string[] {
    try {
      return readdirSync(this.folder);
    } catch (error) {
      if (systemCode(error) === "ENOENT") return [];
      throw diskError(error, this.folder, "read the checkpoints in");
    }
  }

  /** The newest first, by the step in the manifest; where that cannot be read, by the name. A replacement comes before what it replaces. */
  #entries(): Entry[] {
    const entries = this.#names()
      .filter((name) => /^\d+(\.new)?$/.test(name))
      .map((name) => this.#entry(name));
    return entries.sort((a, b) => b.step - a.step || b.name.length - a.name.length);
  }

  #entry(name: string): Entry {
    try {
      const manifest = readManifest(this.#path(name));
      return { name, step: manifest.step, manifest };
    } catch (error) {
      if (!(error instanceof RunError)) throw error;
      return { name, step: Number.parseInt(name, 10), problem: error.message };
    }
  }
}

function checkpointIn(folder: string, step: number, manifest: Manifest): Checkpoint {
  const reading = (file: string) => readOne(folder, manifest, file);
  return { step, folder, reading, read: (file) => atOnce(reading(file)) };
}

function* damageOf(folder: string, manifest: Manifest | undefined): Generator<void, string | undefined> {
  if (!manifest) return "it has no manifest";
  try {
    yield* verifyFiles(folder, manifest);
    return undefined;
  } catch (error) {
    if (error instanceof RunError) return error.message;
    throw error;
  }
}

function* readOne(folder: string, manifest: Manifest, name: string): Generator<void, Uint8Array> {
  const entry = manifest.files.find((file) => file.name === name);
  if (!entry)
    throw new RunError(`the checkpoint ${folder} has no file ${name}; it has ${manifest.files.map((file) => file.name).join(", ")}`);
  try {
    return yield* readVerified(folder, entry);
  } catch (error) {
    if (error instanceof RunError)
      throw new RunError(sentence`the checkpoint ${folder} is damaged: ${error.sentence}`, { code: "run.damaged", cause: error });
    throw error;
  }
}
