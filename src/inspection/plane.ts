import { dot } from "./selectable.ts";

type Vector = readonly number[];

const rounds = 200;

/** Two directions at right angles along which points differ most (their principal components), whatever their mean. */
export function principalPlane(points: readonly Vector[]): [Vector, Vector] {
  const width = points[0].length;
  const mean = Array.from({ length: width }, (_, i) => points.reduce((sum, point) => sum + point[i], 0) / points.length);
  const centred = points.map((point) => point.map((value, i) => value - mean[i]));
  const first = strongest(centred, []);
  return [first, strongest(centred, [first])];
}

/** The direction of most variance at right angles to the given ones, by power iteration. */
function strongest(points: readonly Vector[], without: readonly Vector[]): Vector {
  let direction = unit(
    apart(
      points[0].map((_, i) => Math.cos(i * i + 1)),
      without,
    ),
  ); // any start that is not at right angles to it will do
  for (let round = 0; round < rounds; round++) {
    const next: number[] = new Array(direction.length).fill(0);
    for (const point of points) {
      const share = dot(point, direction);
      for (const [i, value] of point.entries()) next[i] += share * value;
    }
    const rest = apart(next, without);
    if (dot(rest, rest) < 1e-24) return direction; // the points do not differ any further
    direction = unit(rest);
  }
  return direction;
}

const apart = (x: Vector, from: readonly Vector[]): Vector =>
  from.reduce((rest, direction) => {
    const share = dot(rest, direction);
    return rest.map((value, i) => value - share * direction[i]);
  }, x);

export const unit = (x: Vector): Vector => {
  const length = Math.sqrt(dot(x, x));
  return length === 0 ? x : x.map((value) => value / length);
};
