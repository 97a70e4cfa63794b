import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { QkvError } from "../../src/base/errors.ts";
import { repositoryOf, wantedFiles } from "../../src/hub/repository.ts";
import { train } from "../../src/library/train.ts";
import { open } from "../../src/library/trained.ts";
import { modelLoss } from "../../src/models/any.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { mutate } from "../support/mutate.ts";

// Damaged folders of Hugging Face and answers of hubs: they are read, or refused in a sentence; never a crash, never a path outside.

/** More for a long night: QKV_FUZZ=10000. */
const mutants = Number(process.env.QKV_FUZZ ?? 100);

const place = mkdtempSync(join(tmpdir(), "qkv-hub-fuzz-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

/** Gives back what was thrown, where that is a sentence. */
function said(work: () => unknown, about: string): QkvError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof QkvError) {
      expect(error.message.length).toBeLessThan(10_000);
      return error;
    }
    throw new Error(`${about}: ${error instanceof Error ? error.stack : error}`);
  }
}

/** Opens a folder as every command does, up to where its numbers are read. */
function opened(folder: string, adapter?: string): void {
  const model = open(folder, { warn: false, ...(adapter !== undefined && { adapter }) });
  const layout = parametersOf(modelLoss(model.model));
  for (const { name } of layout.entries) model.weights.numbers(name);
  model.tokenizer.encode("a text");
  said(() => model.chat, "chat");
}

const chatModel = join(import.meta.dirname, "chat-model");

/** The same model in two files, with an index. */
function sharded(folder: string): string {
  cpSync(chatModel, folder, { recursive: true });
  const bytes = readFileSync(join(folder, "model.safetensors"));
  const header = JSON.parse(bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE(0))).toString());
  const names = Object.keys(header).filter((name) => name !== "__metadata__");
  rmSync(join(folder, "model.safetensors"));
  writeFileSync(join(folder, "model-00001-of-00001.safetensors"), bytes);
  const weight_map = Object.fromEntries(names.map((name) => [name, "model-00001-of-00001.safetensors"]));
  writeFileSync(join(folder, "model.safetensors.index.json"), JSON.stringify({ metadata: { total_size: 1 }, weight_map }));
  return folder;
}

describe("a damaged file of a folder", () => {
  const whole = join(place, "whole");
  cpSync(chatModel, whole, { recursive: true });
  const shards = sharded(join(place, "shards"));

  it.each([
    ["config.json", whole],
    ["generation_config.json", whole],
    ["tokenizer_config.json", whole],
    ["chat_template.jinja", whole],
    ["model.safetensors.index.json", shards],
  ])("%s", (name, folder) => {
    const file = join(folder, name);
    const good = readFileSync(file, "utf8");
    said(() => opened(folder), "undamaged");
    expect(said(() => opened(folder), "undamaged")).toBeUndefined();
    let refused = 0;
    for (let i = 0; i < mutants; i++) {
      const bad = mutate(good, chance(i).fork(name));
      writeFileSync(file, bad);
      if (said(() => opened(folder), `${name} ${i}: ${bad}`)) refused++;
    }
    writeFileSync(file, good);
    if (name.startsWith("config") || name.includes("index")) expect(refused).toBeGreaterThan(mutants / 4);
  });

  it("adapter_config.json", async () => {
    const rows = [{ prompt: "a", completion: "b" }];
    const run = await train(rows, {
      from: chatModel,
      lora: { rank: 2 },
      steps: 1,
      batch: 1,
      validFraction: 0,
      out: join(place, "run"),
      warn: false,
    });
    await run.release();
    const adapter = join(place, "run/adapter");
    const file = join(adapter, "adapter_config.json");
    const good = readFileSync(file, "utf8");
    expect(said(() => opened(chatModel, adapter), "undamaged")).toBeUndefined();
    for (let i = 0; i < mutants; i++) {
      const bad = mutate(good, chance(i).fork("adapter"));
      writeFileSync(file, bad);
      said(() => opened(chatModel, adapter), bad);
    }
  });

  it("never leads out of the folder", () => {
    const secret = join(place, "model.safetensors");
    cpSync(join(chatModel, "model.safetensors"), secret);
    const file = join(shards, "model.safetensors.index.json");
    const good = readFileSync(file, "utf8");
    for (const path of [
      "../model.safetensors",
      secret,
      "a/../../model.safetensors",
      "..\\model.safetensors",
      "./../model.safetensors",
      "file:///etc/passwd",
    ]) {
      writeFileSync(file, good.replaceAll("model-00001-of-00001.safetensors", JSON.stringify(path).slice(1, -1)));
      expect(said(() => opened(shards), path)?.message).toMatch(/only the name of a \.safetensors file in the same folder is read/);
    }
    writeFileSync(file, good);
  });
});

describe("a damaged answer of a hub", () => {
  const sum = "0123456789abcdef0123456789abcdef01234567";
  const answer = JSON.stringify({
    id: "owner/tiny",
    sha: sum,
    siblings: [
      { rfilename: "config.json", size: 12, blobId: sum },
      { rfilename: "tokenizer.json", size: 12, blobId: sum },
      { rfilename: "model.safetensors", size: 99, blobId: sum, lfs: { sha256: "a".repeat(64), size: 99, pointerSize: 1 } },
      { rfilename: "pytorch_model.bin", size: 99, blobId: sum, lfs: { sha256: "b".repeat(64), size: 99, pointerSize: 1 } },
      { rfilename: "q4/tiny.gguf", size: 99, blobId: sum, lfs: { sha256: "c".repeat(64), size: 99, pointerSize: 1 } },
    ],
  });

  it("names nothing outside of the folder, and no file without a size and a checksum", () => {
    for (let i = 0; i < 5 * mutants; i++) {
      const bad = mutate(answer, chance(i).fork("answer"));
      said(() => {
        const { files } = repositoryOf(parsed(bad), "the hub");
        for (const gguf of [undefined, "q4/tiny.gguf", "../x.gguf"])
          said(() => {
            for (const { path, bytes, sum } of wantedFiles(files, "owner/tiny", gguf)) {
              expect(path).toMatch(/^[\w.+-]+(\/[\w.+-]+)*$/);
              expect(path.split("/")).not.toContain("..");
              expect(bytes).toBeGreaterThanOrEqual(0);
              expect(sum.hex).toMatch(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
            }
          }, bad);
      }, bad);
    }
    expect(existsSync(join(place, "..", "x.gguf"))).toBe(false);
  });
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
