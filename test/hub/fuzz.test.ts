import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { QkvError } from "../../src/base/errors.ts";
import { openHubFolder } from "../../src/disk/hub-folder.ts";
import { mutate } from "../support/mutate.ts";

// Damaged folders end in a model or in a sentence, never in anything else.

/** More for a long night: QKV_FUZZ=10000. */
const mutants = Number(process.env.QKV_FUZZ ?? 60);

const temporary = mkdtempSync(join(tmpdir(), "qkv-hub-fuzz-"));
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

it.each([
  ["llama3", "config.json"],
  ["llama3", "model.safetensors.index.json"],
  ["llama3", "generation_config.json"],
  ["llama3", "tokenizer_config.json"],
  ["gemma3", "config.json"],
  ["opt", "config.json"],
])("%s with a damaged %s", (name, file) => {
  const folder = join(temporary, `${name}-${file}`);
  cpSync(join(import.meta.dirname, "models", name), folder, { recursive: true });
  const text = readFileSync(join(folder, file), "utf8");
  for (let i = 0; i < mutants; i++) {
    const damaged = mutate(text, chance(i).fork(file));
    writeFileSync(join(folder, file), damaged);
    try {
      openHubFolder(folder).weights(temporary);
    } catch (error) {
      expect(error, `${i}: ${error} of ${damaged}`).toBeInstanceOf(QkvError);
    }
  }
});
