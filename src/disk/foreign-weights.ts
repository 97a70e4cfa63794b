import { appendFileSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TypedArray } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import type { ParameterBuffer, ParameterLayout } from "../graph/parameters.ts";
import { ParameterBuffer as Buffer } from "../graph/parameters.ts";
import { type Matched, oursOf, type TensorSource } from "../hub/tensors.ts";
import type { WeightSource } from "../onnx/emit.ts";
import type { Weights } from "../weights/weights.ts";
import { diskError, isAlive, removeQuietly } from "./files.ts";
import { filled } from "./safetensors-file.ts";

// Weights of a model from outside: theirs are joined, turned or of 16 bits, so the engine cannot read them where they lie.

/** Smaller parameters go into the model itself. */
const smallest = 2 ** 16;
/** So much may go into the model itself in all: a small model leaves nothing on the disk. */
const mostInside = 2 ** 25;

const fileName = "weights.bin";
let made = 0;

/**
 * Weights that are made of somebody else's tensors, one parameter at a time. What an engine bakes in is written as 32-bit numbers to a file of
 * this process in `temporary`, which the engine maps: so nothing is in memory twice, and a model may be larger than a message. The file
 * goes with `release`, or at the end of the process; what a killed process left is removed by the next.
 */
export function foreignWeights(source: TensorSource, matched: Matched, layout: ParameterLayout, temporary: string): Weights {
  const folder = resolve(temporary, `${process.pid}-${made++}`);
  const inside = layout.total * 4 <= mostInside;
  const numbers = (name: string): Float32Array => {
    const rule = matched.rules.get(name);
    if (!rule) throw new GraphError(`no parameter is called "${name}"`);
    return oursOf(rule, matched, source);
  };
  const places = new Map<string, WeightSource>();
  const keep = (name: string, make: () => TypedArray): WeightSource => {
    const found = places.get(name);
    if (found) return found;
    const data = make();
    if (inside || data.byteLength < smallest) return { kind: "inline", data };
    const place = { kind: "external", file: fileName, offset: appended(folder, data) } as const;
    places.set(name, place);
    return place;
  };
  let buffer: ParameterBuffer | undefined;
  return {
    folder,
    numbers,
    source: (name) => keep(name, () => numbers(name)),
    keep,
    unread: new Map(matched.unread.map((name) => [name, { shape: source.shapes.get(name) ?? [], numbers: () => source.read(name) }])),
    get buffer() {
      buffer ??= filled(new Buffer(layout), numbers);
      return buffer;
    },
    release() {
      places.clear();
      removeQuietly(folder);
    },
  };
}

/** Writes numbers behind the others and gives their place. */
function appended(folder: string, data: TypedArray): number {
  const file = join(folder, fileName);
  try {
    if (!existsSync(folder)) begin(folder);
    const offset = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    for (let at = 0; at < bytes.length; at += largestCall) appendFileSync(file, bytes.subarray(at, at + largestCall));
    const padding = -bytes.length & (alignment - 1);
    if (padding > 0) appendFileSync(file, new Uint8Array(padding));
    return offset;
  } catch (error) {
    throw diskError(error, file, "write the weights to");
  }
}

const largestCall = 2 ** 28;
/** Of a page of memory, which is what is mapped. */
const alignment = 4096;

const mine = new Set<string>();

function begin(folder: string): void {
  const around = resolve(folder, "..");
  mkdirSync(folder, { recursive: true });
  removeLeft(around);
  if (mine.size === 0)
    process.once("exit", () => {
      for (const one of mine) removeQuietly(one);
    });
  mine.add(folder);
}

/** Folders of processes that are gone. */
function removeLeft(around: string): void {
  for (const name of readdirSync(around)) {
    const [, pid] = /^(\d+)-\d+$/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) removeQuietly(join(around, name));
  }
}
