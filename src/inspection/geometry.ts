import type { Chance } from "../base/chance.ts";
import { principalPlane, unit } from "./plane.ts";
import { dot, selectableKeys } from "./selectable.ts";

// What LayerNorm does to the keys of attention (Brody, Alon & Yahav 2023): it puts them on a sphere in the plane at right angles to the
// vector of ones, so that none lies between others, and every one is the highest for some query.

type Vector = readonly number[];

/** Keys and queries in a plane, to be drawn. */
export interface GeometryPanel {
  readonly title: string;
  readonly keys: readonly { readonly x: number; readonly y: number; readonly label: string; readonly selectable: boolean }[];
  /** Their directions, as long as the longest key: nothing else about them matters. */
  readonly queries: readonly { readonly x: number; readonly y: number }[];
  readonly facts: KeyFacts;
}

export interface KeyFacts {
  readonly width: number;
  readonly shortest: number;
  readonly longest: number;
  /** The largest component along the vector of ones, as a share of a key's length. */
  readonly alongOnes: number;
  /** How many keys some query can select. */
  readonly selectable: number;
}

/** (x − μ)/σ, without the affine part: of length √width, and at right angles to the vector of ones. */
export function plainLayerNorm(x: Vector): number[] {
  const mean = x.reduce((a, b) => a + b, 0) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  return x.map((value) => (value - mean) / Math.sqrt(variance + 1e-5));
}

export interface Keys {
  readonly keys: readonly Vector[];
  readonly labels: readonly string[];
  /** Queries as vectors of the keys' space. */
  readonly queries: readonly Vector[];
}

/** One panel, in the given plane or in the one in which the keys differ most. */
export function geometryPanel(title: string, { keys, labels, queries }: Keys, plane = principalPlane(keys)): GeometryPanel {
  const [across, up] = plane;
  const lengths = keys.map((key) => Math.sqrt(dot(key, key)));
  const ones = unit(keys[0].map(() => 1));
  const selectable = selectableKeys(keys);
  const flat = keys.map((key) => ({ x: dot(key, across), y: dot(key, up) }));
  const radius = Math.max(...flat.map(({ x, y }) => Math.hypot(x, y)));
  return {
    title,
    keys: flat.map((point, i) => ({ ...point, label: labels[i], selectable: selectable[i] })),
    queries: queries.map((query) => {
      const [x, y] = unit([dot(query, across), dot(query, up)]);
      return { x: radius * x, y: radius * y };
    }),
    facts: {
      width: ones.length,
      shortest: Math.min(...lengths),
      longest: Math.max(...lengths),
      alongOnes: Math.max(...keys.map((key, i) => (lengths[i] === 0 ? 0 : Math.abs(dot(key, ones)) / lengths[i]))),
      selectable: selectable.filter(Boolean).length,
    },
  };
}

const keyCount = 24;

/** The whole effect where it can be seen: keys of width 3 that lie in the plane at right angles to (1, 1, 1), as they are and after LayerNorm. */
export function toyGeometry(chance: Chance): [GeometryPanel, GeometryPanel] {
  const plane: [Vector, Vector] = [unit([1, -1, 0]), unit([1, 1, -2])];
  const inPlane = (i: number): number[] => {
    const [a, b] = [chance.normal(2 * i), chance.normal(2 * i + 1)];
    return plane[0].map((value, j) => a * value + b * plane[1][j]);
  };
  const keys = Array.from({ length: keyCount }, (_, i) => inPlane(i));
  const queries = Array.from({ length: 8 }, (_, i) => inPlane(keyCount + i));
  const labels = keys.map((_, i) => `${i}`);
  return [
    geometryPanel("width 3, without LayerNorm", { keys, labels, queries }, plane),
    geometryPanel("width 3, with LayerNorm", { keys: keys.map(plainLayerNorm), labels, queries }, plane),
  ];
}
