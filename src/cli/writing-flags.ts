import { Option } from "commander";
import { precisions } from "../runs/baked.ts";
import { between, wholeNumber } from "./values.ts";

// Flags of the commands that write.

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
  new Option("--threads <n>", "threads of the engine").argParser(wholeNumber),
  new Option("--json", "print one line of JSON and nothing else"),
];
