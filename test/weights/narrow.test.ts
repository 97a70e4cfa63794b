import { describe, expect, it } from "vitest";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";
import { decoderStep } from "../../src/models/decoder.ts";
import { encoderDecoderSteps } from "../../src/models/encoder-decoder.ts";
import { rnnStep } from "../../src/models/rnn.ts";
import { compile, nodeDevice } from "../../src/node/device.ts";
import type { Precision } from "../../src/runtime/device.ts";
import { unrounded } from "../../src/trained/baked.ts";
import { matricesOf } from "../../src/weights/quantise.ts";

// Matrices with fewer inputs than a block has are not rounded, and that is said.

const sizes = { layers: 2, heads: 2, vocab: 50 };
const said = (given: ModelInput, precision?: Precision) => unrounded({ model: modelConfig(given), device: nodeDevice({ precision }) });

describe("models that are not rounded, or only in part", () => {
  it("say how many of their matrices stay as they are", () => {
    // Each block has four: queries with keys and values, out, expand, contract; and there is the table of tokens. Only contract has 40 inputs.
    expect(said({ model: "decoder", ...sizes, width: 16, hidden: 40 }, "q4")).toEqual([
      "q4: 7 of 9 weight matrices have fewer than 32 inputs and stay as they are",
    ]);
    expect(said({ model: "decoder", ...sizes, width: 16, hidden: 20 }, "q4")).toEqual([
      "q4 changes nothing: all 9 weight matrices have fewer than 32 inputs and stay as they are",
    ]);
    // Of an RNN's six matrices, the one that joins its state with what attention found has twice as many inputs.
    expect(said({ model: "rnn", vocab: 50, width: 16 }, "q4")).toEqual([
      "q4: 5 of 6 weight matrices have fewer than 32 inputs and stay as they are",
    ]);
    expect(said({ model: "encoder", ...sizes, width: 16, hidden: 20, labels: 2 }, "q8")[0]).toContain("q8 changes nothing");
  });

  it("and others say nothing", () => {
    for (const model of ["decoder", "encoder-decoder"] as const) expect(said({ model, ...sizes, width: 32 }, "q4")).toEqual([]);
    expect(said({ model: "rnn", vocab: 50, width: 32 }, "q4")).toEqual([]);
    expect(said({ model: "decoder", ...sizes, width: 8 })).toEqual([]);
    expect(said({ model: "decoder", ...sizes, width: 8 }, "f32")).toEqual([]);
  });
});

it("the matrices that are counted are those of the graphs that run", async () => {
  const narrowIn = async (...functions: Parameters<typeof compile>[0][]) => {
    const graphs = await Promise.all(
      functions.map((fn) => compile(fn, { symbols: "open", bind: "count" in fn.inputs ? { time: 1 } : {} }).graph()),
    );
    const found = graphs.map(matricesOf);
    const names = (of: "all" | "narrow") => new Set(found.flatMap((one) => one[of])).size;
    return `${names("narrow")} of ${names("all")}`;
  };
  const given = { ...sizes, width: 16, hidden: 40 };
  expect(said({ model: "decoder", ...given }, "q4")[0]).toContain(await narrowIn(decoderStep(given)));
  const { encode, next } = encoderDecoderSteps(given);
  expect(said({ model: "encoder-decoder", ...given }, "q4")[0]).toContain(await narrowIn(encode, next));
  expect(said({ model: "rnn", task: "lm", vocab: 50, width: 16 }, "q4")[0]).toContain(
    `all ${(await narrowIn(rnnStep({ task: "lm", vocab: 50, width: 16 }))).split(" ")[2]}`,
  );
});
