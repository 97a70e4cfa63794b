import { fstatSync, statSync } from "node:fs";
import { FormatError, RunError } from "../base/errors.ts";
import { type GgufModel, ggufModel } from "../hub/gguf-model.ts";
import { forwards, matched, type TensorSource } from "../hub/tensors.ts";
import { checkVocabulary, hubTokenizer } from "../hub/tokenizer.ts";
import { modelLoss } from "../models/any.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { type Gguf, ggufNumbers, parseGguf } from "../weights/gguf.ts";
import type { Weights } from "../weights/weights.ts";
import { foreignWeights } from "./foreign-weights.ts";
import { readRange, stampOf, withFile } from "./safetensors-file.ts";

// A GGUF file on the disk: what it says of itself is read when it is opened, its numbers tensor by tensor when they are wanted.

export interface GgufFile extends GgufModel {
  readonly file: string;
  readonly tokenizer: Tokenizer;
  /** All tensors are matched by name and shape when this is called; numbers are read later. */
  weights(temporary: string): Weights;
}

/** Whether a path is that of a GGUF file, by its name. */
export const isGgufFile = (path: string): boolean =>
  path.endsWith(".gguf") && statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true;

export function openGgufFile(file: string): GgufFile {
  const { gguf, numbers } = openTensors(file);
  const model = ggufModel(gguf, numbers, file);
  const tokenizer = hubTokenizer(model.tokenizerText, file, model.record);
  checkVocabulary(tokenizer, model.model.vocab, file);
  const source: TensorSource = {
    where: file,
    shapes: new Map([...model.places].map(([name, { shape }]) => [name, shape])),
    read(name) {
      const place = model.places.get(name);
      if (!place) throw new FormatError(`${file}: there is no tensor ${JSON.stringify(name)}`);
      return forwards(numbers(place.name), place.tensor.shape, place.turn);
    },
  };
  return {
    ...model,
    file,
    tokenizer,
    weights(temporary) {
      const layout = parametersOf(modelLoss(model.model));
      return foreignWeights(source, matched(model.family, model.model, layout, source), layout, temporary);
    },
  };
}

function openTensors(file: string): { readonly gguf: Gguf; numbers(name: string): Float32Array } {
  const opened = withFile(file, (descriptor) => {
    const stat = fstatSync(descriptor);
    const gguf = parseGguf({ size: stat.size, read: (at, length) => readRange(descriptor, at, Math.min(length, stat.size - at)) }, file);
    return { gguf, stamp: stampOf(stat) };
  });
  if (!opened) throw new FormatError(`${file}: there is no such file`, { code: "run.missing" });
  const { gguf, stamp } = opened;
  const changed = () =>
    new RunError(`${file} has changed since it was opened, so its numbers are not where they were; open it again`, { code: "run.changed" });
  return {
    gguf,
    numbers(name) {
      const tensor = gguf.tensors.get(name);
      if (!tensor) throw new FormatError(`${file}: there is no tensor ${JSON.stringify(name)}`);
      const found = withFile(file, (descriptor) => {
        if (stampOf(fstatSync(descriptor)) !== stamp) throw changed();
        return ggufNumbers(tensor, readRange(descriptor, tensor.begin, tensor.end - tensor.begin));
      });
      if (!found) throw changed();
      return found;
    },
  };
}
