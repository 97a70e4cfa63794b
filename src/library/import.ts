import { closeSync, openSync, writeSync } from "node:fs";
import { ConfigError } from "../base/errors.ts";
import { sentence } from "../base/sentence.ts";
import { writeWholeFolder } from "../disk/whole-folder.ts";
import { modelLoss } from "../models/any.ts";
import { type OpenRun, paths, runWeights, sha256, writeRun } from "../runs/folder.ts";
import { openModel } from "../runs/open-model.ts";
import { parametersOf } from "../runtime/compile.ts";
import { saveTokenizer } from "../tokens/index.ts";
import { type LateTensor, safetensorsStream } from "../weights/safetensors.ts";
import type { Weights } from "../weights/weights.ts";

/** Where a model is imported to. */
export interface ImportOptions {
  /** The run folder that is written, whole or not at all. */
  readonly out: string;
  /** Replace a run that was imported before. */
  readonly overwrite?: boolean;
}

/** What was imported. */
export interface Imported {
  readonly run: string;
  readonly from: string;
  readonly family: string;
  readonly task: OpenRun["config"]["task"];
  readonly parameters: number;
}

/** Makes a run of a model from outside. Its weights are ours then, in 32 bits, which the engine reads where they lie. */
export async function importModel(path: string, { out, overwrite }: ImportOptions): Promise<Imported> {
  const found = openModel(path);
  const { config } = found;
  if (!found.outside || !config.hub)
    throw new ConfigError(sentence`${path} is a run already; only a model from outside is imported`, {
      code: "config.conflict",
      path: "folder",
    });
  const parameters = await writeAsRun(found, runWeights(found), { out, overwrite });
  return { run: out, from: path, family: config.hub.family, task: config.task, parameters };
}

/** Writes a model as a run that was never trained here: whole or not at all. Gives back how many parameters it has. */
export async function writeAsRun(
  { config, tokenizer }: Pick<OpenRun, "config" | "tokenizer">,
  weights: Weights,
  { out, overwrite, metadata = {} }: ImportOptions & { readonly metadata?: Readonly<Record<string, string>> },
): Promise<number> {
  const layout = parametersOf(modelLoss(config.model));
  const tensors = layout.entries.map(
    ({ name, shape }): LateTensor => ({ name, dtype: "F32", shape, bytes: () => bytesOf(weights.numbers(name)) }),
  );
  await writeWholeFolder({ folder: out, overwrite, what: "a run", owns: isRunFile }, (folder) => {
    writeParts(paths(folder).model, safetensorsStream(tensors, { format: "qkv", step: "0", ...metadata }));
    const written = { kind: tokenizer.kind, sha256: sha256(saveTokenizer(tokenizer)) };
    writeRun(folder, { ...config, tokenizer: written }, tokenizer);
  });
  return layout.total;
}

const isRunFile = (file: string): boolean =>
  /^(config\.json|tokenizer\.json|model\.safetensors|log\.jsonl|calibration\.json|[^/]+\.(svg|png)|(checkpoints|adapter)\/.*)$/.test(file);

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);

/** One call writes less than 2 GiB. */
const largestCall = 2 ** 24;

function writeParts(file: string, parts: Iterable<Uint8Array>): void {
  const handle = openSync(file, "w");
  try {
    for (const part of parts)
      for (let at = 0; at < part.length; ) at += writeSync(handle, part, at, Math.min(part.length - at, largestCall));
  } finally {
    closeSync(handle);
  }
}
