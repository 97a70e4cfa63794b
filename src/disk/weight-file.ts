import { basename, dirname, resolve } from "node:path";
import { FormatError } from "../base/errors.ts";
import type { ParameterLayout } from "../graph/parameters.ts";
import { modelLoss } from "../models/any.ts";
import type { WeightSource } from "../onnx/emit.ts";
import { noWeights, type OpenRun, paths, readWeights } from "../runs/folder.ts";
import { parametersOf } from "../runtime/compile.ts";
import { checkParameters } from "../weights/load.ts";
import { readPlace, readSafetensorsHeader } from "./safetensors-file.ts";

/** A run's weights where they lie: the engine reads model.safetensors itself, so that they are not in memory twice. */
export interface WeightFile {
  readonly folder: string;
  /** Where a parameter's numbers are. */
  source(name: string): WeightSource;
  /** A parameter's numbers. */
  numbers(name: string): Float32Array;
}

/** Checks a run's weights against its config, without reading their numbers. */
export function openWeights(run: OpenRun): WeightFile {
  const file = paths(run.folder).model;
  const header = readSafetensorsHeader(file);
  if (!header) throw noWeights(run.folder);
  const places = [...header.tensors.values()];
  return places.every(({ dtype }) => dtype === "F32") ? weightsIn(file, parametersOf(modelLoss(run.config.model))) : inMemory(run);
}

/** The weights in a file of 32-bit numbers, which must be exactly those of a model. */
export function weightsIn(file: string, layout: ParameterLayout): WeightFile {
  const header = readSafetensorsHeader(file);
  if (!header) throw new FormatError(`${file}: there is no such file`);
  const kinds = [...header.tensors].map(([name, { shape }]) => [name, { dtype: "float32", shape }] as const);
  checkParameters(layout, new Map(kinds), file);
  const placeOf = (name: string) => {
    const { begin, end } = header.tensors.get(name) as { begin: number; end: number };
    return { offset: header.headerBytes + begin, length: end - begin };
  };
  return {
    folder: dirname(resolve(file)),
    source: (name) => ({ kind: "external", file: basename(file), offset: placeOf(name).offset }),
    numbers: (name) => {
      const { offset, length } = placeOf(name);
      return new Float32Array(readPlace(file, offset, length).buffer);
    },
  };
}

/** Numbers of another kind (16 bits) are turned into ours first. */
function inMemory(run: OpenRun): WeightFile {
  const { weights } = readWeights(run);
  const numbers = (name: string) => weights.view(name).data as Float32Array;
  return { folder: run.folder, numbers, source: (name) => ({ kind: "inline", data: numbers(name) }) };
}
