import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { ConfigError } from "../base/errors.ts";
import { either, sentence, setting } from "../base/sentence.ts";
import { systemCode } from "../disk/files.ts";
import { type WholeFolder, writeWholeFolder } from "../disk/whole-folder.ts";
import { messageLimit } from "../onnx/emit.ts";
import { paths } from "../runs/folder.ts";
import { readLog } from "../runs/log.ts";
import { teller, type Warned } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { Exporter, ExportWeights, GrowingFile } from "./exporter.ts";
import { type CardRun, modelCard } from "./model-card.ts";
import { Trained } from "./trained.ts";

/** Every format in a file of its own, which is loaded when it is asked for. */
const exporters = {
  hf: async (): Promise<Exporter> => (await import("./export-hf.ts")).hfExporter,
  onnx: async (): Promise<Exporter> => (await import("./export-onnx.ts")).onnxExporter,
  gguf: async (): Promise<Exporter> => (await import("./export-gguf.ts")).ggufExporter,
} as const satisfies Readonly<Record<string, () => Promise<Exporter>>>;

/** For whom a model is written: Python (hf), transformers.js and ONNX Runtime (onnx), llama.cpp (gguf). */
export type ExportFormat = keyof typeof exporters;
/** Every format that there is. */
export const exportFormats = Object.keys(exporters) as ExportFormat[];

/** What is written, and where. */
export interface ExportOptions extends Warned {
  readonly to: ExportFormat;
  /** The folder that is written, whole or not at all. */
  readonly out: string;
  /** How weights are kept; the format's usual way if left out. */
  readonly weights?: ExportWeights;
  /** Whether attention patterns are outputs too (onnx). */
  readonly attentions?: boolean;
  /** Replace an export that is there. */
  readonly overwrite?: boolean;
  /** The most bytes of weights in an ONNX file; with more they go into a file beside it. 2 GiB, where such a file ends, if left out. */
  readonly largest?: number;
  /** As in `WholeFolder`. */
  readonly pause?: WholeFolder["pause"];
}

/** What was written. */
export interface Exported {
  readonly folder: string;
  readonly to: ExportFormat;
  /** What readers take it for: "llama", "gpt2", "text-generation". */
  readonly kind: string;
  readonly weights: ExportWeights;
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
}

/** Writes a model for others to run: a folder for transformers (hf), transformers.js and ONNX Runtime (onnx), or llama.cpp (gguf). */
export async function exportModel(trained: TrainedModel, options: ExportOptions): Promise<Exported> {
  const { to, out, overwrite = false, attentions = false, largest = messageLimit, pause } = options;
  const exporter = await exporters[to]();
  const { weights = exporter.weights[0] } = options;
  refuseWeights(exporter, to, weights);
  if (attentions && !exporter.attentions)
    throw new ConfigError(sentence`a ${to} export has no outputs for attention patterns; leave out ${setting("attentions")}`, {
      code: "config.conflict",
      path: "attentions",
    });
  refuseSource(trained, out);
  const warn = teller(options, trained);
  return writeWholeFolder({ folder: out, overwrite, what: "the export", owns: isExported(out), pause }, async (folder) => {
    const files: { name: string; bytes: number }[] = [];
    const growing = (name: string): GrowingFile => {
      const file = new Growing(join(folder, name));
      return {
        write: (bytes) => file.write(bytes),
        close: () => void files.push({ name, bytes: file.close() }),
      };
    };
    const write = (name: string, content: string | Iterable<Uint8Array>) => {
      const file = growing(name);
      try {
        for (const part of typeof content === "string" ? [new TextEncoder().encode(content)] : content) file.write(part);
      } finally {
        file.close();
      }
    };
    const shipped = await exporter.write({ trained, weights, attentions, largest, warn, write, growing });
    write("README.md", modelCard({ trained, name: basename(resolve(out)), weights, shipped, run: runOf(trained) }));
    return { folder: out, to, kind: shipped.kind, weights, files };
  });
}

function refuseWeights({ weights: able }: Exporter, to: string, weights: ExportWeights): void {
  if (able.includes(weights)) return;
  throw new ConfigError(sentence`a ${to} export has no weights ${weights}; choose ${either(able.map((one) => setting("weights", one)))}`, {
    code: "config.choice",
    path: "weights",
  });
}

/** An export must not take the place of what it is made of, nor lie in it. */
function refuseSource({ name }: TrainedModel, out: string): void {
  const way = relative(resolve(name), resolve(out));
  if (way !== "" && (way === ".." || way.startsWith("../") || resolve(name, way) !== resolve(out))) return;
  throw new ConfigError(sentence`${out} is the model's own folder, or lies in it; choose another ${setting("out")}`, {
    code: "config.conflict",
    path: "out",
  });
}

/** Files that exports have, of whatever format. */
const names =
  /^(README\.md|(config|tokenizer|tokenizer_config|generation_config|special_tokens_map|model\.safetensors\.index)\.json|chat_template\.jinja|[^/]+\.(safetensors|gguf)|onnx\/[^/]+\.onnx(_data(_\d+)?)?)$/;

/** A run has files of these names too, and is told by its config. */
function isExported(folder: string): (file: string) => boolean {
  return (file) => names.test(file) && !(file === "config.json" && isRunConfig(join(folder, file)));
}

function isRunConfig(file: string): boolean {
  try {
    const config: unknown = JSON.parse(readFileSync(file, "utf8"));
    return typeof config === "object" && config !== null && "training" in config && "data" in config;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** How much goes down to the disk in one call; the system refuses 2 GiB. */
const largestCall = 2 ** 24;

class Growing {
  readonly #handle: number;
  #bytes = 0;

  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true });
    this.#handle = openSync(file, "w");
  }

  write(part: Uint8Array): number {
    const begin = this.#bytes;
    for (let at = 0; at < part.length; ) at += writeSync(this.#handle, part, at, Math.min(part.length - at, largestCall));
    this.#bytes += part.length;
    return begin;
  }

  /** Gives back how long it is. */
  close(): number {
    closeSync(this.#handle);
    return this.#bytes;
  }
}

/** What is known of a model's training, where it is of a run. */
function runOf(trained: TrainedModel): CardRun | undefined {
  if (!(trained instanceof Trained) || trained.run.outside) return undefined;
  const { folder, config } = trained.run;
  const log = paths(folder).log;
  return { config, log: statSync(log, { throwIfNoEntry: false }) ? readLog(log) : [] };
}
