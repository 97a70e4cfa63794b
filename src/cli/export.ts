import { Option } from "commander";
import { type ExportFormat, exportFormats, exportModel } from "../library/export.ts";
import { type ExportWeights, exportWeights } from "../library/exporter.ts";
import { open } from "../library/trained.ts";
import { bareCommand } from "./commands.ts";
import { addFlags } from "./flags.ts";

interface Options {
  readonly to: ExportFormat;
  readonly out: string;
  readonly weights?: ExportWeights;
  readonly attentions?: boolean;
  readonly overwrite?: boolean;
  readonly json?: boolean;
}

const flags: readonly Option[] = [
  new Option("--to <format>", "hf: a folder for Python's transformers; onnx: for transformers.js and ONNX Runtime; gguf: for llama.cpp")
    .choices(exportFormats)
    .makeOptionMandatory(),
  new Option("--out <folder>", "the folder to write, whole or not at all").makeOptionMandatory(),
  new Option("--weights <precision>", "32 or 16 bits for each weight, or rounded to 8 or 4 (default: what the format usually has)").choices(
    exportWeights,
  ),
  new Option("--attentions", "attention patterns as more outputs, attentions.0 and so on (onnx)"),
  new Option("--overwrite", "replace an export that is there"),
  new Option("--json", "print one line of JSON and nothing else"),
];

export const exportCommand = addFlags(bareCommand("export"), flags);

exportCommand.action(async (folder: string, { json, ...options }: Options) => {
  const warn = (sentence: string) => console.error(`warning: ${sentence}`);
  await using model = open(folder, { warn });
  const done = await exportModel(model, { ...options, warn });
  if (json) console.log(JSON.stringify(done));
  else for (const { name, bytes } of done.files) console.log(`${sizeText(bytes).padStart(12)}  ${done.folder}/${name}`);
});

const sizeText = (bytes: number): string => (bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
