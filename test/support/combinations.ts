import { chance } from "../../src/base/chance.ts";
import { mixKinds } from "../../src/layers/attention.ts";
import { multiHeadKinds } from "../../src/layers/heads.ts";
import { normKinds } from "../../src/layers/norm.ts";
import { positionKinds } from "../../src/layers/positions.ts";
import { scoreKinds } from "../../src/layers/scores.ts";

/** A choice for each of several questions. */
export type Choices = Readonly<Record<string, readonly unknown[]>>;
export type Combination = Readonly<Record<string, unknown>>;

/** All that happens inside attention. */
export const insideAttention = {
  positions: positionKinds,
  score: scoreKinds,
  attention: mixKinds,
  multiHead: multiHeadKinds,
  norm: normKinds,
} as const;

/** Choices that are each right can be wrong together. */
export const possible = ({ attention, score, multiHead, keySize, valueSize, joinPositions, positions }: Combination): boolean =>
  (attention !== "free" ||
    (score !== "bilinear" && score !== "additive" && multiHead !== "wide" && keySize === undefined && valueSize === undefined)) &&
  (joinPositions !== "concat" || positions === "learned" || positions === "sinusoidal");

/** The same with a source, which parameter-free attention has no way to ask. */
export const crossing = (one: Combination): boolean => possible(one) && one.attention !== "free";

/** Every combination. */
export function product(choices: Choices): Combination[] {
  return Object.entries(choices).reduce<Combination[]>(
    (found, [name, values]) => found.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
}

/** Few combinations in which every pair of choices that is allowed at all occurs together: greedy, the same each time. */
export function pairwise(choices: Choices, allowed: (one: Combination) => boolean): Combination[] {
  const names = Object.keys(choices);
  const key = (a: string, x: unknown, b: string, y: unknown) => `${a}=${x} & ${b}=${y}`;
  const open = new Map<string, Combination>();
  for (const [i, a] of names.entries()) {
    for (const b of names.slice(i + 1))
      for (const x of choices[a]) for (const y of choices[b]) open.set(key(a, x, b, y), { [a]: x, [b]: y });
  }
  const covered = (one: Combination) =>
    names.flatMap((a, i) => names.slice(i + 1).map((b) => key(a, one[a], b, one[b]))).filter((pair) => open.has(pair));
  const source = chance(1).fork("pairwise");
  let drawn = 0;
  const completed = (pair: Combination): Combination => ({
    ...Object.fromEntries(names.map((name) => [name, choices[name][source.integer(drawn++, choices[name].length)]])),
    ...pair,
  });
  const chosen: Combination[] = [];
  while (open.size > 0) {
    const [[pairKey, pair]] = open;
    const candidates = Array.from({ length: 300 }, () => completed(pair)).filter(allowed);
    if (candidates.length === 0) {
      open.delete(pairKey); // not possible together
      continue;
    }
    const best = candidates.reduce((a, b) => (covered(b).length > covered(a).length ? b : a));
    for (const found of covered(best)) open.delete(found);
    chosen.push(best);
  }
  return chosen;
}
