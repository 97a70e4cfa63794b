import { describe, expect, it } from "vitest";
import { options } from "../../src/training/options.ts";
import { optionAt, settingsOf } from "../../studio/learn/begin/settings.ts";
import { starts } from "../../studio/learn/begin/starts.ts";

describe("what was typed", () => {
  it("becomes settings at their places, with what is empty left out", () => {
    expect(settingsOf({ lr: "3e-3", "model.width": "64", tokenizer: "char", "model.residual": "false", steps: " " }, options)).toEqual({
      lr: 0.003,
      model: { width: 64, residual: false },
      tokenizer: "char",
    });
  });

  it("that is no number stays what it is, so that whoever checks it can say so", () => {
    expect(settingsOf({ lr: "fast" }, options)).toEqual({ lr: "fast" });
  });

  it("of lists, weights and runs becomes these", () => {
    expect(settingsOf({ freeze: "decoder/tokens, decoder/block.0", classWeights: "a=2,b=1", from: "mine" }, options)).toEqual({
      freeze: ["decoder/tokens", "decoder/block.0"],
      classWeights: { a: 2, b: 1 },
      from: "/runs/mine",
    });
    expect(settingsOf({ classWeights: "balanced" }, options)).toEqual({ classWeights: "balanced" });
  });

  it("is found where a complaint about it belongs", () => {
    expect(optionAt("model.heads", options)).toBe("model.heads");
    expect(optionAt("freeze.0", options)).toBe("freeze");
    expect(optionAt("nothing", options)).toBeUndefined();
  });
});

describe("ready starts", () => {
  it("set options that there are, to values that they take", () => {
    for (const { name, settings } of starts)
      for (const [path, value] of Object.entries(settings)) {
        const option = options.find((one) => one.name === path);
        expect(option, `${name}: ${path}`).toBeDefined();
        if (option?.kind === "choice") expect(option.choices.map((one) => one.name)).toContain(value);
        if (option?.kind === "number") {
          expect(Number(value)).toBeGreaterThanOrEqual(option.from);
          expect(Number(value)).toBeLessThanOrEqual(option.to);
        }
      }
  });
});
