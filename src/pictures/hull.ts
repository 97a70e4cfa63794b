export interface Place {
  readonly x: number;
  readonly y: number;
}

/** Positive where a → b → c turns left. */
const turn = (a: Place, b: Place, c: Place): number => (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);

/** The corners of the smallest convex shape around some places, anticlockwise (Andrew's two chains). */
export function hullOf(places: readonly Place[]): Place[] {
  const sorted = [...places].sort((a, b) => a.x - b.x || a.y - b.y);
  const chain = (ordered: readonly Place[]): Place[] => {
    const corners: Place[] = [];
    for (const place of ordered) {
      while (corners.length >= 2 && turn(corners[corners.length - 2], corners[corners.length - 1], place) <= 0) corners.pop();
      corners.push(place);
    }
    return corners.slice(0, -1);
  };
  return [...chain(sorted), ...chain(sorted.reverse())];
}

/** Whether a place lies inside a hull and clearly not on its edge. */
export function strictlyInside(hull: readonly Place[], place: Place): boolean {
  return hull.every((corner, i) => {
    const next = hull[(i + 1) % hull.length];
    const length = Math.hypot(next.x - corner.x, next.y - corner.y) || 1;
    const reach = Math.hypot(place.x, place.y) || 1;
    return turn(corner, next, place) / length > 1e-6 * reach;
  });
}
