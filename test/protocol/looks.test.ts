import { describe, expect, it } from "vitest";
import { lookInside } from "../../src/protocol/looks.ts";
import type { Answers, PatchAsk, SweepAsk, TapsAsk } from "../../src/protocol/messages.ts";
import { inputs, runOf } from "../inspection/models.ts";

const told = { signal: new AbortController().signal, warn: () => {} };
const asker = async (name: keyof typeof inputs, more: object = {}) => {
  const run = await runOf({ ...inputs[name], ...more } as (typeof inputs)["decoder"]);
  return {
    run,
    taps: async (ask: Omit<TapsAsk, "kind">) => (await lookInside(run, { kind: "taps", ...ask }, told)) as Answers["taps"],
    patch: async (ask: Omit<PatchAsk, "kind">) => (await lookInside(run, { kind: "patch", ...ask }, told)) as Answers["patch"],
    sweep: async (ask: Omit<SweepAsk, "kind">) => (await lookInside(run, { kind: "sweep", ...ask }, told)) as Answers["sweep"],
  };
};

describe("taps that are asked for", () => {
  it("without names tell how the text is read, and everything that was learned", async () => {
    const { run, taps } = await asker("encoder–decoder");
    const { tokens, ids, targetTokens, targetIds, parameters = [] } = await taps({ text: "a cat", names: [], target: "it" });
    expect([ids?.length, targetIds?.length]).toEqual([tokens.length, targetTokens?.length]);
    const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
    expect(count).toBe(run.weights.buffer.data.length);
  });

  it("can be those of one head, also where heads share keys", async () => {
    const { taps } = await asker("decoder", { kvHeads: 1 });
    const ask = { text: "a cat", names: ["decoder/block.0/attention/k", "decoder/block.0/attention/pattern", "decoder/block.0/output"] };
    const [k, pattern, output] = (await taps(ask)).activations;
    const one = (await taps({ ...ask, head: 1 })).activations;
    expect(one[0]).toEqual(k);
    expect(one[1].shape).toEqual([1, ...pattern.shape.slice(1)]);
    expect(one[1].data).toEqual(pattern.data.slice(pattern.data.length / 2));
    expect(one[2]).toEqual(output);
    await expect(taps({ ...ask, head: 2 })).rejects.toThrow(/there is no head 2; there are 2/);
  });
});

describe("a patch that is asked for", () => {
  it("tells one position alone, with its likeliest answers by name", async () => {
    const { patch } = await asker("decoder");
    const ask = { text: "a cat", changes: [{ layer: 0, head: 0 }] };
    const [all, one] = [await patch(ask), await patch({ ...ask, position: 1, top: 3 })];
    const vocab = all.before.logProbabilities.shape[1];
    expect(one.before.logProbabilities).toMatchObject({ axes: ["vocab"], data: all.before.logProbabilities.data.slice(vocab, 2 * vocab) });
    for (const { id, before, after } of one.candidates ?? []) {
      expect(before).toBeCloseTo(Math.exp(all.before.logProbabilities.data[vocab + id]), 6);
      expect(after).toBeCloseTo(Math.exp(all.after.logProbabilities.data[vocab + id]), 6);
    }
    expect(one.candidates?.length).toBeGreaterThanOrEqual(3);
    await expect(patch({ ...ask, position: 5 })).rejects.toThrow(/there is no position 5 to tell the answer of; there are 5/);
  });

  it("at some positions is what a sweep finds there", async () => {
    const { patch, sweep } = await asker("tagger");
    const tap = "encoder/block.0/feedforward/out";
    const { answer, after } = await sweep({ text: "a cat", tap, over: "position" });
    for (const [position, probability] of after.entries()) {
      const { candidates = [] } = await patch({
        text: "a cat",
        changes: [{ tap, value: 0, positions: [position] }],
        top: 3,
        position: answer.position,
      });
      expect(candidates.find(({ id }) => id === answer.id)?.after).toBeCloseTo(probability, 5);
    }
  });
});
