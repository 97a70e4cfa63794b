// Which keys some query can select: give a higher score than every other key.

type Vector = readonly number[];

const mostSteps = 20_000;
/** Squared distances below this share of the largest count as 0. */
const negligible = 1e-10;

/**
 * Whether each key is outside the convex hull of the others, which is to say that some query scores it highest: q·k_j > q·k_i for all i.
 * Equal keys count as one.
 */
export function selectableKeys(keys: readonly Vector[]): boolean[] {
  const gram = keys.map((a) => keys.map((b) => dot(a, b)));
  return keys.map((_, key) => {
    const own = gram[key];
    const distances = keys.map((_, other) => own[key] - 2 * own[other] + gram[other][other]);
    const tolerance = negligible * Math.max(...distances);
    const others = [...keys.keys()].filter((other) => distances[other] > tolerance);
    if (others.every((other) => own[key] - own[other] > tolerance)) return true; // the key itself is such a query
    // The key is in the hull of the others if 0 is in the hull of its differences to them; of these, only the products are needed.
    return isAwayFromZero(others.length, (a, b) => own[key] - own[others[a]] - own[others[b]] + gram[others[a]][others[b]], tolerance);
  });
}

/**
 * Whether the hull of points, given by their products with each other, leaves 0 out. Walks to the hull's point nearest to 0, moving weight
 * from the point that is farthest along to the one that is least so (pairwise Frank–Wolfe). A nearest point with which all points have
 * a positive product is a proof; so is one that is 0.
 */
function isAwayFromZero(count: number, product: (a: number, b: number) => number, tolerance: number): boolean {
  const weights: number[] = Array.from({ length: count }, (_, i) => (i === 0 ? 1 : 0));
  const along = weights.map((_, i) => product(i, 0)); // nearest point · point
  for (let step = 0; step < mostSteps; step++) {
    if (dot(weights, along) < tolerance) return false;
    let [least, most] = [0, -1];
    for (let i = 0; i < count; i++) {
      if (along[i] < along[least]) least = i;
      if (weights[i] > 0 && (most < 0 || along[i] > along[most])) most = i;
    }
    if (along[least] > 0) return true;
    const curve = product(least, least) - 2 * product(least, most) + product(most, most);
    const moved = Math.min(weights[most], (along[most] - along[least]) / curve);
    weights[least] += moved;
    weights[most] = moved === weights[most] ? 0 : weights[most] - moved;
    for (let i = 0; i < count; i++) along[i] += moved * (product(i, least) - product(i, most));
  }
  return false;
}

export function dot(a: Vector, b: Vector): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
