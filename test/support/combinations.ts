/** A choice for each of several questions. */
export type Choices = Readonly<Record<string, readonly unknown[]>>;
export type Combination = Readonly<Record<string, unknown>>;

/** Every combination. */
export function product(choices: Choices): Combination[] {
  return Object.entries(choices).reduce<Combination[]>(
    (found, [name, values]) => found.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
}

/** Few combinations in which every pair of choices (that is allowed at all) occurs together: greedy, the same each time. */
export function pairwise(choices: Choices, allowed: (one: Combination) => boolean): Combination[] {
  const all = product(choices).filter(allowed);
  const pairsOf = (one: Combination): string[] => {
    const parts = Object.entries(one).map(([name, value]) => `${name}=${value}`);
    return parts.flatMap((a, i) => parts.slice(i + 1).map((b) => `${a} & ${b}`));
  };
  const open = new Set(all.flatMap(pairsOf));
  const chosen: Combination[] = [];
  for (let seed = 1; open.size > 0; seed++) {
    // of a few dozen candidates, the one that covers most of what is left
    let [best, most] = [all[0], -1];
    for (let i = 0; i < 60; i++) {
      const candidate = all[(seed * 7919 + i * 104_729) % all.length];
      const covered = pairsOf(candidate).filter((pair) => open.has(pair)).length;
      if (covered > most) [best, most] = [candidate, covered];
    }
    if (most === 0) best = all.find((one) => pairsOf(one).some((pair) => open.has(pair))) as Combination;
    for (const pair of pairsOf(best)) open.delete(pair);
    chosen.push(best);
  }
  return chosen;
}
