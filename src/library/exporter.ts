import type { TrainedModel } from "../trained/trained.ts";

// What every format of an export has in common: one file for each format, and the table of them in export.ts.

/** As they were trained; 16 bits; or matrices rounded to 8 or 4 bits with a scale for every 32. */
export const exportWeights = ["f32", "f16", "q8", "q4"] as const;
export type ExportWeights = (typeof exportWeights)[number];

/** What one export is asked for. */
export interface ExportJob {
  readonly trained: TrainedModel;
  readonly weights: ExportWeights;
  /** Whether attention patterns are outputs too. */
  readonly attentions: boolean;
  /** The most bytes of weights in an ONNX file; with more they are in a file beside it. */
  readonly largest: number;
  /** Writes a file of the folder, by its path with /; bytes may come in parts. */
  write(file: string, content: string | Iterable<Uint8Array>): void;
  /** A file that grows: each part is written at once, and where it begins is given back. */
  growing(file: string): GrowingFile;
  /** Told what is noteworthy. */
  warn(sentence: string): void;
}

export interface GrowingFile {
  write(bytes: Uint8Array): number;
  close(): void;
}

/** How a file of the export is used, for the model card. */
export interface Usage {
  /** "In Node", "In Python". */
  readonly title: string;
  /** Of the code block: "js", "python", "sh". */
  readonly language: string;
  /** `{{name}}` stands for the name of the folder. */
  readonly code: string;
}

/** What was written, for the model card and whoever called. */
export interface Shipped {
  /** What readers take it for: "llama", "gpt2", "text-generation". */
  readonly kind: string;
  /** The metadata that the hub's pages are made of: `library_name`, `pipeline_tag`. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly usage: readonly Usage[];
  /** Sentences that a reader should know: names of inputs and outputs, what differs. */
  readonly notes: readonly string[];
}

/** One format. It refuses what it cannot write, with a ConfigError, before it writes anything. */
export interface Exporter {
  /** What it can write, the usual one first. */
  readonly weights: readonly ExportWeights[];
  /** Whether it has outputs for attention patterns. */
  readonly attentions?: boolean;
  write(job: ExportJob): Promise<Shipped>;
}
