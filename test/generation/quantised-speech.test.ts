import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { NonFiniteError } from "../../src/base/errors.ts";
import { RunningBatch } from "../../src/generation/running-batch.ts";
import { sampling } from "../../src/generation/sampling.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { speakerOf } from "../../src/library/here.ts";
import { modelConfig } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { type Precision, precisions } from "../../src/runtime/device.ts";
import { product } from "../support/combinations.ts";
import { table, trained } from "./trained.ts";

describe("a trained model", async () => {
  const text = readFileSync(join(import.meta.dirname, "../../data/moby-dick.txt"), "utf8")
    .slice(30_000, 130_000)
    .toLowerCase();
  const letters = " abcdefghijklmnopqrstuvwxyz";
  const ids = Array.from(text, (letter) => Math.max(0, letters.indexOf(letter)));
  const context = 32;
  const window = (at: number) => ids.slice(at, at + context);
  const model = modelConfig({ model: "decoder", layers: 2, heads: 2, width: 32, context, vocab: letters.length });
  const weights = await trained(model, 250, (step) => {
    const starts = Array.from({ length: 16 }, (_, row) => chance(step).integer(row, 80_000));
    return { ids: table(starts.map(window)), targets: table(starts.map((at) => window(at + 1))) };
  });

  /** Of what the speech says of text that the model has not seen, token by token. */
  async function perplexity(precision: Precision): Promise<number> {
    const speaker = speakerOf(model, { weights, device: nodeDevice({ threads: 1, precision }) });
    const rows = Array.from({ length: 40 }, (_, i) => window(85_000 + 300 * i));
    const speech = speaker.begin();
    let next = await speech.join(rows.map(([first]) => ({ ids: [first] })));
    let loss = 0;
    for (let t = 1; t < context; t++) {
      for (const [i, { scores, total }] of next.entries()) loss += total - scores[rows[i][t]];
      next = await speech.next(rows.map((row) => row[t]));
    }
    await speaker.release();
    return Math.exp(loss / (rows.length * (context - 1)));
  }

  it("keeps its perplexity with 8 bits, and nearly with 4", async () => {
    const [exact, eight, four] = [await perplexity("f32"), await perplexity("q8"), await perplexity("q4")];
    const said = `f32 ${exact}, q8 ${eight}, q4 ${four}`;
    expect(exact, said).toBeLessThan(13); // it has learned something: 27 letters
    expect(eight, said).not.toBe(exact);
    expect(Math.abs(eight / exact - 1), said).toBeLessThan(0.01);
    expect(Math.abs(four / exact - 1), said).toBeLessThan(0.05);
  });

  it.each(
    product({
      precision: precisions,
      name: ["decoder/tokens", "decoder/block.0/feedforward/expand/weight", "decoder/block.1/attention/out/bias"],
      wrong: [Number.NaN, Infinity],
    }),
  )("with a weight that is not a number says so: $precision $name $wrong", async ({ precision, name, wrong }) => {
    const damaged = new ParameterBuffer(weights.layout, weights.data.slice());
    damaged.view(name as string).data.fill(wrong as never, 7, 8);
    const speaker = speakerOf(model, { weights: damaged, device: nodeDevice({ threads: 1, precision: precision as Precision }) });
    const batch = new RunningBatch(speaker);
    batch.add({ ids: [0, 4], tokens: 3, sampling: sampling(), chance: chance(1) });
    const [said] = await batch.step();
    expect(said.error).toBeInstanceOf(NonFiniteError);
    await speaker.release();
  });
});
