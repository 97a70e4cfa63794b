import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { expectRefusal, outcome, Workplace } from "../support/command.ts";

// Words that are hidden in text are learned, by a new model and by one from elsewhere.

const place = new Workplace();
const models = join(import.meta.dirname, "../hub/models");
const animals = { cat: "meows", dog: "barks", bird: "sings", fish: "swims" };
const lines = Array.from({ length: 600 }, (_, i) => Object.entries(animals)[(i * 7 + (i >> 2)) % 4]).map(
  ([animal, does]) => `the ${animal} ${does} and the ${animal} ${does}`,
);
const small = "--task mlm --tokenizer word --layers 1 --heads 2 --width 32 --context 26 --batch 16 --lr 0.005 --threads 1 --quiet".split(
  " ",
);
const json = async (...args: string[]) => JSON.parse((await place.done(...args, "--json")).stdout);

beforeAll(async () => {
  place.write("a.txt", lines.map((line) => `${line}\n`).join(""));
  await place.done("train", "a.txt", ...small, "--steps", "300", "--eval-every", "60", "--save-every", "60", "--out", "run");
});

describe("a new model", () => {
  it("finds hidden words far better than chance", async () => {
    const { loss, perplexity, accuracy, tokens, examples } = await json("eval", "run");
    const { training, ...config } = JSON.parse(readFileSync(place.path("run/config.json"), "utf8"));
    expect(config).toMatchObject({ task: "mlm", model: { model: "encoder", task: "mlm", vocab: 14 } });
    expect(training).not.toHaveProperty("calibrate");
    expect(loss).toBeLessThan(0.7); // ln 10 = 2.3; a word whose partner is outside of its window cannot be known
    expect(accuracy).toBeGreaterThan(0.75);
    expect(perplexity).toBeCloseTo(Math.exp(loss), 6);
    expect(examples).toBe(17);
    expect(tokens).toBe(65); // about 15 % of 17 · 26
  });

  it("fills them in", async () => {
    const { results } = await json("fill", "run", "the cat <mask> and the <mask> meows", "--top", "1");
    expect(results[0].masks.map(([{ token }]: { token: string }[]) => token)).toEqual(["meows", "cat"]);
    expect(results[0].masks[0][0].text).toBe("the cat meows and the <mask> meows");
    expectRefusal(await place.qkv("generate", "run", "the"), 2, "use it with qkv fill\n");
  });

  it("validates with what eval measures", async () => {
    const log = readFileSync(place.path("run/log.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const last = log.filter(({ validLoss }) => validLoss !== undefined).at(-1);
    expect((await json("eval", "run")).loss).toBeCloseTo(last.validLoss, 5);
  });

  it("shows what may stand at a mask where others show what may come next", async () => {
    await place.done("look", "run", "the cat <mask> and the cat", "--view", "next", "--out", "next.json");
    const { candidates } = JSON.parse(readFileSync(place.path("next.json"), "utf8"));
    expect(candidates[0].token).toBe("meows");
  });

  it("goes on exactly where it was", async () => {
    cpSync(place.path("run"), place.path("again"), { recursive: true });
    rmSync(place.path("again/checkpoints/300"), { recursive: true });
    const { stderr } = await place.done("train", "--resume", "again");
    expect(stderr).toMatch(/^going on at step 240/m);
    expect(outcome(place.path("again"))).toEqual(outcome(place.path("run")));
  });

  it("is exported with its mask", async () => {
    await place.done("export", "run", "--to", "onnx", "--out", "shipped");
    expect(JSON.parse(readFileSync(place.path("shipped/tokenizer_config.json"), "utf8")).mask_token).toBe("<mask>");
    expect(readFileSync(place.path("shipped/README.md"), "utf8").match(/"Some [^"]+"/g)).toEqual(Array(3).fill('"Some <mask>."'));
    expect(readFileSync(place.path("shipped/README.md"), "utf8")).toMatch(
      /a\.txt: [\d,]+ bytes to train on.*\(perplexity [\d.]+ per hidden token\)/s,
    );
  });

  it("is a start for labels", async () => {
    place.write(
      "rows.tsv",
      `text\tlabel\n${Object.entries(animals)
        .map(([animal, does], i) => `the ${animal} ${does}\t${i % 2 ? "pet" : "other"}\n`)
        .join("")}`,
    );
    const flags = "--from run --batch 4 --steps 20 --valid-fraction 0 --threads 1 --quiet --out labels".split(" ");
    await place.done("train", "rows.tsv", ...flags);
    const learnedBy = (run: string) => JSON.parse(readFileSync(place.path(`${run}/config.json`), "utf8")).training;
    expect(learnedBy("run")).toMatchObject({ optimizer: "muon", lr: 0.005 });
    expect(learnedBy("labels")).toMatchObject({ optimizer: "adamw", lr: 5e-4 }); // as a new classifier, and half of its rate
    expect(learnedBy("labels")).not.toHaveProperty("momentum");
    const { results } = await json("classify", "labels", "the dog barks", "the cat meows");
    expect(results.map(({ label }: { label: string }) => label)).toEqual(["pet", "other"]);
  });
});

describe("what others would put around a text", () => {
  it("is not in the files that a run is shipped with, since it was not trained so", async () => {
    const json = JSON.parse(readFileSync(place.path("run/tokenizer.json"), "utf8"));
    const special_tokens = Object.fromEntries(["<s>", "</s>"].map((id, i) => [id, { id, ids: [1 + i], tokens: [id] }]));
    const [start, text, end] = [
      { SpecialToken: { id: "<s>", type_id: 0 } },
      { Sequence: { id: "A", type_id: 0 } },
      { SpecialToken: { id: "</s>", type_id: 0 } },
    ];
    const template = { type: "TemplateProcessing", single: [start, text, end], pair: [start, text, end], special_tokens };
    place.write("framed.json", JSON.stringify({ ...json, post_processor: template }));
    const flags = "--tokenizer framed.json --layers 1 --heads 2 --width 32 --batch 4 --steps 2 --threads 1 --quiet".split(" ");
    await place.done("train", "a.txt", ...flags, "--context", "16", "--out", "framed");
    for (const to of ["onnx", "hf"]) {
      await place.done("export", "framed", "--to", to, "--out", `framed-${to}`);
      expect(JSON.parse(readFileSync(place.path(`framed-${to}/tokenizer.json`), "utf8")).post_processor).toBeNull();
    }
  });
});

describe("where nothing can be hidden", () => {
  it("there is nothing to train on, to validate with or to measure", async () => {
    place.write("unknown.txt", "zzz yyy xxx www vvv uuu ttt sss\nqqq ppp\n");
    const none = /no token of the text( to validate with)? may be hidden/;
    expectRefusal(await place.qkv("train", "a.txt", ...small, "--valid", "unknown.txt", "--out", "none"), 1, none);
    expectRefusal(await place.qkv("eval", "run", "unknown.txt"), 1, none);
  });

  it("a step learns nothing, and its loss is a number", async () => {
    const few = Array.from({ length: 60 }, (_, i) => `only${i}`).join(" "); // words that are there once are left out
    place.write("mixed.txt", `${lines.slice(0, 40).join("\n")}\n${few}\n${lines.slice(0, 40).join("\n")}\n`);
    const flags = small.map((word, i) => (small[i - 1] === "--batch" ? "1" : word));
    const { loss } = await json("train", "mixed.txt", ...flags, "--vocab", "14", "--valid", "a.txt", "--steps", "60", "--out", "mixed");
    expect(loss).toBeGreaterThan(0);
    const steps = readFileSync(place.path("mixed/log.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(steps.filter(({ norm }) => norm !== undefined).map((step) => step.loss)).toContain(0);
  });
});

it("finds no word that is cut off with the end of its text", async () => {
  const long = Array(30).fill("cat").join(" ");
  expectRefusal(await place.qkv("fill", "run", `${long} <mask>`), 1, "lies beyond the 26 tokens that the model reads");
  expect((await json("fill", "run", `<mask> ${long}`)).results[0].masks).toHaveLength(1);
});

it("gets labels where its scores had weights of their own, and not beside an adapter", async () => {
  const short = ["--steps", "2", "--batch", "4", "--threads", "1", "--quiet"];
  await place.done("train", "a.txt", ...small, "--no-tie", "--steps", "2", "--out", "untied");
  await place.done("train", "rows.tsv", "--from", "untied", "--valid-fraction", "0", ...short, "--out", "untied-labels");
  expect((await json("classify", "untied-labels", "the dog barks")).results).toHaveLength(1);
  expect((await json("embed", "untied", "the dog barks")).results[0].vector).toHaveLength(32);
  await place.done("train", "a.txt", "--task", "mlm", "--from", "run", "--lora", "2", ...short, "--out", "adapter");
  expectRefusal(await place.qkv("train", "rows.tsv", "--from", "adapter", ...short, "--out", "none"), 2, "adapter is an adapter itself");
});

it("learns from the texts of rows, whatever else they have", async () => {
  place.write("rows.csv", `id,body,label\n${lines.map((line, i) => `${i},${line},x\n`).join("")}`);
  await place.done("train", "rows.csv", ...small, "--text-column", "body", "--steps", "4", "--out", "rows");
  expect((await json("eval", "rows", "rows.csv")).tokens).toBeGreaterThan(200);
  expectRefusal(
    await place.qkv("train", "rows.csv", ...small, "--out", "none"),
    1,
    'rows.csv, line 1: no column "text" (found "id", "body", "label")',
  );
});

it.each(["bert-mlm", "roberta-mlm"])("a model of others goes on: %s", async (name) => {
  const flags = "--task mlm --steps 30 --batch 8 --lr 0.003 --threads 1 --quiet --eval-every 10 --save-every 10".split(" ");
  await place.done("train", "a.txt", "--from", join(models, name), ...flags, "--out", name);
  const [before, after] = [await json("eval", join(models, name), "a.txt"), await json("eval", name, "a.txt")];
  expect(after.tokens).toBe(before.tokens);
  expect(after.loss).toBeLessThan(before.loss - 0.4);
});

it("says what cannot be", async () => {
  const refused = async (sentence: RegExp | string, ...args: string[]) =>
    expectRefusal(await place.qkv("train", "a.txt", "--task", "mlm", ...args, "--out", "none"), 2, sentence);
  await refused("--model decoder cannot do --task mlm; use --model encoder\n", "--model", "decoder");
  await refused(/bert-embed was trained for embed, and the data is for mlm/, "--from", join(models, "bert-embed"));
});
