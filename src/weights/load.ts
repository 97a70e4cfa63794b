import type { HostArray } from "../base/arrays.ts";
import { FormatError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { shown } from "./header-scanner.ts";

/** Every parameter under its name, in the order of declaration: what `safetensorsParts` writes. */
export const parametersAsTensors = (buffer: ParameterBuffer): Iterable<readonly [name: string, HostArray]> => buffer.views;

/** Copies tensors into the parameters of the same names. All is checked before the first number is touched. */
export function loadParameters(into: ParameterBuffer, tensors: ReadonlyMap<string, HostArray>, where: string): void {
  for (const [name, wanted] of into.views) {
    const found = tensors.get(name);
    if (!found) throw new FormatError(`${where}: the parameter ${shown(name)} is missing${suggest(name, spareNames(into, tensors))}`);
    if (found.dtype !== wanted.dtype || found.shape.join() !== wanted.shape.join()) {
      throw new FormatError(
        `${where}: the parameter ${shown(name)} is ${typeOf(found)}, and the model wants ${typeOf(wanted)}; do its weights and its config belong together?`,
      );
    }
  }
  for (const name of tensors.keys()) {
    if (into.views.has(name)) continue;
    const likely = name.length < 200 ? suggest(name, into.views.keys()) : "";
    throw new FormatError(`${where}: the model has no parameter ${shown(name)}${likely}`);
  }
  for (const { name, offset } of into.layout.entries) into.data.set(numbersOf(tensors.get(name)), offset);
}

const typeOf = ({ dtype, shape }: HostArray): string => `${dtype} [${shape.slice(0, 10).join(", ")}${shape.length > 10 ? ", …" : ""}]`;

/** Names that the file has and the model does not. A stranger's file could have a million of any length, too many to compare. */
function spareNames(into: ParameterBuffer, tensors: ReadonlyMap<string, HostArray>): string[] {
  return [...tensors.keys()].filter((name) => name.length < 200 && !into.views.has(name)).slice(0, 1000);
}

/** The checks above leave only float arrays; bigints could not be copied into them. */
function numbersOf(array: HostArray | undefined): ArrayLike<number> {
  return array === undefined || array.data instanceof BigInt64Array ? [] : array.data;
}
