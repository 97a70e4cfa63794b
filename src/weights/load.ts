import type { HostArray } from "../base/arrays.ts";
import { FormatError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { ParameterBuffer, ParameterLayout } from "../graph/parameters.ts";
import { shown } from "./header-scanner.ts";

/** Every parameter under its name, in the order of declaration: what `safetensorsParts` writes. */
export const parametersAsTensors = (buffer: ParameterBuffer): Iterable<readonly [name: string, HostArray]> => buffer.views;

/** Copies tensors into the parameters of the same names. All is checked before the first number is touched. */
export function loadParameters(into: ParameterBuffer, tensors: ReadonlyMap<string, HostArray>, where: string): void {
  checkParameters(into.layout, tensors, where);
  for (const { name, offset } of into.layout.entries) into.data.set(numbersOf(tensors.get(name)), offset);
}

type Kind = Pick<HostArray, "dtype" | "shape">;

/** Refuses tensors that are not exactly a model's parameters. */
export function checkParameters({ dtype, entries }: ParameterLayout, tensors: ReadonlyMap<string, Kind>, where: string): void {
  const names = new Set(entries.map(({ name }) => name));
  for (const { name, shape } of entries) {
    const found = tensors.get(name);
    if (!found) throw new FormatError(`${where}: the parameter ${shown(name)} is missing${suggest(name, spareNames(names, tensors))}`);
    if (found.dtype !== dtype || found.shape.join() !== shape.join()) {
      throw new FormatError(
        `${where}: the parameter ${shown(name)} is ${typeOf(found)}, and the model wants ${typeOf({ dtype, shape })}; do its weights and its config belong together?`,
      );
    }
  }
  for (const name of tensors.keys()) {
    if (names.has(name)) continue;
    const likely = name.length < 200 ? suggest(name, names) : "";
    throw new FormatError(`${where}: the model has no parameter ${shown(name)}${likely}`);
  }
}

const typeOf = ({ dtype, shape }: Kind): string => `${dtype} [${shape.slice(0, 10).join(", ")}${shape.length > 10 ? ", …" : ""}]`;

/** Names that the file has and the model does not. A stranger's file could have a million of any length, too many to compare. */
function spareNames(names: ReadonlySet<string>, tensors: ReadonlyMap<string, Kind>): string[] {
  return [...tensors.keys()].filter((name) => name.length < 200 && !names.has(name)).slice(0, 1000);
}

/** The checks above leave only float arrays; bigints could not be copied into them. */
function numbersOf(array: HostArray | undefined): ArrayLike<number> {
  return array === undefined || array.data instanceof BigInt64Array ? [] : array.data;
}
