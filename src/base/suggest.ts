const longestName = 64;

/** `; did you mean "time"?` when one of the known names is close to the given one, else nothing. */
export function suggest(given: string, known: Iterable<string>): string {
  if (given.length > longestName) return ""; // comparing takes the product of the lengths
  let best = "";
  let bestDistance = Math.min(given.length, Math.max(1, Math.floor(given.length / 3)) + 1);
  for (const name of known) {
    const distance = editDistance(given, name);
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best ? `; did you mean "${best}"?` : "";
}

/** Letters to add, take away, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, row[j] + 1, next[j - 1] + 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return row[b.length];
}
