import { describe, expect, it } from "vitest";
import { answersOf, nextTokensOf, rowsOf } from "../../src/inspection/answers.ts";
import { logitLens } from "../../src/inspection/lens.ts";
import { observe } from "../../src/inspection/observe.ts";
import { readingOf } from "../../src/inspection/reading.ts";
import { inputs, runOf } from "./models.ts";

describe("the answers of a model", () => {
  it("are log-probabilities whose loss is the model's own", async () => {
    for (const name of ["decoder", "encoder–decoder", "rnn with attention", "rnn language model"] as const) {
      const run = await runOf(inputs[name]);
      const target = name === "encoder–decoder" || name === "rnn with attention" ? "it" : undefined;
      const reading = await readingOf(run, "the cat", { target });
      const { loss, logProbabilities } = await answersOf(run, reading);
      const own = await observe(run, reading, { outputs: ["loss"] });
      expect(loss).toBeCloseTo(Number(own.loss.data[0]), 4);
      for (const row of rowsOf(logProbabilities)) expect(row.reduce((sum, x) => sum + Math.exp(x), 0)).toBeCloseTo(1, 4);
    }
  });

  it("tell what may come next, the likeliest first", async () => {
    const run = await runOf(inputs.decoder);
    const { candidates, prompt } = await nextTokensOf(run, "the", { top: 4 });
    expect(prompt).toBe("the");
    expect(candidates).toHaveLength(4);
    const shares = candidates.map(({ probability }) => probability);
    expect(shares).toEqual([...shares].sort((a, b) => b - a));
    const { candidates: all } = await nextTokensOf(run, "the", { top: 1000 });
    expect(all.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 4);
  });

  it("are labels where the model gives labels, and follow the target so far where there is a source", async () => {
    const { candidates } = await nextTokensOf(await runOf(inputs.classifier), "the");
    expect(candidates.map(({ token }) => token).sort()).toEqual(["bad", "good", "so"]);
    const run = await runOf(inputs["encoder–decoder"]);
    const first = await nextTokensOf(run, "the");
    const later = await nextTokensOf(run, "the", { target: "it" });
    expect([first.prompt, later.prompt]).toEqual(["the → ", "the → it"]);
    expect(first.candidates).not.toEqual(later.candidates);
  });
});

describe("the logit lens", () => {
  it.each(["decoder", "classifier", "class token", "tagger", "encoder–decoder"] as const)(
    "(%s) gives the model's own answer after the last layer, and another after the first",
    async (name) => {
      const run = await runOf(inputs[name]);
      const target = name === "encoder–decoder" ? "it" : undefined;
      const { layers } = await logitLens(run, "the cat", { target, top: 3 });
      const { logProbabilities } = await answersOf(run, await readingOf(run, "the cat", { target }));
      const rows = rowsOf(logProbabilities);
      const shares = (layer: number) => layers[layer].positions.map(({ top }) => top[0].probability);
      expect(layers[1].positions).toHaveLength(rows.length);
      for (const [i, row] of rows.entries()) expect(shares(1)[i]).toBeCloseTo(Math.exp(Math.max(...row)), 5);
      expect(shares(0)).not.toEqual(shares(1));
    },
  );

  it("also where the norm comes after each sublayer, or there is none", async () => {
    for (const change of [{ normPlace: "post" }, { norm: "none" }, { tie: false }] as const) {
      const run = await runOf({ ...inputs.decoder, ...change });
      const { layers } = await logitLens(run, "the");
      const { candidates } = await nextTokensOf(run, "the", { top: 5 });
      expect(layers[1].positions[2].top).toEqual(candidates);
    }
  });

  it("is for Transformers", async () => {
    await expect(logitLens(await runOf(inputs["rnn language model"]), "the")).rejects.toThrow("has no blocks to look into");
  });
});
