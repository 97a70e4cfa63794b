import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { HostArray } from "../base/arrays.ts";
import { RunError } from "../base/errors.ts";
import { call, sentence } from "../base/sentence.ts";
import { diskError, makeFolders, writeDurably, writingDurably } from "../disk/files.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import { type ModelConfig, modelLoss } from "../models/any.ts";
import { type AdaptedMatrix, adapted, adaptedMatrices, adapterLayout, addProduct, type Lora } from "../models/lora.ts";
import { parametersOf } from "../runtime/compile.ts";
import { type Change, changedWeights } from "../weights/adapted.ts";
import { loadParameters } from "../weights/load.ts";
import { readSafetensors, safetensorsParts } from "../weights/safetensors.ts";
import type { Weights } from "../weights/weights.ts";

// The adapter of a run that was trained with LoRA, in the files and under the names that PEFT has for it.

const tensorsName = "adapter_model.safetensors";
const configName = "adapter_config.json";

/** The file to ship of such a run. */
export const adapterFile = (folder: string): string => join(folder, "adapter", tensorsName);

/** Where the numbers of an adapter are in the flat buffer of a run. */
export const loraLayout = (model: ModelConfig, lora: Lora): ParameterLayout => adapterLayout(adapted(modelLoss(model), lora));

/** PEFT's name of each of an adapter's parameters. */
function namesIn(matrices: readonly AdaptedMatrix[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { name, parts } of matrices) {
    const module = `base_model.model.${name.replace(/\/weight$/, "").replaceAll("/", ".")}`;
    for (const { target, a, b } of parts) {
      const own = module.endsWith(`.${target}`) ? module : `${module}.${target}`;
      names.set(a, `${own}.lora_A.weight`);
      names.set(b, `${own}.lora_B.weight`);
    }
  }
  return names;
}

/** Writes the adapter: first what it is, then its numbers with the step that they are of. */
export function* writingAdapter(
  folder: string,
  weights: ParameterBuffer,
  { model, lora, base }: { readonly model: ModelConfig; readonly lora: Lora; readonly base: string },
  metadata: Readonly<Record<string, string>>,
): Generator<void, void> {
  const names = namesIn(adaptedMatrices(modelLoss(model), lora));
  const tensors = [...weights.views].map(([name, array]): [string, HostArray] => [names.get(name) ?? name, array]);
  try {
    makeFolders(join(folder, "adapter"));
  } catch (error) {
    throw diskError(error, join(folder, "adapter"), "make the folder");
  }
  writeDurably(join(folder, "adapter", configName), `${JSON.stringify(peftConfig(lora, base), null, 2)}\n`);
  yield* writingDurably(adapterFile(folder), safetensorsParts(tensors, { ...metadata, format: "pt" }));
}

function peftConfig({ rank, alpha, dropout, targets }: Lora, base: string) {
  return {
    base_model_name_or_path: base,
    bias: "none",
    fan_in_fan_out: false,
    inference_mode: true,
    lora_alpha: alpha,
    lora_dropout: dropout,
    modules_to_save: null,
    peft_type: "LORA",
    r: rank,
    target_modules: [...targets],
    task_type: null,
    use_dora: false,
    use_rslora: false,
  };
}

/** The numbers of a run's adapter. */
function readAdapter(folder: string, model: ModelConfig, lora: Lora): ParameterBuffer {
  const file = adapterFile(folder);
  const names = new Map([...namesIn(adaptedMatrices(modelLoss(model), lora))].map(([ours, theirs]) => [theirs, ours]));
  const { tensors } = readSafetensors(read(file), file);
  const buffer = new ParameterBuffer(loraLayout(model, lora));
  loadParameters(buffer, new Map([...tensors].map(([name, array]) => [names.get(name) ?? name, array])), file);
  return buffer;
}

function read(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw diskError(error, file, "read");
  }
}

/** A base with the adapter of a run put into it. */
export function loraWeights(folder: string, base: Weights, { model, lora }: { readonly model: ModelConfig; readonly lora: Lora }): Weights {
  if (!existsSync(adapterFile(folder)))
    throw new RunError(
      sentence`${folder} has no adapter yet; if its training has not come to a first save, go on with: ${call("resume", folder)}`,
      { code: "run.unsaved" },
    );
  const adapter = readAdapter(folder, model, lora);
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
