import type { Chance } from "../base/chance.ts";

/**
 * A random order of 0 … count−1 that is a pure function of the chance: the number at any place is computed without making the others,
 * so the order of a billion windows takes no memory. A Feistel network of six rounds permutes the next power of four; whoever
 * lands outside walks on until inside.
 */
export function permutation(count: number, chance: Chance): (place: number) => number {
  let halfBits = 1;
  while (4 ** halfBits < count) halfBits++;
  const half = 2 ** halfBits;
  const rounds = Array.from({ length: 6 }, (_, round) => chance.fork("permutation").fork(round));
  const shuffled = (value: number): number => {
    let [left, right] = [Math.floor(value / half), value % half];
    for (const round of rounds) [left, right] = [right, (left ^ round.bits(right)) & (half - 1)];
    return left * half + right;
  };
  return (place) => {
    let value = shuffled(place);
    while (value >= count) value = shuffled(value);
    return value;
  };
}
