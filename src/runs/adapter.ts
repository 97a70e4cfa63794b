import { existsSync, readFileSync } from "node:fs";
import { RunError } from "../base/errors.ts";
import { call, sentence } from "../base/sentence.ts";
import { diskError, makeFolders, writeDurably, writingDurably } from "../disk/files.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import { familyCalled } from "../hub/families.ts";
import { oursOfPeft, peftConfig, peftModules, peftTensors } from "../hub/peft.ts";
import type { HubRecord } from "../hub/record.ts";
import { type ModelConfig, modelLoss, taskOf } from "../models/any.ts";
import { type AdaptedMatrix, adapted, adaptedMatrices, adapterLayout, addProduct, type Lora } from "../models/lora.ts";
import { parametersOf } from "../runtime/compile.ts";
import { type Change, changedWeights } from "../weights/adapted.ts";
import { loadParameters } from "../weights/load.ts";
import { readSafetensors, type Safetensors, safetensorsParts } from "../weights/safetensors.ts";
import type { Weights } from "../weights/weights.ts";
import { adapterConfigFile, adapterFile, adapterIn } from "./adapter-files.ts";

// The adapter of a run that was trained with LoRA, in the files and under the names that PEFT has for it.

/** Where the numbers of an adapter are in the flat buffer of a run. */
export const loraLayout = (model: ModelConfig, lora: Lora): ParameterLayout => adapterLayout(adapted(modelLoss(model), lora));

/** What an adapter belongs to. */
export interface AdapterOf {
  readonly model: ModelConfig;
  readonly lora: Lora;
  /** What the base came with, if it came from outside: then the names are those of its family. */
  readonly hub?: HubRecord;
}

const tableOf = ({ model, lora, hub }: AdapterOf) => ({
  matrices: adaptedMatrices(modelLoss(model), lora),
  modules: peftModules(model, hub && familyCalled(hub.family)),
});

/** Writes the adapter: first what it is, then its numbers with the step that they are of. */
export function* writingAdapter(
  folder: string,
  weights: ParameterBuffer,
  { base, ...of }: AdapterOf & { readonly base: string },
  metadata: Readonly<Record<string, string>>,
): Generator<void, void> {
  const { matrices, modules } = tableOf(of);
  const config = peftConfig(of.lora, { matrices, modules, base, task: taskOf(of.model) });
  try {
    makeFolders(adapterIn(folder));
  } catch (error) {
    throw diskError(error, adapterIn(folder), "make the folder");
  }
  writeDurably(adapterConfigFile(adapterIn(folder)), `${JSON.stringify(config, null, 2)}\n`);
  yield* writingDurably(
    adapterFile(adapterIn(folder)),
    safetensorsParts(peftTensors(matrices, modules, weights), { ...metadata, format: "pt" }),
  );
}

/** The numbers of a run's adapter. */
export function readAdapter(folder: string, of: AdapterOf): ParameterBuffer {
  const file = adapterFile(adapterIn(folder));
  const { matrices, modules } = tableOf(of);
  const tensors = readAdapterTensors(file);
  const buffer = new ParameterBuffer(loraLayout(of.model, of.lora));
  loadParameters(buffer, oursOfPeft(matrices, modules, tensors), file);
  return buffer;
}

/** The tensors of an adapter's file, which is small. */
export function readAdapterTensors(file: string): Safetensors["tensors"] {
  try {
    return readSafetensors(readFileSync(file), file).tensors;
  } catch (error) {
    throw diskError(error, file, "read");
  }
}

export const noAdapter = (folder: string): RunError =>
  new RunError(
    sentence`${folder} has no adapter yet; if its training has not come to a first save, go on with: ${call("resume", folder)}`,
    {
      code: "run.unsaved",
    },
  );

/** A base with the adapter of a run put into it. */
export function loraWeights(folder: string, base: Weights, of: AdapterOf): Weights {
  const { model, lora } = of;
  if (!existsSync(adapterFile(adapterIn(folder)))) throw noAdapter(folder);
  const adapter = readAdapter(folder, of);
  return changedWeights(base, parametersOf(modelLoss(model)), changesOf(adaptedMatrices(modelLoss(model), lora), lora, adapter));
}

/** What an adapter adds to each of the matrices that it stands beside. */
export function changesOf(matrices: readonly AdaptedMatrix[], { rank, alpha }: Lora, adapter: ParameterBuffer): Map<string, Change> {
  const numbers = (name: string) => adapter.view(name).data as Float32Array;
  return new Map(
    matrices.map(({ name, from, parts }) => [
      name,
      (into: Float32Array) => {
        for (const { at, rows, a, b } of parts)
          addProduct(into, from, { at, rows, a: numbers(a), b: numbers(b), rank, scale: alpha / rank });
      },
    ]),
  );
}
