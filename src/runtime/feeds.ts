import type { HostArray } from "../base/arrays.ts";
import { FeedError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { type TensorType, showType } from "../graph/type.ts";
import type { Arrays } from "./session.ts";

export type Sizes = Readonly<Record<string, number>>;

/** Checks what is fed against the declared types and reads off the sizes of open symbols. Errors name the input and the axis. */
export function bindFeeds(types: ReadonlyMap<string, TensorType>, feeds: Arrays, bound: Sizes = {}): Sizes {
  for (const name of Object.keys(feeds)) {
    if (!types.has(name)) throw new FeedError(`there is no input called "${name}"${suggest(name, types.keys())}`);
  }
  const sizes: Record<string, number> = { ...bound };
  const source: Record<string, string> = {};
  for (const [name, type] of types) {
    const fed = feeds[name];
    if (!fed) throw new FeedError(`the input "${name}" (${showType(type)}) is missing`);
    checkKind(name, type, fed);
    for (const [axis, dim] of type.shape.entries()) {
      const symbol = dim.value === undefined ? dim.expression : "";
      if (symbol !== "" && dim.symbols.length === 1 && dim.symbols[0] === symbol) {
        const size = sizes[symbol];
        if (size !== undefined && size !== fed.shape[axis]) {
          const where = source[symbol] === undefined ? "as it was bound" : `in "${source[symbol]}"`;
          throw new FeedError(`the input "${name}" has ${symbol} = ${fed.shape[axis]}, but ${symbol} is ${size} ${where}: ${showFed(fed)} for ${showType(type)}`);
        }
        sizes[symbol] = fed.shape[axis];
        source[symbol] ??= name;
      }
    }
  }
  for (const [name, type] of types) {
    for (const [axis, dim] of type.shape.entries()) {
      const wanted = dim.bind(sizes).value;
      if (wanted === undefined) throw new FeedError(`the size of "${dim}" in input "${name}" does not follow from the other inputs; bind it`);
      if (wanted !== feeds[name].shape[axis]) {
        throw new FeedError(`the input "${name}" is ${showFed(feeds[name])}, but its axis ${axis} must be ${dim.value === undefined ? `${dim} = ${wanted}` : dim}: wanted ${showType(type)}`);
      }
    }
  }
  return sizes;
}

function checkKind(name: string, type: TensorType, fed: HostArray): void {
  if (fed.dtype !== type.dtype) throw new FeedError(`the input "${name}" is ${fed.dtype}, but ${showType(type)} is wanted`);
  if (fed.shape.length !== type.shape.length) {
    throw new FeedError(`the input "${name}" is ${showFed(fed)} with ${fed.shape.length} axes, but ${showType(type)} has ${type.shape.length}`);
  }
}

const showFed = (x: HostArray): string => `${x.dtype}[${x.shape.join(", ")}]`;
