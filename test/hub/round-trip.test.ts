import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { exportModel } from "../../src/library/export.ts";
import { open } from "../../src/library/trained.ts";
import { readSafetensors } from "../../src/weights/safetensors.ts";

// Encoders and translators that are exported again are the folders that they came from, bit for bit but for what nobody reads.

const models = join(import.meta.dirname, "models");
const place = mkdtempSync(join(tmpdir(), "qkv-round-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const tensorsOf = (folder: string) => readSafetensors(readFileSync(join(folder, "model.safetensors")), folder).tensors;
const configOf = (folder: string) => JSON.parse(readFileSync(join(folder, "config.json"), "utf8"));

/** Rows before the first position, which no position reads. */
const unread: Readonly<Record<string, RegExp>> = {
  "roberta-classify": /position_embeddings/,
  "roberta-mlm": /position_embeddings/,
  bart: /embed_positions/,
};

const names = [
  "bert-classify",
  "bert-tag",
  "bert-mlm",
  "bert-embed",
  "roberta-classify",
  "roberta-mlm",
  "distilbert-classify",
  "distilbert-mlm",
];

describe.each([...names, "t5", "flan-t5", "bart", "marian"])("%s", (name) => {
  it("comes out as it went in", async () => {
    const [from, out] = [join(models, name), join(place, name)];
    await exportModel(open(from, { threads: 1 }), { to: "hf", out });
    expect(configOf(out)).toEqual(configOf(from));
    const [before, after] = [tensorsOf(from), tensorsOf(out)];
    const exact = (key: string) => !unread[name]?.test(key);
    expect([...after.keys()].filter(exact).sort()).toEqual([...before.keys()].filter(exact).sort());
    for (const [key, { shape, data }] of before) {
      if (exact(key)) expect(after.get(key)).toMatchObject({ shape, data });
      else if (after.has(key)) expect(after.get(key)?.data.slice(2 * shape[1])).toEqual(data.slice(2 * shape[1]));
    }
  });
});
