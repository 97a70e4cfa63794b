import type { DeviceName } from "../node/devices.ts";
import type { Precision } from "../runtime/device.ts";

/** A model that a process of its own computes, and how. */
export interface ModelSettings {
  /** A run, a folder of Hugging Face or a GGUF file. */
  readonly folder: string;
  /** What it is called in errors: where a model lies is nobody's business. Its folder, if left out. */
  readonly name?: string;
  readonly adapter?: string;
  readonly threads?: number;
  readonly device?: DeviceName;
  readonly precision?: Precision;
  /** The most texts that are written at once; the rest waits. */
  readonly rows?: number;
  /** The most tokens of prompts that are read between two tokens of those who are being written for. */
  readonly piece?: number;
  /** Whether beginnings that prompts have in common are read once. */
  readonly share?: boolean;
}
