import type { ParameterLayout } from "../graph/parameters.ts";

/** How many numbers a part of a model has, with the parts inside it. */
export interface PartCount {
  readonly name: string;
  readonly count: number;
  readonly parts: readonly PartCount[];
}

/** Parameters as a tree of places: `decoder`, `block.0`, `attention`, `qkv`, `weight`. */
export function countParameters(layout: ParameterLayout): PartCount {
  return partOf(
    "",
    layout.entries.map(({ name, length }) => ({ path: name.split("/"), length })),
  );
}

function partOf(name: string, entries: readonly { path: readonly string[]; length: number }[]): PartCount {
  const inside = new Map<string, { path: readonly string[]; length: number }[]>();
  for (const {
    path: [first, ...path],
    length,
  } of entries.filter(({ path }) => path.length > 0)) {
    inside.set(first, [...(inside.get(first) ?? []), { path, length }]);
  }
  const count = entries.reduce((total, { length }) => total + length, 0);
  return { name, count, parts: [...inside].map(([part, own]) => partOf(part, own)) };
}
