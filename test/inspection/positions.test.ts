import { describe, expect, it } from "vitest";
import { positionsOf } from "../../src/inspection/positions.ts";
import { alibiSlopes } from "../../src/layers/positions.ts";
import { inputs, runOf } from "./models.ts";

const tableOf = async (change: object, input: object = inputs.decoder) =>
  (await positionsOf(await runOf({ ...input, ...change } as typeof inputs.decoder))).table;

describe("the table of positions", () => {
  it("is the learned parameter", async () => {
    const run = await runOf(inputs.decoder);
    const { table } = await positionsOf(run);
    expect(table.flat()).toEqual(Array.from(run.weights.buffer.view("decoder/positions/table").data as Float32Array));
    expect(await tableOf({}, inputs["class token"])).toHaveLength(13); // one more for the class token
    expect(await tableOf({}, inputs["encoder–decoder"])).toHaveLength(12);
  });

  it("is sines and cosines", async () => {
    const table = await tableOf({ positions: "sinusoidal" });
    expect(table).toHaveLength(12);
    for (const [at, row] of table.entries())
      for (let pair = 0; pair < 4; pair++) {
        expect(row[2 * pair]).toBeCloseTo(Math.sin(at / 10000 ** (pair / 4)), 5);
        expect(row[2 * pair + 1]).toBeCloseTo(Math.cos(at / 10000 ** (pair / 4)), 5);
      }
  });

  it("is the angles by which rotary positions turn", async () => {
    for (const [at, row] of (await tableOf({ positions: "rotary" })).entries()) {
      const wanted = [Math.cos(at), Math.cos(at / 100), Math.sin(at), Math.sin(at / 100)];
      for (const [i, x] of row.entries()) expect(x).toBeCloseTo(wanted[i], 5);
    }
  });

  it("is those of another base, stretched, for the part of a head that is turned", async () => {
    const settings = { positions: "rotary", keySize: 8, valueSize: 4, ropeShare: 0.5, ropeBase: 400, ropeScaling: "linear", ropeFactor: 2 };
    for (const [at, row] of (await tableOf(settings)).entries()) {
      const wanted = [Math.cos(at / 2), Math.cos(at / 40), Math.sin(at / 2), Math.sin(at / 40)];
      for (const [i, x] of row.entries()) expect(x).toBeCloseTo(wanted[i], 5);
    }
  });

  it("is what ALiBi takes away from the scores, by distance: back only in a decoder, both ways in an encoder", async () => {
    const slopes = alibiSlopes(2);
    const back = await tableOf({ positions: "alibi" });
    for (const [distance, row] of back.entries())
      for (const [head, bias] of row.entries()) expect(bias).toBeCloseTo(-slopes[head] * distance, 5);
    const both = await tableOf({ positions: "alibi" }, inputs.tagger);
    expect(both.map(([bias]) => Math.round(-bias / slopes[0]))).toEqual(Array.from({ length: 23 }, (_, i) => Math.abs(i - 11)));
  });

  it("is the learned bias of each distance", async () => {
    const run = await runOf({ ...inputs.decoder, positions: "relative" });
    const { table } = await positionsOf(run);
    const learned = Array.from(run.weights.buffer.view("decoder/block.0/attention/relative").data as Float32Array);
    expect(table.flat()).toEqual(learned.slice(0, 24)); // 12 near distances have a bucket each
  });

  it("is the one table of all layers, where they share it", async () => {
    const run = await runOf({ ...inputs.decoder, positions: "relative", relativeShared: true });
    const learned = Array.from(run.weights.buffer.view("decoder/relative").data as Float32Array);
    expect((await positionsOf(run)).table.flat()).toEqual(learned.slice(0, 24));
  });

  it("is refused where there is none", async () => {
    await expect(tableOf({ positions: "none" })).rejects.toThrow('trained with positions: "none" has no table of positions');
    await expect(tableOf({}, inputs["rnn language model"])).rejects.toThrow("reads in order and has no table of positions");
  });
});
