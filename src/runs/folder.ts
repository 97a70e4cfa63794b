import { createHash } from "node:crypto";
import { closeSync, existsSync, linkSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, extname, join, resolve } from "node:path";
import * as z from "zod";
import { FormatError, RunError } from "../base/errors.ts";
import { call, instead, sentence, setting, type Wording } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { meanwhile } from "../base/turns.ts";
import type { DataSource } from "../data/source.ts";
import { diskError, isAlive, makeFolders, removeTemporaries, systemCode, writeDurably } from "../disk/files.ts";
import { isHubFolder } from "../disk/hub-kind.ts";
import { readSafetensorsHeader, weightsInFile } from "../disk/safetensors-file.ts";
import { hubTokenizer } from "../hub/tokenizer.ts";
import { type ModelConfig, modelLoss } from "../models/any.ts";
import type { Definition } from "../models/own.ts";
import { parametersOf } from "../runtime/compile.ts";
import { parseTokenizer, saveTokenizer, unframed } from "../tokens/index.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { Weights } from "../weights/weights.ts";
import { adapterFile, adapterIn } from "./adapter-files.ts";
import { parseRunConfig, type RunConfig, runConfigText } from "./config.ts";

// The run folder: what lies where, who may write, and how it is read again.

/** What a run has, beside its config. */
const runOnly = ["model.safetensors", "adapter", "log.jsonl", "checkpoints", "tokenizer.json", "calibration.json"];

export const paths = (folder: string) => ({
  config: join(folder, "config.json"),
  tokenizer: join(folder, "tokenizer.json"),
  model: join(folder, "model.safetensors"),
  log: join(folder, "log.jsonl"),
  checkpoints: join(folder, "checkpoints"),
  adapter: adapterIn(folder),
  calibration: join(folder, "calibration.json"),
  lock: join(folder, "lock"),
});

/** Where a run goes when nothing else is said: runs/<name>-<task>. */
export function usualFolder(source: DataSource, task: RunConfig["task"]): string {
  return join("runs", `${shortName(source) || "data"}-${task}`);
}

function shortName(source: DataSource): string {
  if (source.kind === "files") return basename(source.files[0], extname(source.files[0])).replace(/[^\w.-]+/g, "-");
  return source.kind === "recipe" ? source.name : "";
}

const isRun = (folder: string): boolean => existsSync(paths(folder).config);

export function refuseExisting(folder: string): void {
  if (isRun(folder))
    throw new RunError(
      sentence`${folder} already holds a run; go on with it by ${instead("resume", folder)}, choose another ${setting("out")}, or replace it with ${setting("overwrite", true)}`,
      { code: "run.exists" },
    );
}

/** Gives back the folders that were not there, the innermost first. */
export function makeFolder(folder: string): string[] {
  try {
    return makeFolders(folder);
  } catch (error) {
    throw diskError(error, folder, "make the run folder");
  }
}

/** Refuses a folder that a new run may not have. */
export function refuseTaken(folder: string, overwrite: boolean): void {
  if (!overwrite) refuseExisting(folder);
  if (overwrite && isRun(folder)) refuseForeign(paths(folder).config);
  const remains = runOnly.filter((name) => existsSync(join(folder, name)));
  if (!overwrite && remains.length > 0)
    throw new RunError(
      sentence`${folder} has no config.json, but ${remains.join(" and ")} of something else; choose another ${setting("out")}, or let them be replaced with ${setting("overwrite", true)}`,
      { code: "run.exists" },
    );
}

/** Takes away the run that was in the folder, if it may. What is not ours stays in any case. */
export function clearRun(folder: string, overwrite: boolean): void {
  refuseTaken(folder, overwrite);
  try {
    rmSync(paths(folder).config, { force: true }); // first, so that half a run is never taken for one
    for (const name of runOnly) rmSync(join(folder, name), { recursive: true, force: true });
    removeTemporaries(folder);
  } catch (error) {
    throw diskError(error, folder, "make the run folder");
  }
}

/** Others have a config.json too. */
function refuseForeign(file: string): void {
  const text = readText(file);
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch {
    return; // damaged, and to be replaced
  }
  if (typeof config !== "object" || config === null || !("training" in config))
    throw new RunError(
      sentence`${file} is not that of a run, so ${setting("overwrite", true)} leaves it alone; choose another ${setting("out")}`,
      { code: "run.exists" },
    );
}

/** The locks that this process holds. */
const held = new Set<string>();

/** A lock that nobody has touched for so many milliseconds was left behind by a host that is gone; its holder does it all the time. */
export const deadAfter = 120_000;
const touchedEvery = 10_000;

/**
 * Keeps others from writing into the folder; gives back what lets go of it. A lock whose process is gone counts for nothing: on this host that
 * is asked, and of another host, with which the disk is shared, it is seen by nobody's touching it. It says of how many ranks its holder is one.
 */
export function lockRun(folder: string, ranks = 1): () => void {
  const lock = resolve(paths(folder).lock);
  if (held.has(lock))
    throw new RunError(`this process is training in ${folder} already; wait for it, or choose another folder`, { code: "run.busy" });
  const own = `${process.pid} ${hostname()}${ranks > 1 ? ` ${ranks}` : ""}`;
  const mine = `${lock}.${process.pid}`;
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      writeFileSync(mine, own);
      linkSync(mine, lock); // all at once: a lock is never there without its owner's number
      held.add(lock);
      const stopTouching = meanwhile(() => touch(lock, own), touchedEvery);
      return () => {
        stopTouching();
        held.delete(lock);
        if (readLock(lock) === own) rmSync(lock, { force: true });
      };
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw diskError(error, folder, "write into");
      const [number, host = hostname()] = readLock(lock).split(" ");
      const [owner, elsewhere] = [Number(number), host !== hostname()];
      // our own number without our holding it was left by one of the same number
      const holds = elsewhere ? ageOf(lock, mine) < deadAfter : owner !== process.pid && isAlive(owner);
      if (holds)
        throw new RunError(
          `process ${owner}${elsewhere ? ` on ${host}` : ""} is training in ${folder} at this moment; wait for it or stop it (if there is none, remove ${lock})`,
          { code: "run.busy" },
        );
      rmSync(lock, { force: true });
    } finally {
      rmSync(mine, { force: true });
    }
  }
  throw new RunError(sentence`another process is starting in ${folder} at this moment; wait for it, or choose another ${setting("out")}`, {
    code: "run.busy",
  });
}

/** Whether somebody trains in it: this process, or another of this machine that is alive. */
export function isBusy(folder: string): boolean {
  const lock = resolve(paths(folder).lock);
  if (held.has(lock)) return true;
  const [number, host = hostname()] = readLock(lock).split(" ");
  return number !== "" && host === hostname() && Number(number) !== process.pid && isAlive(Number(number));
}

/** Whether another host holds it, or did, and whether that was one of many ranks. */
export function heldBy(folder: string): { readonly elsewhere: boolean; readonly ranks: number } {
  const [, host = hostname(), ranks = "1"] = readLock(resolve(paths(folder).lock)).split(" ");
  return { elsewhere: host !== hostname(), ranks: Number(ranks) };
}

/** Written once more as it is, so that it has the time of the disk's own clock. */
function touch(file: string, own: string): void {
  try {
    if (readLock(file) !== own) return;
    const descriptor = openSync(file, "r+");
    writeSync(descriptor, own, 0);
    closeSync(descriptor);
  } catch {
    // it was let go of, or the disk is gone: whoever writes next will say so
  }
}

/** How long ago a file was touched, by the clock of the disk: that of a file that was written just now. */
function ageOf(file: string, fresh: string): number {
  const [old, now] = [file, fresh].map((one) => statSync(one, { throwIfNoEntry: false })?.mtimeMs);
  return old === undefined || now === undefined ? 0 : now - old;
}

function readLock(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // let go of in this very moment
  }
}

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The config comes last, after whatever else the run begins with: with it, the folder is a run. */
export function writeRun(folder: string, config: RunConfig, tokenizer: Tokenizer, begin: () => void = () => {}): void {
  const { tokenizer: tokenizerFile, config: configFile } = paths(folder);
  writeDurably(tokenizerFile, saveTokenizer(tokenizer));
  begin();
  writeDurably(configFile, runConfigText(config));
}

export interface OpenRun {
  readonly folder: string;
  readonly config: RunConfig;
  readonly tokenizer: Tokenizer;
  /** The model that its weights are of, where `config.model` has another head: of a run that is gone on from for another task. */
  readonly body?: ModelConfig;
  /** Of which checkpoint the weights are, where they are not the best ones. */
  readonly step?: number;
  /** Of a model that is no run, but somebody else's folder or file: where its weights are. */
  readonly outside?: { readonly files: readonly string[]; weights(): Weights };
}

/** Reads a run's config and tokenizer, checked. */
export function openRun(folder: string, models?: readonly Definition[]): OpenRun {
  const { config: configFile, tokenizer: tokenizerFile } = paths(folder);
  if (!isRun(folder))
    throw new RunError(sentence`${folder} is not a run folder: there is no config.json${whatInstead(folder)}`, { code: "run.missing" });
  if (isHubFolder(folder))
    throw new RunError(
      sentence`${folder} is a model of Hugging Face, and no run that could go on; train from it: ${call("train", "<data>", { from: folder })}`,
      { code: "run.missing" },
    );
  const config = parseRunConfig(readText(configFile), configFile, models);
  const text = readText(tokenizerFile);
  // what stands around a text is for models from elsewhere
  const tokenizer = config.hub ? hubTokenizer(text, tokenizerFile, config.hub) : unframed(parseTokenizer(text, tokenizerFile));
  if (sha256(text) !== config.tokenizer.sha256)
    throw new RunError(
      `${tokenizerFile} is not the tokenizer that the model was trained with (its SHA-256 differs from the one in config.json)`,
      { code: "run.changed" },
    );
  return { folder, config, tokenizer };
}

/** What may have been meant, by what lies there or beside it. */
function whatInstead(folder: string): Wording {
  const runsIn = (place: string) => namesIn(place).filter((name) => isRun(join(place, name)) || name.endsWith(".gguf"));
  if (existsSync(paths(folder).lock)) return "; its training has not come to a first step: if it was stopped, start it again";
  const [within] = runsIn(folder);
  if (within !== undefined) return `; did you mean ${join(folder, within)}?`;
  if (existsSync(folder)) return statSync(folder).isFile() ? "; it is a file, and a run is a folder that a training made" : "";
  const beside = suggest(basename(folder), runsIn(dirname(folder)));
  if (beside !== "") return beside;
  const isOwnersName = /^[\w.-]+\/[\w.-]+$/.test(folder) && !existsSync(dirname(folder));
  return isOwnersName
    ? sentence`; a model of Hugging Face comes here with: ${call("pull", folder, { out: `models/${basename(folder)}` })}`
    : sentence`; train one with: ${call("train", "<data>", { out: folder })}`;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw diskError(error, file, "read");
  }
}

export const noWeights = (folder: string): RunError =>
  new RunError(
    sentence`${folder} has no model.safetensors; if its training has not come to a first save, go on with: ${call("resume", folder)}`,
    { code: "run.unsaved" },
  );

/** The file to ship: the weights, or the adapter of a run that was trained with LoRA. */
export const shippedFile = (folder: string): string =>
  existsSync(adapterFile(adapterIn(folder))) ? adapterFile(adapterIn(folder)) : paths(folder).model;

/** The weights that lie in a run: model.safetensors, checked against the config. */
export function runWeights({ folder, config, outside, body }: OpenRun): Weights {
  if (outside) return outside.weights();
  const file = paths(folder).model;
  if (!existsSync(file)) throw noWeights(folder);
  return weightsInFile(file, parametersOf(modelLoss(body ?? config.model)));
}

const calibrationSchema = z.object({
  format: z.literal(1),
  temperature: z.number().positive(),
  /** Of the weights that it belongs to. */
  step: z.int().min(0),
  /** How many held-out examples it was fitted to, and their calibration error before and after. */
  examples: z.int().min(1),
  eceBefore: z.number(),
  ece: z.number(),
});

export type Calibration = z.output<typeof calibrationSchema>;

/** What belongs to the weights in model.safetensors; nothing, if nothing was fitted to them. */
export function readCalibration(folder: string): Calibration | undefined {
  const file = paths(folder).calibration;
  const model = shippedFile(folder);
  if (!existsSync(file)) return undefined;
  const found = calibrationSchema.safeParse(parsed(readText(file)));
  if (!found.success)
    throw new FormatError(`not a calibration (${found.error.issues[0].message}); remove the file to use the model without`, { file });
  const step = existsSync(model) ? Number(readSafetensorsHeader(model)?.metadata.get("step")) : undefined;
  return step === found.data.step ? found.data : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
