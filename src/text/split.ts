import { type Chance, chance } from "../base/chance.ts";
import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import type { Example } from "./examples.ts";

/** What a model is given: the text, or the source. */
export const inputOf = (example: Example): string => ("source" in example ? example.source : example.text);

function answerOf(example: Example): string | readonly string[] {
  if ("source" in example) return example.target;
  return "tags" in example ? example.tags : example.label;
}

/** Each example once, the first of those that are equal in input and answer. */
export function withoutDuplicates<E extends Example>(examples: readonly E[]): E[] {
  const seen = new Set<string>();
  return examples.filter((example) => {
    const key = JSON.stringify([inputOf(example), answerOf(example)]);
    return !seen.has(key) && seen.add(key);
  });
}

export interface Split<E> {
  readonly train: E[];
  readonly valid: E[];
  /** How many examples were left out, because they were there already. */
  readonly duplicates: number;
}

/**
 * A part to train on and a part to validate with. Where an example goes depends on its input alone, so equal inputs stay
 * together and the order of the examples changes nothing. Neither part is empty if there are two inputs and a share is asked for.
 */
export function splitByHash<E extends Example>(examples: readonly E[], fraction: number): Split<E> {
  if (!(fraction >= 0 && fraction < 1)) {
    throw new ConfigError(
      sentence`the share of the examples to validate with is from 0 to below 1, not ${fraction}; change ${setting("validFraction")}`,
      { code: "config.range", path: "validFraction" },
    );
  }
  const kept = withoutDuplicates(examples);
  const inside = heldOut(new Set(kept.map(inputOf)), fraction);
  const valid = kept.filter((example) => inside.has(inputOf(example)));
  const train = kept.filter((example) => !inside.has(inputOf(example)));
  return { train, valid, duplicates: examples.length - kept.length };
}

interface Hashed {
  readonly input: string;
  readonly hash: number;
}

/** The inputs to validate with. */
function heldOut(inputs: ReadonlySet<string>, fraction: number): Set<string> {
  const source = chance(0).fork("split");
  const inside = new Set<string>();
  let lowest: Hashed | undefined;
  let highest: Hashed | undefined;
  for (const input of inputs) {
    const hashed = { input, hash: hashOf(source, input) };
    if (hashed.hash < fraction) inside.add(input);
    if (lowest === undefined || before(hashed, lowest)) lowest = hashed;
    if (highest === undefined || before(highest, hashed)) highest = hashed;
  }
  if (inside.size === 0 && inputs.size > 1 && fraction > 0 && lowest) inside.add(lowest.input);
  if (inside.size === inputs.size && highest) inside.delete(highest.input);
  return inside;
}

const hashOf = (source: Chance, input: string): number => source.fork(input).uniform(0);

/** Equal hashes are told apart by the text, so that no order of the examples is left to decide. */
const before = (a: Hashed, b: Hashed): boolean => a.hash < b.hash || (a.hash === b.hash && a.input < b.input);
