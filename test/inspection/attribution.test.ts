import { afterAll, describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { grad } from "../../src/gradients/grad.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { normal } from "../../src/graph/leaves.ts";
import { int32 } from "../../src/graph/type.ts";
import { answersOf, highestPlaces, rowsOf } from "../../src/inspection/answers.ts";
import { attributionOf, logOdds } from "../../src/inspection/attribution.ts";
import { observe } from "../../src/inspection/observe.ts";
import { readingOf } from "../../src/inspection/reading.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { embedding } from "../../src/ops/lookup.ts";
import { linear } from "../../src/ops/products.ts";
import { sum } from "../../src/ops/sum.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
import { TrainedModel } from "../../src/trained/trained.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { inputs, runOf } from "./models.ts";

const names = [
  "decoder",
  "classifier",
  "class token",
  "tagger",
  "encoder–decoder",
  "rnn with attention",
  "rnn without attention",
  "rnn language model",
  "several labels",
  "calibrated classifier",
] as const;
const several = { ...inputs.classifier, labelling: "several" } as const;
const runs = new Map<string, TrainedModel>();
async function runNamed(name: (typeof names)[number]): Promise<TrainedModel> {
  if (name === "several labels") return runOf(several);
  if (name !== "calibrated classifier") return runOf(inputs[name]);
  const { model, tokenizer, labels, weights, device } = await runOf(inputs.classifier);
  return new TrainedModel({ model, tokenizer, labels, weights, device, temperature: 1.7 });
}
const runOnce = async (name: (typeof names)[number]) => {
  const run = runs.get(name) ?? (await runNamed(name));
  runs.set(name, run);
  return run;
};
afterAll(async () => {
  for (const run of runs.values()) await run.release();
});

const targetFor = (name: string) => (/encoder–decoder|rnn with/.test(name) ? { target: "it" } : {});

describe("attribution", () => {
  it.each(names)(
    "of the %s: the gradient is the slope of the log-odds when a token's embedding grows; without it, the probability is what it says",
    async (name) => {
      const run = await runOnce(name);
      const options = targetFor(name);
      const { answer, parts } = await attributionOf(run, "a cat", options);
      const reading = await readingOf(run, "a cat", options);
      const at = answer.position ?? 0;
      const label = run.model.model === "encoder" ? run.labels.indexOf(answer.label) : undefined;
      const oddsOf = (row: Float32Array, y: number) =>
        name === "several labels"
          ? row[y] - Math.log1p(-Math.exp(row[y]))
          : row[y] - Math.log(row.reduce((all, logP, j) => (j === y ? all : all + Math.exp(logP)), 0));
      const rowOf = async (tap: string, data: Float32Array, shape: readonly number[]) => {
        const { logProbabilities } = await answersOf(run, reading, { [tap]: array("float32", data, shape) });
        return rowsOf(logProbabilities)[at];
      };
      const y = label ?? [...Array(run.tokenizer.size).keys()].findIndex((id) => run.tokenizer.piece(id) === answer.label);
      for (const { of, tokens, gradient, leaveOneOut } of parts) {
        const scope = { encoder: "encoder", decoder: "decoder" }[run.model.model as string] ?? "model";
        const tap = parts.length > 1 ? `model/${of === "text" ? "encoder" : "decoder"}/embedded` : `${scope}/embedded`;
        const { [tap]: embedded } = await observe(run, reading, { taps: [tap] });
        const [, , width] = embedded.shape;
        expect([gradient.length, leaveOneOut.length]).toEqual([tokens.length, tokens.length]);
        for (const i of [0, tokens.length - 1]) {
          const scaled = (factor: number) =>
            Float32Array.from(embedded.data as Float32Array, (x, j) => (Math.floor(j / width) === i ? factor * x : x));
          const odds = async (factor: number) => oddsOf(await rowOf(tap, scaled(factor), embedded.shape), y);
          const slope = ((await odds(1.01)) - (await odds(0.99))) / 0.02;
          expect(Math.abs(slope - gradient[i])).toBeLessThan(0.02 * Math.abs(slope) + 3e-3);
          const without = Math.exp((await rowOf(tap, scaled(0), embedded.shape))[y]);
          expect(answer.probability - leaveOneOut[i]).toBeCloseTo(without, 5);
        }
      }
    },
  );

  it("is exact for a linear model of two labels: the shares of all tokens are the log-odds", async () => {
    const model = tensorFunction({ ids: int32(["batch", "time"]), targets: int32(["batch"]) }, (p, { ids, targets }) => {
      const table = p.param("tokens", [10, 4], normal(1));
      const embedded = embedding(table, ids); // [batch, time, 4]
      const scores = linear(sum(embedded, { axis: 1 }), p.param("weight", [4, 2], normal(3)));
      const odds = logOdds(scores, targets);
      return { odds, scores, embedded, gradient: grad(odds, [embedded])[0] };
    });
    const weights = initialise(parametersOf(model), chance(3));
    const compiled = compile(model, { device: nodeDevice({ threads: 1 }), symbols: "bound" });
    const { odds, scores, embedded, gradient } = await compiled.run(
      { ids: array("int32", [[1, 7, 7, 2]]), targets: array("int32", [1]) },
      { weights },
    );
    const shares = [0, 1, 2, 3].map((t) =>
      [0, 1, 2, 3].reduce((all, d) => all + Number(embedded.data[4 * t + d]) * Number(gradient.data[4 * t + d]), 0),
    );
    expect(Number(odds.data[0])).toBeCloseTo(Number(scores.data[1]) - Number(scores.data[0]), 4);
    expect(shares[1]).toBeCloseTo(shares[2], 6);
    expect(shares.reduce((a, b) => a + b)).toBeCloseTo(Number(odds.data[0]), 4);
    await compiled.release();
  });

  it("explains what is asked for, and says what there is to ask for", async () => {
    const classifier = await runOnce("classifier");
    const both = await Promise.all(["good", "bad"].map((label) => attributionOf(classifier, "a cat", { label })));
    expect(both.map(({ answer }) => [answer.of, answer.label])).toEqual([
      ["label", "good"],
      ["label", "bad"],
    ]);
    await expect(attributionOf(classifier, "a cat", { label: "godo" })).rejects.toThrow('no label is called "godo"; did you mean "good"?');
    await expect(attributionOf(classifier, "a cat", { position: 1 })).rejects.toThrow("a label belongs to the whole text");
    const decoder = await runOnce("decoder");
    const early = await attributionOf(decoder, "a cat", { position: 1 });
    expect([early.parts[0].tokens, early.answer.position]).toEqual([["a", " "], 1]);
    await expect(attributionOf(decoder, "a cat", { position: 9 })).rejects.toThrow("there is no position 9 to explain; there are 5");
    const translator = await runOnce("encoder–decoder");
    const { answer, parts } = await attributionOf(translator, "a cat", { target: "it", position: 1 });
    expect([answer.label, parts.map(({ of, tokens }) => [of, tokens.length])]).toEqual([
      "t",
      [
        ["text", 6],
        ["target", 2],
      ],
    ]);
  });
});

it("the highest places are those of a full sort", () => {
  const row = Float32Array.from({ length: 200 }, (_, i) => Math.round(6 * chance(4).fork("row").uniform(i)));
  const sorted = [...row.keys()].sort((a, b) => row[b] - row[a] || a - b);
  for (const count of [1, 5, 32, 33, 200, 300]) expect(highestPlaces(row, count)).toEqual(sorted.slice(0, count));
});
