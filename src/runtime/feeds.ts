import { type HostArray, isArrayOf } from "../base/arrays.ts";
import { FeedError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { solveSymbols } from "../graph/solve.ts";
import { showType, type TensorType } from "../graph/type.ts";
import type { Arrays } from "./session.ts";

export type Sizes = Readonly<Record<string, number>>;

/** Checks what is fed against the declared types and reads off the sizes of open symbols. Errors name the input and the axis. */
export function bindFeeds(types: ReadonlyMap<string, TensorType>, feeds: Arrays, bound: Sizes = {}): Sizes {
  for (const name of Object.keys(feeds)) {
    if (!types.has(name)) throw new FeedError(`there is no input called "${name}"${suggest(name, types.keys())}`);
  }
  for (const [name, type] of types) {
    if (!feeds[name]) throw new FeedError(`the input "${name}" (${showType(type)}) is missing`);
    checkKind(name, type, feeds[name]);
  }
  const sizes: Record<string, number> = Object.assign(Object.create(null), bound);
  const source: Record<string, string> = Object.create(null);
  for (const { symbol, input, axis, rest, factor } of solveSymbols(types)) {
    if (sizes[symbol] !== undefined) continue;
    sizes[symbol] = Math.floor((feeds[input].shape[axis] - rest.bind(sizes).known) / factor);
    source[symbol] = input;
    if (sizes[symbol] < 0) {
      const found = `${feeds[input].shape[axis]} for ${types.get(input)?.shape[axis]}`;
      throw new FeedError(
        `the input "${input}" is ${showFed(feeds[input])}: its axis ${axis} has size ${found}, so ${symbol} would be ${sizes[symbol]}`,
      );
    }
  }
  for (const [name, type] of types) {
    for (const [axis, dim] of type.shape.entries()) {
      const wanted = dim.bind(sizes).value;
      if (wanted === undefined) throw new FeedError(`the size of "${dim}" in input "${name}" does not follow from the inputs; bind it`);
      if (wanted !== feeds[name].shape[axis]) throw new FeedError(mismatch(name, type, feeds[name], axis, wanted, source));
    }
  }
  return sizes;
}

function mismatch(name: string, type: TensorType, fed: HostArray, axis: number, wanted: number, source: Record<string, string>): string {
  const dim = type.shape[axis];
  const others = dim.symbols.map((symbol) => source[symbol]).filter((input) => input !== undefined && input !== name);
  const reason =
    dim.value === undefined ? `${dim} is ${wanted}${others.length > 0 ? ` in "${others.join('", "')}"` : ""}` : `wanted ${showType(type)}`;
  return `the input "${name}" is ${showFed(fed)}: its axis ${axis} has size ${fed.shape[axis]}, but ${reason}`;
}

function checkKind(name: string, type: TensorType, fed: HostArray): void {
  if (!Array.isArray(fed.shape) || !isArrayOf(fed.data, fed.dtype)) {
    throw new FeedError(
      `the input "${name}" says that it is ${fed.dtype}, but its data is ${fed.data?.constructor?.name ?? "missing"}; make it with array("${type.dtype}", …)`,
    );
  }
  if (fed.dtype !== type.dtype) throw new FeedError(`the input "${name}" is ${fed.dtype}, but ${showType(type)} is wanted`);
  if (fed.shape.length !== type.shape.length) {
    throw new FeedError(
      `the input "${name}" is ${showFed(fed)} with ${fed.shape.length} axes, but ${showType(type)} has ${type.shape.length}`,
    );
  }
}

const showFed = (x: HostArray): string => `${x.dtype}[${x.shape.join(", ")}]`;
