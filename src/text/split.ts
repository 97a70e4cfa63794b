import { type Chance, chance } from "../base/chance.ts";
import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { atOnce, forEachItem } from "../base/turns.ts";
import { fewest, inputsByClass, isLabelled } from "./classes.ts";
import { answerOf, type Example, inputOf } from "./examples.ts";

// Each of these takes long for many examples, so each is work that can be left between two of them.

/** Each example once, the first of those that are equal in input and answer. */
export const withoutDuplicates = <E extends Example>(examples: readonly E[]): E[] => atOnce(distinct(examples));

export function* distinct<E extends Example>(examples: readonly E[]): Generator<void, E[]> {
  const seen = new Set<string>();
  const kept: E[] = [];
  yield* forEachItem(examples, (example) => {
    const key = JSON.stringify([inputOf(example), answerOf(example)]);
    if (seen.has(key)) return;
    seen.add(key);
    kept.push(example);
  });
  return kept;
}

export interface Split<E> {
  readonly train: E[];
  readonly valid: E[];
  /** How many examples were left out, because they were there already. */
  readonly duplicates: number;
}

/**
 * How examples are held out. `hash`: by the hash of the input alone. `stratified`: the same share of every class, those with the lowest
 * hashes; what has no class (tags, pairs) goes by `hash`.
 */
export const splitRules = ["hash", "stratified"] as const;
export type SplitRule = (typeof splitRules)[number];

/** Duplicates removed and a part held out, by either rule; whatever the examples come from, they are split here. */
export function splittingExamples<E extends Example>(examples: readonly E[], fraction: number, rule: SplitRule): Generator<void, Split<E>> {
  return rule === "stratified" && examples.some(isLabelled) ? splittingByClass(examples, fraction) : splittingByHash(examples, fraction);
}

/**
 * A part to train on and a part to validate with. Where an example goes depends on its input alone, so equal inputs stay
 * together and the order of the examples changes nothing. Neither part is empty if there are two inputs and a share is asked for.
 */
export const splitByHash = <E extends Example>(examples: readonly E[], fraction: number): Split<E> =>
  atOnce(splittingByHash(examples, fraction));

const splittingByHash = <E extends Example>(examples: readonly E[], fraction: number) =>
  splitting(examples, fraction, (kept) => heldOut(new Set(kept.map(inputOf)), fraction));

/**
 * The same share of every class: of its inputs, those with the lowest hashes. Neither the order of the examples nor other classes matter, and
 * one more example moves at most one other. Every class of at least `fewest` inputs is in both parts (unless texts with several labels leave no
 * way); smaller ones follow the same rounding, and keep one input to train on. Equal inputs stay together.
 */
export const splitByClass = <E extends Example>(examples: readonly E[], fraction: number): Split<E> =>
  atOnce(splittingByClass(examples, fraction));

const splittingByClass = <E extends Example>(examples: readonly E[], fraction: number) =>
  splitting(examples, fraction, (kept) => heldOutByClass(kept, fraction));

function* splitting<E extends Example>(
  examples: readonly E[],
  fraction: number,
  choose: (kept: readonly E[]) => Generator<void, Set<string>>,
): Generator<void, Split<E>> {
  if (!(fraction >= 0 && fraction < 1)) {
    throw new ConfigError(
      sentence`the share of the examples to validate with is from 0 to below 1, not ${fraction}; change ${setting("validFraction")}`,
      { code: "config.range", path: "validFraction" },
    );
  }
  const kept = yield* distinct(examples);
  const inside = yield* choose(kept);
  const [train, valid]: [E[], E[]] = [[], []];
  yield* forEachItem(kept, (example) => (inside.has(inputOf(example)) ? valid : train).push(example));
  return { train, valid, duplicates: examples.length - kept.length };
}

interface Hashed {
  readonly input: string;
  readonly hash: number;
}

/** The inputs to validate with. */
function* heldOut(inputs: ReadonlySet<string>, fraction: number): Generator<void, Set<string>> {
  const source = chance(0).fork("split");
  const inside = new Set<string>();
  let lowest: Hashed | undefined;
  let highest: Hashed | undefined;
  let done = 0;
  for (const input of inputs) {
    const hashed = { input, hash: hashOf(source, input) };
    if (hashed.hash < fraction) inside.add(input);
    if (lowest === undefined || before(hashed, lowest)) lowest = hashed;
    if (highest === undefined || before(highest, hashed)) highest = hashed;
    if (++done % 256 === 0) yield;
  }
  if (inside.size === 0 && inputs.size > 1 && fraction > 0 && lowest) inside.add(lowest.input);
  if (inside.size === inputs.size && highest) inside.delete(highest.input);
  return inside;
}

const hashOf = (source: Chance, input: string): number => source.fork(input).uniform(0);

/** Equal hashes are told apart by the text, so that no order of the examples is left to decide. */
const before = (a: Hashed, b: Hashed): boolean => a.hash < b.hash || (a.hash === b.hash && a.input < b.input);

/**
 * The rarest class chooses first, since it has the least to choose from (Sechidis et al. 2011); an input of several classes is chosen once. A
 * class below `fewest` would leave others nothing to choose from, so it chooses last.
 */
function* heldOutByClass(examples: readonly Example[], fraction: number): Generator<void, Set<string>> {
  const inside = new Set<string>();
  if (fraction === 0) return inside;
  const source = chance(0).fork("split");
  const hashes = new Map<string, number>();
  yield* forEachItem(examples, (example) => {
    if (!hashes.has(inputOf(example))) hashes.set(inputOf(example), hashOf(source, inputOf(example)));
  });
  const classes: Hashed[][] = [];
  for (const [, inputs] of yield* inputsByClass(examples)) {
    classes.push([...inputs].map((input) => ({ input, hash: hashes.get(input) ?? 0 })).sort((a, b) => (before(a, b) ? -1 : 1)));
    yield;
  }
  const [small, large] = [classes.filter(({ length }) => length < fewest), classes.filter(({ length }) => length >= fewest)];
  const decided = new Set<string>();
  for (const inputs of [...large, ...small]) {
    let missing = shareOf(inputs.length, fraction) - inputs.filter(({ input }) => inside.has(input)).length;
    for (const { input } of inputs) {
      if (!decided.has(input) && missing > 0) {
        inside.add(input);
        missing--;
      }
      decided.add(input);
    }
  }
  for (const inputs of large) mend(inputs, inside);
  if (inside.size === hashes.size) inside.delete([...inside][0]); // one text with all the classes
  return inside;
}

/** How many of a class are held out: the share, rounded, but never all, and of a class that is large enough never none. */
const shareOf = (inputs: number, fraction: number): number =>
  Math.min(inputs - 1, Math.max(inputs < fewest ? 0 : 1, Math.round(inputs * fraction)));

/** What other classes chose may leave a class on one side. */
function mend(inputs: readonly Hashed[], inside: Set<string>): void {
  const held = inputs.filter(({ input }) => inside.has(input)).length;
  if (held === 0) inside.add(inputs[0].input);
  if (held === inputs.length) inside.delete(inputs[held - 1].input);
}
