import { Option } from "commander";
import { type MergeOptions, merge } from "../library/merge.ts";
import { bareCommand } from "./commands.ts";
import { addFlags } from "./flags.ts";

const flags: readonly Option[] = [
  new Option(
    "--out <folder>",
    "the folder to write, whole or not at all: a run, or one of Hugging Face where the base is one",
  ).makeOptionMandatory(),
  new Option("--adapter <folder>", "the adapter to put into the model: a run trained with --lora, or a folder that PEFT wrote"),
  new Option("--overwrite", "replace a folder of that kind that is there"),
  new Option("--json", "print one line of JSON and nothing else"),
];

export const mergeCommand = addFlags(bareCommand("merge"), flags);

mergeCommand.action(async (folder: string, { json, ...options }: MergeOptions & { readonly json?: boolean }) => {
  const done = await merge(folder, options);
  const { folder: written, base, parameters } = done;
  console.log(json ? JSON.stringify(done) : `${written}: ${base} with the adapter in it, ${parameters.toLocaleString("en")} parameters`);
});
