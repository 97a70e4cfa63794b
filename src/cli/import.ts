import { Option } from "commander";
import { type ImportOptions, importModel } from "../library/import.ts";
import { bareCommand } from "./commands.ts";
import { addFlags } from "./flags.ts";

const flags: readonly Option[] = [
  new Option("--out <run>", "the run folder to write, whole or not at all").makeOptionMandatory(),
  new Option("--overwrite", "replace a run that is there"),
  new Option("--json", "print one line of JSON and nothing else"),
];

export const importCommand = addFlags(bareCommand("import"), flags);

importCommand.action(async (folder: string, { json, ...options }: ImportOptions & { readonly json?: boolean }) => {
  const done = await importModel(folder, options);
  const { run, family, task, parameters } = done;
  console.log(json ? JSON.stringify(done) : `${run}: ${family} with ${parameters.toLocaleString("en")} parameters, for ${task}`);
});
