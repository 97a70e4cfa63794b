import { describe, expect, it } from "vitest";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { answersOf } from "../../src/inspection/answers.ts";
import { look } from "../../src/inspection/look.ts";
import { ablateHead, patch, swap } from "../../src/inspection/patch.ts";
import { readingOf } from "../../src/inspection/reading.ts";
import { taps } from "../../src/inspection/taps.ts";
import { inMemory } from "../support/trained-model.ts";
import { inputs, runOf } from "./models.ts";

const sizes = (values: Float32Array) => Math.max(...values.map(Math.abs));

describe("a patched model", () => {
  it.each(["decoder", "classifier", "tagger", "encoder–decoder", "rnn with attention"] as const)(
    "(%s) whose activations are replaced by themselves answers the same",
    async (name) => {
      const run = await runOf(inputs[name]);
      const target = name === "encoder–decoder" || name === "rnn with attention" ? "it" : undefined;
      for (const { name: tap } of taps(run.model)) {
        const { difference } = await patch(run, "a cat", [{ tap, value: (old) => old.data }], { target });
        expect(sizes(difference.logProbabilities.data)).toBeLessThan(1e-4);
        expect(Math.abs(difference.divergence)).toBeLessThan(1e-5);
      }
    },
    60_000,
  );

  it("without any head is the model whose output projections are 0", async () => {
    const run = await runOf(inputs.decoder);
    const all = [0, 1].flatMap((layer) => [0, 1].map((head) => ablateHead(run, layer, head)));
    const { before, after, difference } = await patch(run, "a cat", all);
    const silent = new ParameterBuffer(run.weights.buffer.layout, run.weights.buffer.data.slice());
    for (const layer of [0, 1]) silent.view(`decoder/block.${layer}/attention/out/weight`).data.fill(0 as never);
    const expected = await answersOf(inMemory(run.model, silent, run.tokenizer), await readingOf(run, "a cat"));
    expect(after.logProbabilities.data).toEqual(expected.logProbabilities.data);
    expect(after.loss).toBe(expected.loss);
    expect(difference.loss).toBeCloseTo((after.loss ?? 0) - (before.loss ?? 0), 10);
    expect(difference.divergence).toBeGreaterThan(0.001);
  });

  it("without one head is the model whose output projection does not hear that head", async () => {
    const run = await runOf(inputs.decoder);
    for (const head of [0, 1]) {
      const { after, difference } = await patch(run, "a cat", [ablateHead(run, 1, head)]);
      const deaf = new ParameterBuffer(run.weights.buffer.layout, run.weights.buffer.data.slice());
      const { data } = deaf.view("decoder/block.1/attention/out/weight"); // [width, head · size]
      for (let row = 0; row < 8; row++) data.fill(0 as never, row * 8 + head * 4, row * 8 + (head + 1) * 4);
      const expected = await answersOf(inMemory(run.model, deaf, run.tokenizer), await readingOf(run, "a cat"));
      for (const [i, x] of expected.logProbabilities.data.entries()) expect(after.logProbabilities.data[i]).toBeCloseTo(x, 4);
      expect(difference.divergence).toBeGreaterThan(1e-6);
    }
  });

  it("with a head of an RNN's alignment, a cross-attention or a classifier silenced answers otherwise", async () => {
    for (const name of ["rnn with attention", "encoder–decoder", "classifier"] as const) {
      const run = await runOf(inputs[name]);
      const target = name === "classifier" ? undefined : "it";
      const { difference } = await patch(run, "a cat", [ablateHead(run, 0, 0)], { target });
      expect(difference.divergence).toBeGreaterThan(1e-7);
      expect(difference.loss === undefined).toBe(name === "classifier");
    }
  });

  it("with the last output of another text answers as it does for that text", async () => {
    const run = await runOf(inputs.decoder);
    const { after } = await patch(run, "a cat", [swap("decoder/block.1/output", "it is")]);
    const other = await answersOf(run, await readingOf(run, "it is"));
    expect(after.logProbabilities.data).toEqual(other.logProbabilities.data);
  });

  it("can be swapped at one position only", async () => {
    const run = await runOf(inputs.decoder);
    const { difference } = await patch(run, "a cat", [swap("decoder/block.1/output", "it is", { positions: [3] })]);
    const changed = difference.logProbabilities.data;
    const vocab = difference.logProbabilities.shape[1];
    for (let position = 0; position < 5; position++)
      expect(sizes(changed.subarray(position * vocab, (position + 1) * vocab)) > 1e-3).toBe(position === 3);
  });

  it("shows later changes what earlier ones have made", async () => {
    const run = await runOf(inputs.decoder);
    const seen: Float32Array[] = [];
    const output = "decoder/block.1/output";
    await patch(run, "a cat", [
      {
        tap: output,
        value: ({ data }) => {
          seen.push(data);
          return data;
        },
      },
      ablateHead(run, 0, 0),
    ]);
    const plain = (await look(run, "a cat", [output])).activations.get(output);
    expect(seen[0]).not.toEqual(plain?.data);
  });

  it.each([
    [{ tap: "decoder/block.0/output", value: new Float32Array(3) }, /has 40 numbers \(\[5, 8\]\), but 3 were given/],
    [
      swap("decoder/block.0/output", "longer text"),
      /is \[5, 8\] for one text and \[11, 8\] for the other; swap between texts of as many tokens/,
    ],
    [swap("decoder/block.0/output", "it is", { positions: [5] }), /there is no position 5 to swap/],
  ])("refuses what does not fit: %#", async (change, sentence) => {
    await expect(patch(await runOf(inputs.decoder), "a cat", [change])).rejects.toThrow(sentence);
  });

  it("refuses a head that there is not", async () => {
    const run = await runOf(inputs.decoder);
    expect(() => ablateHead(run, 2, 0)).toThrow("there is no head 0 in layer 2; the model has 2 layers of 2 heads, counted from 0");
  });
});
