import { join, resolve } from "node:path";
import { cacheFolder } from "../data/cache.ts";
import { isGgufFile, openGgufFile } from "../disk/gguf-file.ts";
import { type HubFolder, noTokenizer, openHubFolder } from "../disk/hub-folder.ts";
import { isHubFolder } from "../disk/hub-kind.ts";
import type { HubRecord } from "../hub/record.ts";
import { type Architecture, taskOf } from "../models/any.ts";
import type { Definition } from "../models/own.ts";
import { usualThreads } from "../node/machine.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { Weights } from "../weights/weights.ts";
import type { RunConfig } from "./config.ts";
import { trainingDefaults } from "./defaults.ts";
import { type OpenRun, openRun, sha256 } from "./folder.ts";

// A model by its place: a run, or somebody else's folder, which is opened as if it were one.

/** Where weights that an engine cannot read in their place are written for it, as long as the process lives. */
export const weightsFolder = (): string => join(cacheFolder(), "weights");

/** Opens a run, a Hugging Face folder or a GGUF file. */
export function openModel(path: string, models?: readonly Definition[]): OpenRun {
  if (isGgufFile(path)) return openGguf(path);
  return isHubFolder(path) ? openHub(path) : openRun(path, models);
}

function openHub(folder: string): OpenRun {
  const found: HubFolder = openHubFolder(folder);
  const { tokenizer, tokenizerText } = found;
  if (!tokenizer || tokenizerText === undefined) throw noTokenizer(folder);
  return outsideRun({ ...found, path: folder, tokenizer, tokenizerText, weights: () => found.weights(weightsFolder()) });
}

function openGguf(file: string): OpenRun {
  const found = openGgufFile(file);
  return outsideRun({ ...found, path: file, files: [file], weights: () => found.weights(weightsFolder()) });
}

export interface Outside {
  /** The folder or file. */
  readonly path: string;
  readonly model: Architecture;
  readonly labels?: readonly string[];
  readonly record: HubRecord;
  readonly tokenizer: Tokenizer;
  /** The text of its tokenizer.json. */
  readonly tokenizerText: string;
  /** The files of its weights. */
  readonly files: readonly string[];
  weights(): Weights;
}

/** A model from outside in the form of a run. Its training settings are those that going on from it begins with. */
export function outsideRun({ path, model, labels, record, tokenizer, tokenizerText, files, weights }: Outside): OpenRun {
  const task = taskOf(model);
  const config: RunConfig = {
    format: 1,
    task,
    model,
    ...(labels && { labels: [...labels] }),
    tokenizer: { kind: tokenizer.kind, sha256: sha256(tokenizerText) },
    data: { source: { kind: "hub", from: resolve(path) }, sha256: "", train: 0, valid: 0 },
    training: trainingDefaults(task === "embed" ? "classify" : task, gentle, {
      width: model.width,
      threads: usualThreads(),
    }),
    hub: record,
  };
  return { folder: path, config, tokenizer, outside: { files, weights } };
}

/** What has read the world is changed in small steps. Whoever goes on takes half of this rate. */
const gentle = { lr: 1e-4, weightDecay: 0.01, beta2: 0.999 } as const;
