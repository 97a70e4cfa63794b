import { describe, expect, it } from "vitest";
import { ablateHead, patch, swap } from "../../src/inspection/patch.ts";
import { sweep } from "../../src/inspection/sweep.ts";
import { inputs, runOf } from "./models.ts";

describe("a sweep", () => {
  it.each([
    ["decoder", "decoder/block.0/output", undefined],
    ["classifier", "encoder/block.1/attention/out", undefined],
    ["encoder–decoder", "model/decoder/block.0/attention/added", "it"],
    ["rnn with attention", "model/encoder/layer.0/output", "it"],
  ] as const)("(%s) has at each position what a patch there gives", async (name, tap, target) => {
    const run = await runOf(inputs[name]);
    const options = { ...(target !== undefined && { target }) };
    const { answer, before, other, after } = await sweep(run, "a cat", { ...options, tap, over: "position", from: "it is" });
    const each = await Promise.all(
      after.map((_, position) => patch(run, "a cat", [swap(tap, "it is", { ...options, positions: [position] })], options)),
    );
    for (const [i, { after: patched, before: old }] of each.entries()) {
      const size = old.logProbabilities.shape.at(-1) ?? 0;
      const at = answer.position * size + answer.id;
      expect(after[i]).toBeCloseTo(Math.exp(patched.logProbabilities.data[at]), 5);
      expect(before).toBeCloseTo(Math.exp(old.logProbabilities.data[at]), 6);
    }
    const swapped = await sweep(run, "it is", { ...options, tap, over: "position", from: "a cat", answer: answer.id });
    expect(other).toBeCloseTo(swapped.before, 6);
  });

  it("over heads silences each, where no other text is given", async () => {
    const run = await runOf(inputs.decoder);
    const { answer, after } = await sweep(run, "a cat", { tap: "decoder/block.1/attention/mixed", over: "head" });
    for (const [head, probability] of after.entries()) {
      const { logProbabilities } = (await patch(run, "a cat", [ablateHead(run, 1, head)])).after;
      expect(probability).toBeCloseTo(
        Math.exp(logProbabilities.data[answer.position * (logProbabilities.shape.at(-1) ?? 0) + answer.id]),
        5,
      );
    }
  });

  it("refuses what it cannot go over", async () => {
    const run = await runOf(inputs.decoder);
    const tap = "decoder/block.0/output";
    await expect(sweep(run, "a cat", { tap, over: "head" })).rejects.toThrow(/has no heads to go over/);
    await expect(sweep(run, "a cat", { tap, over: "position", from: "longer text" })).rejects.toThrow(/texts of as many tokens/);
    await expect(sweep(run, "a cat", { tap, over: "position", position: 9 })).rejects.toThrow(/there is no position 9/);
  });
});
