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
  const distance = (a: number, b: number): number => gram[a][a] - 2 * gram[a][b] + gram[b][b];
  return keys.map((_, key) => {
    const farthest = Math.max(...keys.map((_, other) => distance(key, other)));
    const others = [...keys.keys()].filter((other) => distance(key, other) > negligible * farthest);
    // differences to the others: the key is in their hull if 0 is in the hull of these
    const products = others.map((a) => others.map((b) => gram[key][key] - gram[key][a] - gram[key][b] + gram[a][b]));
    const byItself = others.every((a) => gram[key][key] - gram[key][a] > negligible * farthest); // the key itself is such a query
    return byItself || isAwayFromZero(products, negligible * farthest);
  });
}

/**
 * Whether the hull of points, given by their products with each other, leaves 0 out. Walks to the hull's point nearest to 0, moving weight
 * from the point that is farthest along to the one that is least so (pairwise Frank–Wolfe). A nearest point with which all points have
 * a positive product is a proof; so is one that is 0.
 */
function isAwayFromZero(products: readonly Vector[], tolerance: number): boolean {
  const count = products.length;
  const weights = products.map(() => 1 / count);
  const along = products.map((row) => row.reduce((sum, product) => sum + product / count, 0)); // nearest point · point
  for (let step = 0; step < mostSteps; step++) {
    const squared = dot(weights, along);
    if (squared < tolerance) return false;
    let [least, most] = [0, -1];
    for (let i = 0; i < count; i++) {
      if (along[i] < along[least]) least = i;
      if (weights[i] > 0 && (most < 0 || along[i] > along[most])) most = i;
    }
    if (along[least] > 0) return true;
    const curve = products[least][least] - 2 * products[least][most] + products[most][most];
    const moved = Math.min(weights[most], (along[most] - along[least]) / curve);
    weights[least] += moved;
    weights[most] = moved === weights[most] ? 0 : weights[most] - moved;
    for (let i = 0; i < count; i++) along[i] += moved * (products[i][least] - products[i][most]);
  }
  return false;
}

export const dot = (a: Vector, b: Vector): number => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
