import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { FormatError } from "../base/errors.ts";
import { sentence } from "../base/sentence.ts";
import type { JsonObject } from "../hub/family.ts";
import { type CheckpointType, checkpointTypes } from "../hub/record.ts";
import type { TensorSource } from "../hub/tensors.ts";
import { listed, quoted } from "../text/quote.ts";
import { shown } from "../weights/header-scanner.ts";
import { diskError } from "./files.ts";
import { openTensorFile, type TensorFile } from "./safetensors-file.ts";

// The safetensors of a Hugging Face folder: one file, or several and an index that says which tensor is where.

const whole = "model.safetensors";
const index = "model.safetensors.index.json";

export interface HubTensors extends TensorSource {
  /** What most of the numbers are kept as. */
  readonly dtype: CheckpointType;
  /** The files that they lie in. */
  readonly files: readonly string[];
}

/** Reads the headers only; numbers are read tensor by tensor, so the files may have any size. */
export function openHubTensors(folder: string): HubTensors {
  const shards = existsSync(join(folder, index)) ? shardsOf(folder) : new Map([[onlyFile(folder), undefined]]);
  const places = new Map<string, { readonly file: TensorFile; readonly dtype: string }>();
  const shapes = new Map<string, readonly number[]>();
  const numbersOf = new Map<string, number>();
  for (const [name, wanted] of shards) {
    const file = openTensorFile(join(folder, name));
    if (wanted) checkShard(folder, name, wanted, file);
    for (const [tensor, { dtype, shape, begin, end }] of file.header.tensors) {
      places.set(tensor, { file, dtype });
      shapes.set(tensor, shape);
      numbersOf.set(dtype, (numbersOf.get(dtype) ?? 0) + end - begin);
    }
  }
  const [dtype = "F32"] = [...checkpointTypes].sort((a, b) => (numbersOf.get(b) ?? 0) - (numbersOf.get(a) ?? 0));
  return {
    where: shards.size === 1 ? join(folder, [...shards.keys()][0]) : folder,
    shapes,
    dtype,
    files: [...shards.keys()].map((name) => join(folder, name)),
    read(name) {
      const place = places.get(name);
      if (!place) throw new FormatError(`${folder}: there is no tensor ${shown(name)}`);
      const { data } = place.file.read(name);
      if (!(data instanceof Float32Array))
        throw new FormatError(`${folder}: tensor ${shown(name)} is ${place.dtype}; weights are read as ${checkpointTypes.join(", ")}`);
      return data;
    },
  };
}

/** model.safetensors, or the one file with a variant of that name (model.fp16.safetensors), unless the weights are a pickle beside it. */
function onlyFile(folder: string): string {
  const names = entriesOf(folder);
  if (names.includes(whole)) return whole;
  const variants = names.filter((name) => /^model[.\w-]*\.safetensors$/.test(name));
  if (variants.length !== 1 || names.some((name) => pickle.test(name))) throw noWeightsIn(folder);
  return variants[0];
}

const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) });

/** The files of an index, and the tensors that each should have. A name that leads out of the folder is refused. */
function shardsOf(folder: string): Map<string, readonly string[]> {
  const file = join(folder, index);
  const found = indexSchema.safeParse(readJsonObject(file));
  if (!found.success)
    throw new FormatError(`not an index: ${found.error.issues[0].message} (at ${found.error.issues[0].path.join(".")})`, { file });
  const shards = new Map<string, string[]>();
  for (const [tensor, name] of Object.entries(found.data.weight_map)) {
    if (!/^[^/\\:\0]+\.safetensors$/.test(name) || name.startsWith("."))
      throw new FormatError(
        `tensor ${shown(tensor)} is in ${quoted(name)}; only the name of a .safetensors file in the same folder is read`,
        { file },
      );
    shards.set(name, [...(shards.get(name) ?? []), tensor]);
  }
  if (shards.size === 0) throw new FormatError("the index names no tensor", { file });
  const missing = [...shards.keys()].filter((name) => !existsSync(join(folder, name)));
  if (missing.length > 0)
    throw new FormatError(`${missing.length} of ${shards.size} files are not there: ${listed(missing)}; get them again`, { file });
  return shards;
}

function checkShard(folder: string, name: string, wanted: readonly string[], { header }: TensorFile): void {
  const [has, asked] = [header.tensors, new Set(wanted)];
  const missing = wanted.filter((tensor) => !has.has(tensor));
  const spare = [...has.keys()].filter((tensor) => !asked.has(tensor));
  if (missing.length + spare.length === 0) return;
  const told = [
    ...(missing.length > 0 ? [`it lacks ${listed(missing)}`] : []),
    ...(spare.length > 0 ? [`it has ${listed(spare)} beside`] : []),
  ];
  throw new FormatError(`${name} is not what ${index} says: ${told.join(", and ")}; do they belong together?`, {
    file: join(folder, name),
  });
}

const pickle = /\.(bin|pt|pth|ckpt|pkl)$/;

/** Why there is nothing to read; pickles are programs, and are never run. */
function noWeightsIn(folder: string): FormatError {
  const names = entriesOf(folder);
  const pickles = names.filter((name) => pickle.test(name));
  if (pickles.length > 0)
    return new FormatError(
      `${folder} has its weights in ${listed(pickles)}: a pickle is a program, and is not run here; get the folder with safetensors, or write it again from Python: AutoModel….from_pretrained(…).save_pretrained(…, safe_serialization=True)`,
    );
  const others = names.filter((name) => name.endsWith(".safetensors"));
  const lacks = others.length > 0 ? `; there is ${listed(others)}, but no ${index} that says what is in which` : "";
  return new FormatError(sentence`${folder} has no ${whole}${lacks}`);
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    throw diskError(error, folder, "read");
  }
}

/** More than this is no config of anything. */
const longestJson = 50_000_000;

/** A JSON file with an object in it. */
export function readJson(file: string): unknown {
  const text = readHubText(file);
  try {
    return JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
  } catch (cause) {
    throw new FormatError(`not JSON (${cause instanceof Error ? cause.message : cause})`, { file, cause });
  }
}

export function readJsonObject(file: string): JsonObject {
  const value = readJson(file);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new FormatError("an object is wanted", { file });
  return value as JsonObject;
}

export function readHubText(file: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw diskError(error, file, "read");
  }
  if (bytes.length > longestJson)
    throw new FormatError(`${bytes.length.toLocaleString("en")} bytes are too many for such a file`, { file });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new FormatError("not UTF-8 text", { file, cause });
  }
}
