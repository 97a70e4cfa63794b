import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";
import { moods, rhyme } from "./samples.ts";

// A wrong flag or value is wrong usage: exit code 2, and a sentence in the words of the command line, not of config.json.

const place = new Workplace();

beforeAll(() => {
  place.write("a.txt", rhyme);
  place.write("a.tsv", moods);
});

describe("wrong usage", () => {
  it.each<[string, string[], RegExp]>([
    ["an unknown command", ["trian"], /unknown command 'trian'\n\(Did you mean train\?\)/],
    ["an unknown flag", ["train", "a.txt", "--stpes", "3"], /unknown option '--stpes'\n\(Did you mean --steps\?\)/],
    ["a missing run", ["info"], /give the folder of a run, or --devices/],
    ["a missing value", ["eval", "run", "--threads"], /option '--threads <n>' argument missing/],
    [
      "an unknown choice",
      ["train", "a.txt", "--positions", "rotory"],
      /'--positions <kind>' argument 'rotory' is invalid\. Allowed choices are learned, sinusoidal, rotary, alibi, relative, none\./,
    ],
    [
      "heads of keys that do not fit those of queries",
      ["train", "a.txt", "--heads", "4", "--kv-heads", "3"],
      /--kv-heads: 3 heads of keys and values cannot serve 4 heads of queries equally; --kv-heads must divide --heads: 1, 2, 4/,
    ],
    ["an unknown task", ["train", "a.txt", "--task", "speak"], /Allowed choices are lm, classify, tag, translate, mlm\./],
    [
      "a word for a number",
      ["train", "a.txt", "--lr", "fast"],
      /'--lr <rate>' argument 'fast' is invalid\. a number from 0 on is wanted\./,
    ],
    ["a negative number", ["train", "a.txt", "--lr", "-1"], /'--lr <rate>' argument '-1' is invalid/],
    [
      "half a step",
      ["train", "a.txt", "--steps", "1.5"],
      /'--steps <n>' argument '1\.5' is invalid\. a whole number from 1 on is wanted\./,
    ],
    ["no steps", ["train", "a.txt", "--steps", "0"], /a whole number from 1 on is wanted\./],
    ["a share above 1", ["train", "a.txt", "--dropout", "1.5"], /a share from 0 to below 1 is wanted\./],
    ["a rate beyond sense", ["train", "a.txt", "--lr", "1e30"], /--lr/],
    ["a width beyond sense", ["train", "a.txt", "--width", "1000000"], /--width/],
    ["layers beyond sense", ["train", "a.txt", "--layers", "1000000"], /--layers/],
    ["too many threads", ["train", "a.txt", "--threads", "5000"], /--threads/],
    ["an unknown recipe", ["train", "--recipe", "boook"], /there is no recipe called "boook"; did you mean "book"\?/],
    [
      "a recipe with data",
      ["train", "a.txt", "--recipe", "book"],
      /a recipe has its own data, so a\.txt and --recipe book cannot go together/,
    ],
    ["an unknown preset", ["train", "a.txt", "--preset", "gpt9"], /there is no preset called "gpt9"; did you mean "gpt2"\?/],
    ["an unknown tokenizer", ["train", "a.txt", "--tokenizer", "bpee"], /there is no tokenizer called "bpee"; did you mean "bpe"\?/],
    ["--full without a recipe", ["train", "a.txt", "--full"], /--full is for recipes/],
    [
      "a model that cannot do the task",
      ["train", "a.txt", "--model", "encoder"],
      /--model encoder cannot do --task lm; use --model decoder or --model rnn\n/,
    ],
    ["another that cannot", ["train", "a.tsv", "--model", "decoder"], /--model decoder cannot do --task classify; use --model encoder\n/],
    ["heads that do not divide the width", ["train", "a.txt", "--width", "16", "--heads", "3"], /--heads.*--width|--width.*--heads/],
    ["a flag of another model", ["train", "a.txt", "--bidirectional"], /--bidirectional.*(rnn|decoder)/],
    ["a cell without an rnn", ["train", "a.txt", "--cell", "lstm"], /--cell.*(rnn|decoder)/],
    ["--no-attention without an rnn", ["train", "a.txt", "--no-attention"], /--no-attention.*(rnn|decoder)/],
    ["data with --resume", ["train", "--resume", "run", "a.txt"], /a\.txt cannot be given together with --resume/],
    ["another rate with --resume", ["train", "--resume", "run", "--lr", "1"], /--lr cannot be changed when a run goes on; only --steps/],
  ])("%s", async (_, args, sentence) => {
    const result = await place.qkv(...args, ...(args.includes("--resume") || args[0] !== "train" ? [] : ["--out", "new"]));
    expectRefusal(result, 2, sentence);
    expect(result.stderr).not.toMatch(/at config\.|expected number|unknown key/);
    expect(existsSync(place.path("new"))).toBe(false);
  });
});

it("says which flags a run was trained with in its folder's config, and the flags win over the preset", async () => {
  const { stdout } = await place.done("train", "a.txt", "--preset", "gpt2", ...tiny, "--seed", "7", "--json", "--quiet", "--out", "preset");
  expect(JSON.parse(stdout).steps).toBe(6);
  const { model, training } = JSON.parse((await place.done("info", "preset", "--json")).stdout);
  expect([model.layers, model.heads, model.width, model.context, training.steps, training.seed]).toEqual([1, 1, 16, 16, 6, 7]);
});
