import type { Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import { modelFlags, trainingFlags } from "./flags.ts";
import { amountFlags, beamFlags, samplingFlags } from "./writing-flags.ts";

// A setting that is wrong is a flag that is wrong, for whoever typed it.

const flags: ReadonlyMap<string, Option> = new Map(
  [...modelFlags, ...trainingFlags, ...amountFlags, ...samplingFlags, ...beamFlags]
    .filter(({ negate }) => !negate)
    .map((flag) => [flag.attributeName(), flag]),
);
const negative: ReadonlyMap<string, Option> = new Map(
  modelFlags.filter(({ negate }) => negate).map((flag) => [flag.attributeName(), flag]),
);

/** The same complaint with the names of flags in the place of the names of settings. `typed` holds the values that were given. */
export function asFlags(error: unknown, typed: Readonly<Record<string, unknown>> = {}): unknown {
  if (!(error instanceof ConfigError)) return error;
  const found = /^at (?:config\.(?:\w+\.)?|sampling\.)?(\w+): (.*)$/s.exec(error.message);
  if (!found) return error;
  const [, name, complaint] = found;
  const flag = typed[name] === false ? (negative.get(name) ?? flags.get(name)) : flags.get(name);
  if (!flag) return error;
  return new ConfigError(`${flag.long}${meaningless(complaint, flag) ?? `: ${withFlags(complaint)}`}`, { cause: error });
}

/** A flag that other models have, or that takes something away that this one does not have. */
function meaningless(complaint: string, flag: Option): string | undefined {
  const [, model, others] = /^not a setting of model (\S+), but of (.*)$/.exec(complaint) ?? [];
  if (model !== undefined) return ` has no meaning for --model ${model}; it is for --model ${others.replaceAll(", ", " or --model ")}`;
  return flag.negate || complaint.startsWith("Invalid input")
    ? ` has no meaning for this model${flag.negate ? "; it is for --model rnn" : ""}`
    : undefined;
}

/** "keySize" becomes "--key-size", and so on, where they stand as words. */
function withFlags(sentence: string): string {
  return sentence.replace(/\b[a-z]+[A-Z]\w*\b/g, (word) => flags.get(word)?.long ?? word).replace(/\ba width of\b/g, "a --width of");
}
