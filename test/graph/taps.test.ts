import { describe, expect, it } from "vitest";
import { array, elementCount } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { int32 } from "../../src/graph/type.ts";
import { decoderConfig } from "../../src/models/config.ts";
import { decoder, decoderLoss } from "../../src/models/decoder.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";

const config = decoderConfig({ layers: 2, heads: 2, width: 8, context: 6, vocab: 7 });
const loss = decoderLoss(config);
const weights = initialise(parametersOf(loss), chance(3));
const numbers = (shift: number) =>
  array(
    "int32",
    Int32Array.from({ length: 12 }, (_, i) => (i * 5 + shift) % 7),
    [2, 6],
  );
const feeds = { ids: numbers(0), targets: numbers(3) };
const taps = ["decoder/block.0/attention/scores", "decoder/block.0/attention/pattern", "decoder/block.1/attention/pattern"];

describe("a tap", () => {
  it("is an extra output with the shape that attention has, and its rows sum to one", async () => {
    const result = await compile(loss, { taps }).run(feeds, { weights });
    const pattern = result["decoder/block.1/attention/pattern"];
    expect(pattern.shape).toEqual([2, 2, 6, 6]);
    for (let row = 0; row < 24; row++) {
      const values = Array.from(pattern.data as Float32Array).slice(row * 6, row * 6 + 6);
      expect(values.reduce((a, b) => a + b)).toBeCloseTo(1, 6);
      expect(values.slice((row % 6) + 1).every((value) => value === 0)).toBe(true); // nothing from the future
    }
  });

  it.each(taps)("that is patched with its own value changes nothing, bit for bit: %s", async (tap) => {
    const tapped = await compile(loss, { taps }).run(feeds, { weights });
    const others = taps.filter((name) => name !== tap);
    const patched = await compile(loss, { taps: others, patches: [tap] }).run({ ...feeds, [tap]: tapped[tap] }, { weights });
    expect(patched.loss.data).toEqual(tapped.loss.data);
    for (const name of others.filter((other) => other > tap)) expect(patched[name].data).toEqual(tapped[name].data);
  });

  it("that is patched with zeros equals the ablated model", async () => {
    const tap = "decoder/block.1/attention/pattern";
    const scores = tensorFunction({ ids: int32(["batch", "time"]) }, (p, { ids }) => ({ scores: decoder(p.at("decoder"), ids, config) }));
    const zeros = array("float32", new Float32Array(elementCount([2, 2, 6, 6])), [2, 2, 6, 6]);
    const patched = await compile(scores, { patches: [tap] }).run({ ids: feeds.ids, [tap]: zeros }, { weights });
    // A pattern of zeros mixes nothing: the same as an output projection of zeros, with its bias kept.
    const ablated = new ParameterBuffer(weights.layout, weights.data.slice());
    ablated.view("decoder/block.1/attention/out/weight").data.fill(0 as never);
    const expected = await compile(scores).run({ ids: feeds.ids }, { weights: ablated });
    expect(patched.scores.data).toEqual(expected.scores.data);
  });

  it("that is patched must have the tapped shape", async () => {
    const run = compile(loss, { patches: [taps[1]] });
    const wrong = array("float32", new Float32Array(4), [1, 1, 2, 2]);
    await expect(run.run({ ...feeds, [taps[1]]: wrong }, { weights })).rejects.toThrow(
      /the input "decoder\/block.0\/attention\/pattern" is float32\[1, 1, 2, 2\]: its axis 0 has size 1/,
    );
  });
});
