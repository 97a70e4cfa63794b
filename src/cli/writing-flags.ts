import { InvalidArgumentError, Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import { largestBias } from "../generation/sampling.ts";
import { precisions } from "../runtime/device.ts";
import { deviceFlag } from "./device-flag.ts";
import { between, countFromZero, wholeNumber } from "./values.ts";

// Flags of the commands that write.

export const amountFlags: readonly Option[] = [
  new Option("--tokens <n>", "the most tokens to write").argParser(wholeNumber).default(200),
  new Option("--samples <n>", "how many texts to write").argParser(wholeNumber).default(1),
  new Option("--stop <text>", "stop before this text (may be given again)").argParser(listed),
];

export const samplingFlags: readonly Option[] = [
  new Option("--temperature <n>", "below 1 surer, above 1 wilder, 0 always the likeliest token").argParser(between(0, 1000)).default(0.8),
  new Option("--top-k <n>", "only the k likeliest tokens; 0 for all").argParser(countFromZero),
  new Option("--top-p <share>", "only the likeliest tokens that together have this probability").argParser(between(0, 1)),
  new Option("--min-p <share>", "only tokens with this share of the likeliest one's probability").argParser(between(0, 1)),
  new Option("--repetition-penalty <n>", "above 1: tokens that were there before become less likely").argParser(between(0.01, 1000)),
  new Option("--bias <id=number>", "added to the score of a token, by its id; -Infinity forbids it (may be given again)").argParser(bias),
  new Option("--seed <n>", "the same seed writes the same text").argParser(countFromZero).default(1),
];

export const beamFlags: readonly Option[] = [
  new Option("--beams <n>", "texts that are followed at once; the likeliest whole is given").argParser(wholeNumber),
  new Option(
    "--length-penalty <n>",
    "log-probabilities are divided by length to this power before beams are compared; 0 for not",
  ).argParser(between(-10, 10)),
];

export const engineFlags: readonly Option[] = [
  new Option("--weights <precision>", "as they were trained, or rounded to 8 or 4 bits: smaller and faster, a little worse").choices(
    precisions,
  ),
  new Option("--adapter <folder>", "an adapter to put into the model: a run trained with --lora from it, or a folder that PEFT wrote"),
  new Option("--threads <n>", "threads of the engine").argParser(wholeNumber),
  deviceFlag(),
  new Option("--json", "print one line of JSON and nothing else"),
];

export function refuseLonePenalty({ beams = 1, lengthPenalty }: { readonly beams?: number; readonly lengthPenalty?: number }): void {
  if (lengthPenalty !== undefined && beams === 1)
    throw new ConfigError("--length-penalty compares beams, and one is always the best; give more with --beams");
}

function listed(text: string, before: readonly string[] = []): readonly string[] {
  if (text === "") throw new InvalidArgumentError("an empty text would stop at once.");
  return [...before, text];
}

function bias(text: string, before: ReadonlyMap<number, number> = new Map()): Map<number, number> {
  const numbers = text.split("=").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  const [id, value] = numbers;
  const possible = value === Number.NEGATIVE_INFINITY || Math.abs(value) <= largestBias;
  if (numbers.length !== 2 || !Number.isInteger(id) || id < 0 || !possible)
    throw new InvalidArgumentError("a token id and a number up to a million are wanted, such as 17=-2.5, or 17=-Infinity.");
  return new Map([...before, [id, value]]);
}
