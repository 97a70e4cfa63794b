import type { Command, Option } from "commander";
import { ConfigError, type QkvError } from "../base/errors.ts";
import type { Value, Wording, Words } from "../base/sentence.ts";
import { options } from "../training/options.ts";

// What the library says, in the words of the command line: a setting is a flag, and a function a command.

/** Functions of the library that are not called like their command, or are a flag of one. */
const commandOf: Readonly<Record<string, string>> = {
  resume: "train --resume",
  evaluate: "eval",
  exportModel: "export",
  nextTokensOf: "look --view next",
  devices: "info --devices",
};

export const flagWords: Words = {
  setting(name, value) {
    const only = onlyWay(name);
    if (value === false) return only === "with" ? `no --${dashed(name)}` : `--no-${dashed(name)}`;
    if (value === true && only === "without") return `no --no-${dashed(name)}`;
    const flag = name.startsWith("columns.") ? `--${name.replace("columns.", "")}-column` : `--${dashed(name)}`;
    return value === undefined || value === true ? flag : `${flag} ${[value].flat().map(written).join("|")}`;
  },
  settings(given) {
    const list = Object.entries(given).map(([name, value]) => this.setting(name, value));
    return list.join(" ");
  },
  call(name, args, instead) {
    const [command, ...flags] = (commandOf[name] ?? name).split(" ");
    const words = args.map((arg) => (typeof arg === "string" ? arg : this.settings(arg)));
    return [...(instead ? [] : ["qkv", command]), ...flags, ...words].join(" ");
  },
};

const dashed = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** A switch that is usually on has a flag to leave it out, and none to ask for it; one that is usually off the other way round. */
function onlyWay(name: string): "with" | "without" | undefined {
  const switches = options.filter((option) => (option.name === name || option.name === `model.${name}`) && option.kind === "switch");
  const ways = new Set(switches.map(({ without }) => (without === undefined ? "with" : "without")));
  return ways.size === 1 ? [...ways][0] : undefined;
}

/** A learning rate is 1e-3 for whoever types it, and 0.02 is no longer than 2e-2. */
function written(value: Value): string {
  const plain = `${value}`;
  const short = typeof value === "number" && 0 < value && value < 1 ? value.toExponential() : plain;
  return short.length < plain.length ? short : plain;
}

export const inFlags = (wording: Wording): string => (typeof wording === "string" ? wording : wording.in(flagWords));

/** What to print of an error. A setting that is wrong is a flag that is wrong, for whoever typed it. */
export function told(error: QkvError, command?: Command): string {
  const flag = error instanceof ConfigError && command ? flagAt(error, command) : undefined;
  if (!flag) return error.sentence.in(flagWords);
  const { code, complaint, facts } = error;
  if (facts.models) {
    const able = facts.models.able.map((name) => `--model ${name}`).join(" or ");
    return `${flag.long} has no meaning for --model ${facts.models.given}; it is for ${able}`;
  }
  if (flag.negate && code !== "config.conflict") return `${flag.long} has no meaning for this model; it is for --model rnn`;
  return code === "config.type" ? `${flag.long} has no meaning for this model` : `${flag.long}: ${complaint.in(flagWords)}`;
}

/** The flag of this command for the place of an error; the one that says no, if that was typed. */
function flagAt({ facts: { at = "" } }: QkvError, command: Command): Option | undefined {
  const setting = at.split(".").at(-1);
  const typed = (flag: string) => command.getOptionValueSource(flag) === "cli";
  const both = (setting === "scoreCap" || setting === "scoresCap") && typed("softcap") && !typed(setting);
  const name = both ? "softcap" : setting; // a flag for two settings
  const flags = command.options.filter((option) => option.attributeName() === name);
  const refused = name !== undefined && command.getOptionValue(name) === false && command.getOptionValueSource(name) === "cli";
  return (refused ? flags.find(({ negate }) => negate) : undefined) ?? flags.find(({ negate }) => !negate);
}
