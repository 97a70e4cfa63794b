import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { type ModelConfig, modelConfig, modelLoss } from "../../src/models/any.ts";
import { compile } from "../../src/node/device.ts";
import { stepsFor } from "../../src/runs/pace.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { byBucket, inBuckets, share } from "../../src/studies/buckets.ts";
import { reachOf, type Window } from "../../src/studies/gradients.ts";
import { errorByPlace, unitsFound } from "../../src/studies/places.ts";
import { recallContext, recallQuestions, recallText } from "../../src/studies/recall.ts";
import { shown } from "../../src/studies/table.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";
import { initialise } from "../../src/weights/initialise.ts";

describe("buckets", () => {
  it("hold every item once, and empty ones are left out", () => {
    const groups = inBuckets([1, 4, 5, 9, 9], (size) => size, [1, 4, 6, 8]);
    expect(Object.fromEntries(groups)).toEqual({ "1": [1], "2–4": [4], "5–6": [5], "9+": [9, 9] });
    expect(byBucket(groups, (own) => share(own, (size) => size > 4))).toEqual({ "1": 0, "2–4": 0, "5–6": 1, "9+": 1 });
  });
});

describe("places", () => {
  it("of what an answer has are those of the alignment with the fewest edits", () => {
    expect(unitsFound([..."abcd"], [..."abcd"])).toEqual([true, true, true, true]);
    expect(unitsFound([..."bcd"], [..."abcd"])).toEqual([false, true, true, true]);
    expect(unitsFound([..."axxcd"], [..."abcd"])).toEqual([true, false, true, true]);
    expect(unitsFound([], [..."ab"])).toEqual([false, false]);
    expect(unitsFound([..."ab"], [])).toEqual([]);
  });

  it("are counted in fifths of the reference", () => {
    const pairs = [
      { answer: [..."abcdefghix"], reference: [..."abcdefghij"] },
      { answer: [..."xbcde"], reference: [..."abcde"] },
    ];
    expect(errorByPlace(pairs)).toEqual({ "0–20 %": 1 / 3, "20–40 %": 0, "40–60 %": 0, "60–80 %": 0, "80–100 %": 1 / 3 });
  });
});

describe("steps for a time", () => {
  const each = (...seconds: number[]) => seconds.map((time) => ({ seconds: time, tokens: 10 }));

  it("follow from the pace, less what happens once", () => {
    expect(stepsFor(each(1, 1, 1, 1), 100)).toBe(100);
    expect(stepsFor(each(9, 1, 1, 1, 1, 1, 1, 1), 100)).toBe(92); // 8 seconds to make a session
    expect(stepsFor(each(9, 1, 1, 5, 1, 1, 1, 1), 100)).toBe(88); // and 4 for another
    expect(stepsFor(each(2, 1, 2, 1), 150)).toBe(100); // no step takes as long as another
    expect(stepsFor(each(2, 2, 1, 1), 100)).toBe(98); // and the first ones are slower
    expect(stepsFor(each(30, 1, 1, 1), 10)).toBe(1);
  });

  it("count long batches by their tokens", () => {
    const taken = [1, 1, 1, 9].map((size) => ({ seconds: size, tokens: 10 * size })); // the long one is no session
    expect(stepsFor(taken, 300)).toBe(100);
  });
});

describe("numbers in a table", () => {
  it.each([
    [0.30174, "0.3017"],
    [23.456, "23.46"],
    [1500, "1,500"],
    [3.14e-7, "3.1e-7"],
    [0, "0"],
    [undefined, "–"],
  ])("%s is %s", (value, text) => expect(shown(value)).toBe(text));
});

describe("the reach of a gradient", () => {
  const models: Readonly<Record<string, ModelConfig>> = {
    rnn: modelConfig({ model: "rnn", task: "lm", cell: "rnn", width: 8, vocab: 9, context: 6 }),
    gru: modelConfig({ model: "rnn", task: "lm", cell: "gru", width: 8, vocab: 9, context: 6, dropout: 0.5 }),
    lstm: modelConfig({ model: "rnn", task: "lm", cell: "lstm", width: 8, vocab: 9, context: 6 }),
    decoder: modelConfig({ model: "decoder", layers: 1, heads: 2, width: 8, vocab: 9, context: 6, tie: false }),
  };
  const windows: Window[] = [
    { ids: Int32Array.of(3, 1, 4, 2, 5, 8), next: 6 },
    { ids: Int32Array.of(8, 7, 6, 5, 4, 3), next: 0 },
  ];

  /** Tokens that come once in a window have one embedding each, so a row of the table can be moved in the place of the embedding. */
  async function byFiniteDifferences(model: ModelConfig, weights: ParameterBuffer, { ids, next }: Window, k: number): Promise<number> {
    const loss = compile(modelLoss(model, { training: false }), { outputs: ["loss"] });
    const targets = ids.map((_, i) => (i === ids.length - 1 ? next : -1));
    const feeds = { ids: array("int32", ids, [1, 6]), targets: array("int32", targets, [1, 6]) };
    const at = async (place: number, by: number) => {
      const moved = new ParameterBuffer(weights.layout, weights.data.slice());
      const table = [...moved.views].find(([name]) => name.endsWith("tokens"))?.[1].data as Float32Array;
      table[ids[ids.length - 1 - k] * 8 + place] += by;
      return Number((await loss.run(feeds, { weights: moved })).loss.data[0]);
    };
    const step = 0.02;
    const slopes: number[] = [];
    for (let place = 0; place < 8; place++) slopes.push(((await at(place, step)) - (await at(place, -step))) / (2 * step));
    await loss.release();
    return Math.hypot(...slopes);
  }

  it.each(Object.entries(models))("of a model (%s) is that of finite differences", async (_, model) => {
    const weights = initialise(parametersOf(modelLoss(model)), chance(3));
    for (const [i, value] of weights.data.entries()) weights.data[i] = 3 * value; // large enough for differences of float32
    const { norms, answers } = await reachOf(model, weights, windows, 1);
    expect(norms).toHaveLength(6);
    expect(answers).toHaveLength(2);
    for (const k of [0, 2, 5]) {
      const slopes = [await byFiniteDifferences(model, weights, windows[0], k), await byFiniteDifferences(model, weights, windows[1], k)];
      expect(Math.abs(norms[k] - (slopes[0] + slopes[1]) / 2)).toBeLessThan(0.02 * norms[k] + 1e-4);
    }
  });
});

describe("letters to recall", () => {
  it("are asked for just before they come again", async () => {
    const { train } = await recallText.make();
    const tokenizer = await trainTokenizer("char", [train.slice(0, 5000)], {});
    const questions = recallQuestions({ tokenizer }, 40);
    expect(questions).toHaveLength(40);
    for (const { ids, next, distance } of questions) {
      expect(ids).toHaveLength(recallContext);
      expect(tokenizer.piece(ids[ids.length - 1])).toBe("=");
      expect(ids[ids.length - distance]).toBe(next);
    }
    for (const line of train.split("\n").slice(0, 100)) expect(line).toMatch(/^([a-p])[01]{1,40}=\1$/);
  });
});
