import { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { ConfigError, FormatError, type QkvError } from "../../src/base/errors.ts";
import { sentence, setting } from "../../src/base/sentence.ts";
import { inFlags, told } from "../../src/cli/flag-words.ts";
import { modelFlags } from "../../src/cli/flags.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";

function called(...args: readonly string[]): Command {
  const command = new Command("train").action(() => {});
  for (const { flags, description } of modelFlags) command.addOption(new Option(flags, description));
  return command.parse(args, { from: "user" });
}

function errorOf(settings: object): QkvError {
  try {
    modelConfig({ model: "decoder", vocab: 9, ...settings } as unknown as ModelInput);
  } catch (error) {
    return error as QkvError;
  }
  throw new Error("nothing was refused");
}

describe("an error, for whoever typed flags", () => {
  it.each<[object, string[], string]>([
    [{ layers: 0 }, ["--layers", "0"], "--layers: a whole number from 1 to 1,000 is wanted, not 0"],
    [
      { width: 16, heads: 3 },
      ["--heads", "3"],
      "--heads: a --width of 16 is not divisible into 3 heads; change one of them, or give --key-size and --value-size with split heads",
    ],
    [{ cell: "gru" }, ["--cell", "gru"], "--cell has no meaning for --model decoder; it is for --model rnn"],
    [{ attention: false }, ["--no-attention"], "--no-attention has no meaning for this model; it is for --model rnn"],
    [{ model: "rnn", attention: "linear" }, ["--attention", "linear"], "--attention has no meaning for this model"],
    [
      { model: "encoder", labels: 2, tie: false },
      ["--no-tie"],
      "--no-tie: an encoder in --task classify gives no scores of tokens; it has this in --task mlm, and decoder or encoder-decoder or rnn always",
    ],
    [
      { model: "encoder", labels: 2, scoreCap: 30, scoresCap: 30 },
      ["--softcap", "30"],
      "--softcap: an encoder in --task classify gives no scores of tokens; it has this in --task mlm, and decoder or encoder-decoder always",
    ],
    [
      { model: "rnn", scoreCap: 30 },
      ["--softcap", "30"],
      "--softcap has no meaning for --model rnn; it is for --model decoder or --model encoder or --model encoder-decoder",
    ],
    [{ vocab: 2e6 }, [], "at config.vocab: a whole number from 1 to 1,000,000 is wanted, not 2,000,000"], // no flag of this command
  ])("%j", (settings, args, words) => {
    expect(told(errorOf(settings), called(...args))).toBe(words);
  });

  it("names flags only where flags were typed: a file has settings", () => {
    const facts = { at: "config.layers" };
    expect(told(new FormatError("no", { ...facts, file: "config.json" }), called())).toBe("config.json: at config.layers: no");
    expect(told(new ConfigError("no", facts))).toBe("at config.layers: no");
    expect(told(new ConfigError(sentence`give ${setting("layers")}`, { path: "model.layers" }), called())).toBe("give --layers");
  });

  it("names no flag that there is not, and writes numbers as they are typed", () => {
    expect(inFlags(sentence`it has ${setting("crossPositions", true)}, not ${setting("crossPositions", false)}`)).toBe(
      "it has no --no-cross-positions, not --no-cross-positions",
    );
    expect(inFlags(sentence`it has ${setting("zeroInit", false)} and ${setting("tie", false)}`)).toBe("it has no --zero-init and --no-tie");
    expect(inFlags(sentence`${setting("qkNorm", false)} or ${setting("qkNorm", true)}`)).toBe("--no-qk-norm or --qk-norm"); // there are both
    expect(
      inFlags(sentence`${setting("qkNorm", true)}, ${setting("minutes", 0.02)}, ${setting("lr", 0.0005)}, ${setting("steps", 100000)}`),
    ).toBe("--qk-norm, --minutes 0.02, --lr 5e-4, --steps 100000");
  });
});
