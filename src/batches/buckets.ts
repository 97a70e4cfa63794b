/**
 * At most `count` lengths to which sequences are padded, chosen so that the padding is least (dynamic programming over the
 * different lengths). Few lengths mean few sessions; well-chosen ones mean little padding.
 */
export function bucketLengths(lengths: readonly number[], count: number): number[] {
  const ordered = [...lengths].sort((a, b) => a - b);
  const different = thinned([...new Set(ordered)]);
  if (different.length === 0) return [];
  const upTo = different.map((length) => countAtMost(ordered, length)); // how many sequences fit into each length
  const buckets = Math.min(count, different.length);
  // least[j]: the fewest places for everything that fits into different[j], with as many buckets as rounds so far
  let least = different.map((length, j) => length * upTo[j]);
  const cameFrom: number[][] = [different.map(() => -1)];
  for (let round = 1; round < buckets; round++) {
    const from = different.map(() => -1);
    const next = least.map((places, j) => {
      let best = places;
      for (let i = 0; i < j; i++) {
        const total = least[i] + different[j] * (upTo[j] - upTo[i]);
        if (total < best) [best, from[j]] = [total, i];
      }
      return best;
    });
    cameFrom.push(from);
    least = next;
  }
  const chosen = [different.length - 1];
  for (let round = buckets - 1; round > 0; round--) {
    const from = cameFrom[round][chosen[0]];
    if (from >= 0) chosen.unshift(from);
  }
  return chosen.map((i) => different[i]);
}

/** At most 512 of many different lengths, the largest among them: the search is quadratic. */
function thinned(lengths: readonly number[]): number[] {
  const stride = Math.ceil(lengths.length / 512);
  return lengths.filter((_, i) => (lengths.length - 1 - i) % stride === 0);
}

function countAtMost(ordered: readonly number[], length: number): number {
  let [low, high] = [0, ordered.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ordered[middle] <= length) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first bucket that a length fits into. */
export const bucketOf = (length: number, buckets: readonly number[]): number => buckets.findIndex((size) => length <= size);
