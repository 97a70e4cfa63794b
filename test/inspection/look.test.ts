import { describe, expect, it } from "vitest";
import { elementCount } from "../../src/base/arrays.ts";
import { look } from "../../src/inspection/look.ts";
import { matches, taps } from "../../src/inspection/taps.ts";
import { inputs, runOf } from "./models.ts";

describe("the taps of a model", () => {
  it("are listed with their axes, those that only appear when asked for too", async () => {
    const { model } = await runOf({ ...inputs.decoder, layers: 1 });
    expect(taps(model)).toEqual([
      { name: "decoder/embedded", axes: ["time", "width"] },
      { name: "decoder/positioned", axes: ["time", "width"] },
      { name: "decoder/block.0/norm1/normed", axes: ["time", "width"] },
      { name: "decoder/block.0/attention/q", axes: ["head", "query", "size"] },
      { name: "decoder/block.0/attention/k", axes: ["head", "key", "size"] },
      { name: "decoder/block.0/attention/v", axes: ["head", "key", "size"] },
      { name: "decoder/block.0/attention/scores", axes: ["head", "query", "key"] },
      { name: "decoder/block.0/attention/pattern", axes: ["head", "query", "key"] },
      { name: "decoder/block.0/attention/mixed", axes: ["head", "query", "size"] },
      { name: "decoder/block.0/attention/out", axes: ["time", "width"] },
      { name: "decoder/block.0/attention/added", axes: ["time", "width"] },
      { name: "decoder/block.0/norm2/normed", axes: ["time", "width"] },
      { name: "decoder/block.0/feedforward/hidden", axes: ["time", "hidden"] },
      { name: "decoder/block.0/feedforward/out", axes: ["time", "width"] },
      { name: "decoder/block.0/feedforward/added", axes: ["time", "width"] },
      { name: "decoder/block.0/output", axes: ["time", "width"] },
      { name: "decoder/norm/normed", axes: ["time", "width"] },
    ]);
    const rnn = await runOf(inputs["rnn with attention"]);
    expect(taps(rnn.model)).toEqual([
      { name: "model/encoder/embedded", axes: ["time", "width"] },
      { name: "model/encoder/layer.0/output", axes: ["time", "width"] },
      { name: "model/decoder/embedded", axes: ["time", "width"] },
      { name: "model/decoder/layer.0/output", axes: ["time", "width"] },
      { name: "model/attention/scores", axes: ["head", "query", "key"] },
      { name: "model/attention/pattern", axes: ["head", "query", "key"] },
      { name: "model/attention/context", axes: ["time", "width"] },
      { name: "model/joined", axes: ["time", "width"] },
    ]);
  });

  it.each(["decoder", "classifier", "class token", "tagger", "encoder–decoder", "rnn with attention"] as const)(
    "can all be looked at (%s), each with the sizes that its axes say",
    async (name) => {
      const run = await runOf(inputs[name]);
      const target = name === "encoder–decoder" || name === "rnn with attention" ? "it" : undefined;
      const { activations, tokens, targetTokens } = await look(run, "a cat", ["*"], { target });
      expect([...activations.keys()]).toEqual(taps(run.model).map((tap) => tap.name));
      for (const { name: tap, axes, shape, data } of activations.values()) {
        expect(axes).toHaveLength(shape.length);
        expect(data).toHaveLength(elementCount(shape));
        const written = targetTokens !== undefined && !tap.includes("encoder/");
        const sizes: Record<string, number> = {
          head: name === "rnn with attention" ? 1 : 2,
          size: 4,
          width: 8,
          hidden: 32,
          query: written ? targetTokens.length : tokens.length,
          key: written && !/\/cross\/|^model\/attention/.test(tap) ? targetTokens.length : tokens.length,
          time: written ? targetTokens.length : tokens.length,
        };
        expect([tap, ...shape]).toEqual([tap, ...axes.map((axis) => sizes[axis])]);
      }
    },
  );

  it("have names in which * stands for any characters", () => {
    expect(matches("decoder/block.*/output", "decoder/block.11/output")).toBe(true);
    expect(matches("*pattern", "model/attention/pattern")).toBe(true);
    expect(matches("a*", "a")).toBe(true);
    expect(matches("a*a", "a")).toBe(false);
    expect(matches("*b*b", "abcb")).toBe(true);
    expect(matches("decoder", "decoder/x")).toBe(false);
    expect(matches("*x".repeat(5000), "x".repeat(4000))).toBe(false); // at once, not after years
  });

  it("that do not exist are named, with the ones that do", async () => {
    await expect(look(await runOf(inputs.decoder), "a", ["decoder/block.0/attention/patern"])).rejects.toThrow(
      'no tap is called "decoder/block.0/attention/patern"; did you mean "decoder/block.0/attention/pattern"?',
    );
    const { activations } = await look(await runOf({ ...inputs.tagger, layers: 0 }), "a", ["*"]);
    expect([...activations.keys()]).toEqual(["encoder/embedded", "encoder/positioned", "encoder/norm/normed", "encoder/states"]);
  });
});
