import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { openHubFolder } from "../../src/disk/hub-folder.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { families } from "../../src/hub/families.ts";
import type { TensorRule } from "../../src/hub/family.ts";
import { theirsOf } from "../../src/hub/tensors.ts";
import { open } from "../../src/library/trained.ts";
import { modelLoss } from "../../src/models/any.ts";
import { compile } from "../../src/node/device.ts";
import { readSafetensors } from "../../src/weights/safetensors.ts";

// Tiny random decoders against what Python transformers made of them: see reference-decoders.py.

const names = ["gpt2", "llama", "llama3", "qwen2", "qwen3", "mistral", "gemma", "gemma2", "gemma3", "pythia", "neox", "phi", "phi3", "opt"];

interface Reference {
  readonly text: string;
  readonly ids: readonly number[];
  readonly loss: number;
  /** [time, vocab] */
  readonly scores: readonly number[];
  /** [layer][head, query, key] */
  readonly attentions: readonly (readonly number[])[];
  readonly greedy: readonly number[];
}

const folderOf = (name: string) => join(import.meta.dirname, "models", name);
const referenceOf = (name: string): Reference => JSON.parse(readFileSync(join(folderOf(name), "reference.json"), "utf8"));
const row = (ids: readonly number[]) => array("int32", Int32Array.from(ids), [1, ids.length]);

function gap(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
}

/** A gradient of 1 + weight is that of the weight. */
const shifted = (rule: TensorRule): TensorRule =>
  "theirs" in rule
    ? { ...rule, theirs: rule.theirs.map((piece) => (piece.turn?.kind === "add" ? { ...piece, turn: undefined } : piece)) }
    : rule;

describe.each(names)("%s", (name) => {
  const { ids, scores, attentions, greedy, text, loss } = referenceOf(name);

  it("has the scores and the gradients of Python", async () => {
    const { model, family, weights } = openHubFolder(folderOf(name));
    const { buffer } = weights("never used: it is small");
    const step = compile(modelLoss(model), { gradientOf: "loss" });
    const gradients = new ParameterBuffer(buffer.layout);
    const targets = row([...ids.slice(1), -1]);
    const found = await step.run({ ids: row(ids), targets }, { weights: buffer, gradients });
    expect(gap(found.scores.data as Float32Array, scores)).toBeLessThan(1e-5);
    expect(Math.abs(Number(found.loss.data[0]) - loss)).toBeLessThan(1e-5);
    const file = readSafetensors(readFileSync(join(folderOf(name), "gradients.safetensors")), name).tensors;
    const ours = theirsOf(family.tensors(model).map(shifted), (one) => gradients.view(one).data as Float32Array);
    const called = (own: string) => [own, ...(family.alsoCalled?.(own) ?? [])].find((one) => file.has(one)) ?? "";
    const checked = ours.filter((tensor) => file.has(called(tensor.name)));
    expect(checked.length).toBe(file.size);
    for (const tensor of checked)
      expect(gap(tensor.numbers(), file.get(called(tensor.name))?.data as Float32Array), tensor.name).toBeLessThan(1e-5);
    await step.release();
  });

  it("writes what Python writes, and says of each token, with a cache, what it says without", async () => {
    await using trained = open(folderOf(name), { warn: false });
    const [[sample]] = await trained.samples([text], { temperature: 0, tokens: 10 });
    const ended = trained.tokenizer.ends?.includes(greedy[greedy.length - 1]) ?? false;
    const said = sample.tokens.map(({ id }) => id);
    expect(said).toEqual(ended ? greedy.slice(0, -1) : greedy);
    expect(sample.finish).toBe(ended ? "end" : "length");
    const whole = compile(modelLoss(trained.model, { training: false }));
    const all = [...ids, ...said];
    const { scores: uncached } = await whole.run({ ids: row(all), targets: row(all) }, { weights: trained.weights.buffer });
    const vocab = trained.model.vocab;
    for (const [i, { id, logProbability }] of sample.tokens.entries()) {
      const at = (ids.length - 1 + i) * vocab;
      const next = (uncached.data as Float32Array).subarray(at, at + vocab);
      const total = Math.log(next.reduce((sum, score) => sum + Math.exp(score), 0));
      expect(Math.abs(next[id] - total - logProbability)).toBeLessThan(1e-5);
    }
    await whole.release();
  });

  it("attends as Python does", async () => {
    await using trained = open(folderOf(name), { warn: false });
    const { layers, tokens } = await trained.attention(text);
    expect(tokens.length).toBe(ids.length);
    for (const [i, { heads }] of layers.entries())
      expect(
        gap(
          heads.flatMap(({ pattern }) => pattern.flatMap((one) => Array.from(one))),
          attentions[i],
        ),
      ).toBeLessThan(1e-5);
    expect(layers.length).toBe(attentions.length);
  });
});

it("every family of decoders has a reference", () => {
  const used = new Set(names.map((name) => openHubFolder(folderOf(name)).family.name));
  const missing = families.filter(({ architectures }) => architectures[0].match(/CausalLM|LMHead/)).filter(({ name }) => !used.has(name));
  expect(missing.map(({ name }) => name)).toEqual([]);
});
