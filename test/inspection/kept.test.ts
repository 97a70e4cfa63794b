import { describe, expect, it } from "vitest";
import { attentionOf } from "../../src/inspection/attention.ts";
import { logitLens } from "../../src/inspection/lens.ts";
import { look } from "../../src/inspection/look.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import type { Engine } from "../../src/runtime/session.ts";
import { TrainedModel } from "../../src/trained/trained.ts";
import { inputs, runOf } from "./models.ts";

/** The same model on an engine that counts its sessions. */
function counted(run: TrainedModel) {
  const alive = { now: 0, made: 0 };
  const engine: Engine = {
    ...nodeEngine,
    async createSession(model, options) {
      const session = await nodeEngine.createSession(model, options);
      alive.now++;
      alive.made++;
      const release = async () => {
        alive.now--;
        await session.release();
      };
      return { run: (...args) => session.run(...args), endProfiling: () => session.endProfiling(), release };
    },
  };
  const { model, tokenizer, labels, weights } = run;
  return { alive, run: new TrainedModel({ model, tokenizer, labels, weights, device: { engine, threads: 1 } }) };
}

const texts = ["the cat", "a glad cat", "it", "sat and slept", "cat, cat", "the", "and it was", "b", "slept", "<b>it</b>"];

describe("what is compiled of a model stays with it", () => {
  it("ten texts are looked at in one session, whatever their lengths", async () => {
    const { alive, run } = counted(await runOf(inputs.decoder));
    await attentionOf(run, "the first");
    const { made } = alive;
    for (const text of texts) await attentionOf(run, text);
    expect(alive.made).toBe(made);
    await run.release();
    expect(alive.now).toBe(0);
  });

  it("the logit lens needs as many sessions for six layers as for two", async () => {
    const sessions = async (layers: number) => {
      const { alive, run } = counted(await runOf({ ...inputs.decoder, layers }));
      await logitLens(run, "the cat");
      await run.release();
      expect(alive.now).toBe(0);
      return alive.made;
    };
    expect(await sessions(6)).toBe(await sessions(2));
  });

  it("an RNN, which is unrolled, keeps a bounded number of lengths", async () => {
    const { alive, run } = counted(await runOf(inputs["rnn with attention"]));
    for (const text of texts) await attentionOf(run, text, { target: "it" });
    expect(alive.now).toBeLessThanOrEqual(8);
    await run.release();
    expect(alive.now).toBe(0);
  });

  it("many ways of looking are not all kept", async () => {
    const { alive, run } = counted(await runOf({ ...inputs.decoder, layers: 3 }));
    const taps = ["q", "k", "v", "scores", "pattern", "mixed"].flatMap((name) =>
      [0, 1, 2].map((i) => `decoder/block.${i}/attention/${name}`),
    );
    for (const tap of taps) await look(run, "the cat", [tap]);
    expect(run.keptCount).toBe(8);
    expect(alive.now).toBe(8);
    await run.release();
    expect([run.keptCount, alive.now]).toEqual([0, 0]);
    expect((await look(run, "it", taps.slice(0, 1))).tokens).toEqual(["i", "t"]); // and it can be used again
    await run.release();
  });

  it("a look that is too large for the memory is refused with the arithmetic", async () => {
    const { model, tokenizer, weights } = await runOf({ ...inputs.decoder, context: 4000, positions: "rotary" });
    const small = new TrainedModel({ model, tokenizer, weights, device: { engine: nodeEngine, memory: () => 2 ** 28 } });
    await expect(attentionOf(small, "a cat ".repeat(500))).rejects.toThrow(
      "attention over this text is 2 layers × 2 heads × 3,000 queries × 3,000 keys × 16 bytes = 0.536 GiB, and 0.25 GiB may be taken; look at one layer, or at a shorter text",
    );
  });
});
