import { array, type HostArray } from "../base/arrays.ts";

/**
 * Lists of ids as one array [row, time], filled up with the last id of each. What is filled up is masked, but 0 · NaN is NaN: another token,
 * whose numbers may be damaged, would make a row depend on whether somebody longer is there.
 */
export function padded(lists: readonly ArrayLike<number>[], time = longestOf(lists)): HostArray {
  const data = new Int32Array(lists.length * time);
  for (const [row, ids] of lists.entries()) {
    data.set(ids, row * time);
    data.fill(ids[ids.length - 1] ?? 0, row * time + ids.length, (row + 1) * time);
  }
  return array("int32", data, [lists.length, time]);
}

export const integers = (values: readonly number[]): HostArray => array("int32", Int32Array.from(values));

export const lengthsOf = (lists: readonly ArrayLike<number>[]): HostArray => integers(lists.map((ids) => ids.length));

export const longestOf = (lists: readonly ArrayLike<number>[]): number => lists.reduce((most, ids) => Math.max(most, ids.length), 0);

/** The next of 8, 12, 16, 24, 32, 48, …: few lengths are few sessions, where something is unrolled. */
export function roundedLength(length: number): number {
  let size = 8;
  while (size < length) size = size % 3 === 0 ? (size * 4) / 3 : (size * 3) / 2;
  return size;
}
