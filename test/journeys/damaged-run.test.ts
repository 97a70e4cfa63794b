import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { expectRefusal, type Result, tiny, Workplace } from "../support/command.ts";
import { moods, rhyme } from "./samples.ts";

// Whatever is wrong with a run's files is said with the file and the place in it.

const place = new Workplace();
let copies = 0;

beforeAll(async () => {
  place.write("a.txt", rhyme);
  place.write("other.txt", `${rhyme}one`); // nobody has trained on it
  place.write("a.tsv", moods);
  await place.done("train", "a.txt", ...tiny, "--out", "run");
  await place.done("train", "a.tsv", ...tiny, "--out", "moods");
});

/** A copy of the run with one of its files changed. */
function damaged(name: string, change: (text: string) => string | Uint8Array): string {
  const run = `copy-${copies++}`;
  cpSync(place.path("run"), place.path(run), { recursive: true });
  const file = place.path(run, name);
  writeFileSync(file, change(readFileSync(file, "utf8")));
  return run;
}

const withConfig = (change: (config: Record<string, Record<string, unknown>>) => void): string =>
  damaged("config.json", (text) => {
    const config = JSON.parse(text);
    change(config);
    return JSON.stringify(config);
  });

/** Ended by force where it does not end. */
async function patiently(...args: readonly string[]): Promise<Result> {
  const running = place.start(...args);
  const patience = setTimeout(() => running.signal("SIGKILL"), 10_000);
  const result = await running.ended;
  clearTimeout(patience);
  return result;
}

describe.each(["info", "eval"])("qkv %s", (command) => {
  it.each<[string, () => string, string]>([
    ["a config.json that is not JSON", () => damaged("config.json", () => "{ nonsense"), "FormatError: %/config.json: not JSON ("],
    ["an empty config.json", () => damaged("config.json", () => ""), "FormatError: %/config.json: not JSON ("],
    ["a config.json cut short", () => damaged("config.json", (text) => text.slice(0, 300)), "FormatError: %/config.json: not JSON ("],
    [
      "an unknown key of the model",
      () => withConfig(({ model }) => Object.assign(model, { postions: "rotary" })),
      'FormatError: %/config.json: at config.model.postions: unknown key; did you mean "positions"?\n',
    ],
    [
      "an unknown key of the training",
      () => withConfig(({ training }) => Object.assign(training, { stpes: 3 })),
      'FormatError: %/config.json: at config.training.stpes: unknown key; did you mean "steps"?\n',
    ],
    [
      "a wrong type",
      () => withConfig(({ training }) => Object.assign(training, { steps: "many" })),
      "FormatError: %/config.json: at config.training.steps: a whole number from 1 to 1,000,000,000 is wanted, not a string\n",
    ],
    [
      "an unknown model",
      () => withConfig(({ model }) => Object.assign(model, { model: "decodr" })),
      'FormatError: %/config.json: at config.model.model: there is no model called "decodr"; did you mean "decoder"?\n',
    ],
    [
      "heads that do not divide the width",
      () => withConfig(({ model }) => Object.assign(model, { heads: 3 })),
      "FormatError: %/config.json: at config.model.heads: a width of 16 is not divisible into 3 heads",
    ],
    [
      "a task that the model cannot do",
      () => withConfig((config) => Object.assign(config, { task: "classify", labels: ["a", "b"] })),
      "FormatError: %/config.json: at config.task: ",
    ],
    ["a config of a million layers", () => withConfig(({ model }) => Object.assign(model, { layers: 1_000_000 })), "FormatError: %/"],
    [
      "a tokenizer.json that is not JSON",
      () => damaged("tokenizer.json", () => "{ nonsense"),
      "FormatError: %/tokenizer.json is not JSON: ",
    ],
    [
      "another tokenizer",
      () => damaged("tokenizer.json", () => readFileSync(place.path("moods/tokenizer.json"))),
      "RunError: %/tokenizer.json is not the tokenizer that the model was trained with",
    ],
    [
      "weights that are something else",
      () => damaged("model.safetensors", () => "<html>not found</html>"),
      "FormatError: %/model.safetensors: ",
    ],
    ["empty weights", () => damaged("model.safetensors", () => ""), "FormatError: %/model.safetensors: 0 bytes are too few"],
  ])("refuses %s", async (_, make, sentence) => {
    const run = make();
    const args =
      command === "eval"
        ? [run, /"task":\s*"lm"/.test(readFileSync(place.path(run, "config.json"), "utf8")) ? "other.txt" : "a.tsv"]
        : [run];
    const result = await patiently(command, ...args);
    expect(result.stderr.startsWith(sentence.replace("%", run)), result.stderr.slice(0, 400)).toBe(true);
    expectRefusal(result, 1, /./);
  });
});

it("refuses weights that are cut short, or of another model, when they are needed", async () => {
  const short = damaged("model.safetensors", () => readFileSync(place.path("run/model.safetensors")));
  truncateSync(place.path(short, "model.safetensors"), 5000);
  expectRefusal(
    await place.qkv("eval", short),
    1,
    /^FormatError: copy-\d+\/model\.safetensors: the tensors take \d+ bytes, and the file has \d+ after its header; it was cut short\n$/,
  );
  const other = damaged("model.safetensors", () => readFileSync(place.path("moods/model.safetensors")));
  expectRefusal(await place.qkv("eval", other), 1, `FormatError: ${other}/model.safetensors: the parameter "decoder/tokens" is missing`);
});

it("refuses to build a model of 10^13 parameters for a small file of weights", async () => {
  const wide = withConfig(({ model }) => Object.assign(model, { width: 1_000_000 }));
  expectRefusal(await patiently("eval", wide), 1, new RegExp(`^FormatError: ${wide}/`));
});

it("repairs missing weights from the checkpoint when the run goes on", async () => {
  await place.done("train", "a.txt", ...tiny, "--valid-fraction", "0", "--out", "last");
  const weights = readFileSync(place.path("last/model.safetensors"));
  rmSync(place.path("last/model.safetensors"));
  expectRefusal(
    await place.qkv("eval", "last", "other.txt"),
    1,
    "RunError: last has no model.safetensors; if its training has not come to a first save, go on with: qkv train --resume last\n",
  );
  await place.done("train", "--resume", "last");
  expect(readFileSync(place.path("last/model.safetensors"))).toEqual(weights);
});
