import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { expectRefusal, Workplace } from "../support/command.ts";
import { asTsv } from "./samples.ts";

// Labels as people who know scikit-learn expect them, with the real commands.

const place = new Workplace();
const small = "--layers 1 --heads 2 --width 16 --batch 16 --threads 1 --quiet".split(" ");
const draw = chance(5);
const line = async (...args: readonly string[]) => JSON.parse((await place.done(...args, "--json")).stdout);
const config = (run: string) => JSON.parse(readFileSync(place.path(`${run}/config.json`), "utf8"));

const words = {
  delivery: ["parcel", "courier", "late", "depot"],
  payment: ["card", "invoice", "refund", "charged"],
  urgent: ["now", "immediately", "asap", "hurry"],
};
type Word = keyof typeof words;
const filler = ["the", "my", "please", "why", "about", "with", "you", "help"];

/** A text of eight words; each of the labels gives it about one. */
function text(labels: readonly Word[], seed: number): string {
  const own = draw.fork(seed);
  const said = labels.map((label, i) => words[label][own.integer(i, 4)]);
  return Array.from({ length: 8 }, (_, i) => said[i - 2] ?? filler[own.integer(10 + i, 8)]).join(" ");
}

describe("a rare class", () => {
  const labelOf = (i: number): Word => (i % 20 === 0 ? "urgent" : i % 2 ? "delivery" : "payment");
  // Of four texts with a word of the rare class one is of it: the likeliest label is another, unless the rare one counts more.
  const rows = Array.from({ length: 400 }, (_, i) => ({
    text: text([0, 2, 4, 6].includes(i % 20) ? ["payment", "urgent"] : [labelOf(i)], i),
    label: labelOf(i),
  }));
  const flags = ["--steps", "60", "--lr", "1e-2", "--valid-fraction", "0.25"];

  beforeAll(async () => {
    place.write("tickets.tsv", asTsv(rows));
    await place.done("train", "tickets.tsv", ...small, ...flags, "--out", "plain");
    await place.done("train", "tickets.tsv", ...small, ...flags, "--class-weights", "balanced", "--calibrate", "none", "--out", "balanced");
  });

  it("is found more often with balanced weights, which config.json keeps", async () => {
    const [plain, balanced] = [await line("eval", "plain"), await line("eval", "balanced")];
    const recall = ({ classes }: { classes: { label: string; recall: number }[] }) =>
      classes.find(({ label }) => label === "urgent")?.recall;
    expect(recall(balanced)).toBeGreaterThan(recall(plain) ?? 1);
    const weights: number[] = config("balanced").training.classWeights;
    expect(weights).toHaveLength(3);
    expect(weights[2]).toBeGreaterThan(4);
    expect(config("plain").training.classWeights).toBeUndefined();
    const again = await place.done("train", "--resume", "balanced", "--steps", "64", "--quiet");
    expect(again.code).toBe(0);
    expect(config("balanced").training.classWeights).toEqual(weights);
  });

  it("is held out in the same share as the others, and the rule is written down", async () => {
    const measures = await line("eval", "plain");
    const support = Object.fromEntries(
      measures.classes.map(({ label, support: count }: { label: string; support: number }) => [label, count]),
    );
    const shares = Object.entries(support).map(([label, count]) => {
      const all = new Set(rows.filter((row) => row.label === label).map((row) => row.text)).size;
      return (count as number) / all;
    });
    for (const share of shares) expect(Math.abs(share - 0.25)).toBeLessThan(0.05);
    expect(config("plain").data.source.split).toBe("stratified");
    expect(Object.keys(measures)).toEqual(
      expect.arrayContaining(["accuracy", "f1", "confusion", "classes", "macro", "weighted", "ece", "examples", "seconds"]),
    );
    expect(measures.macro.f1).toBe(measures.f1);
  });

  it("is drawn, and printed as a table", async () => {
    const { stdout, stderr } = await place.done("eval", "plain", "--out", "pictures/confusion.svg");
    expect(stdout).toMatch(/^urgent +\d\.\d{4} +\d\.\d{4} +\d\.\d{4} +\d+$/m);
    expect(stdout).toMatch(/^true \\ found {2}delivery {2}payment {2}urgent$/m);
    expect(stderr).toContain("wrote pictures/confusion.svg");
    expect(readFileSync(place.path("pictures/confusion.svg"), "utf8")).toMatch(/^<svg .*<title>Confusion of plain: 3 labels/);
    expectRefusal(await place.qkv("eval", "plain", "--out", "confusion.pdf"), 2, "the confusion can be written as .svg or .png");
  });

  it("gives probabilities that were fitted to what was held out, and the same answers", async () => {
    const kept = JSON.parse(readFileSync(place.path("plain/calibration.json"), "utf8"));
    expect(kept.ece).toBeLessThanOrEqual(kept.eceBefore + 0.02);
    expect((await line("info", "plain")).calibration).toEqual(kept);
    expect((await line("eval", "plain")).temperature).toBe(kept.temperature);
    const texts = rows.slice(0, 8).map((row) => row.text);
    const calibrated = (await line("classify", "plain", ...texts)).results;
    writeFileSync(place.path("plain/calibration.json"), JSON.stringify({ ...kept, step: kept.step + 1 })); // of other weights: counts for nothing
    const raw = (await line("classify", "plain", ...texts)).results;
    expect((await line("eval", "plain")).temperature).toBeUndefined();
    for (const [i, { label, probabilities }] of calibrated.entries()) {
      expect(label).toBe(raw[i].label);
      const powers = Object.values<number>(raw[i].probabilities).map((p) => p ** (1 / kept.temperature)); // softmax(x/T) ∝ softmax(x)^(1/T)
      const total = powers.reduce((a, b) => a + b);
      for (const [j, p] of Object.values<number>(probabilities).entries()) expect(p).toBeCloseTo(powers[j] / total, 5);
    }
    writeFileSync(place.path("plain/calibration.json"), "{}");
    expectRefusal(
      await place.qkv("classify", "plain", "a"),
      1,
      /calibration\.json: not a calibration .*remove the file to use the model without/,
    );
    await place.done("train", "--resume", "balanced", "--quiet");
    expect((await line("info", "balanced")).calibration).toBeUndefined();
  });

  it("warns of what was trained on", async () => {
    const { stderr } = await place.qkv("eval", "balanced", "tickets.tsv", "--json");
    const { data } = config("balanced");
    expect(stderr).toMatch(/warning: the run was trained on (\d+) of these 400 examples, so this says little about new ones/);
    expect(Number(/trained on (\d+) of/.exec(stderr)?.[1])).toBeGreaterThanOrEqual(data.train);
    expect((await place.qkv("eval", "balanced", "--json")).stderr).toBe("");
  });

  it("refuses weights of labels that are not there, and for what has no labels", async () => {
    const wrong = await place.qkv("train", "tickets.tsv", ...small, "--class-weights", "urgnt=3", "--out", "x");
    expectRefusal(wrong, 2, 'there is no label "urgnt" to give a weight with --class-weights; did you mean "urgent"?');
    place.write("pairs.tsv", asTsv(Array.from({ length: 30 }, (_, i) => ({ source: `${i}`, target: `${i}` }))));
    expectRefusal(
      await place.qkv("train", "pairs.tsv", ...small, "--class-weights", "balanced", "--out", "x"),
      2,
      "--class-weights is for classify and tag",
    );
    expectRefusal(
      await place.qkv("train", "tickets.tsv", "--class-weights", "urgent"),
      2,
      "balanced, none, or labels with weights above 0",
    );
  });
});

describe("several labels", () => {
  const all = Object.keys(words) as Word[];
  const rows = Array.from({ length: 300 }, (_, i) => {
    const labels = all.filter((_, place_) => draw.fork("set").integer(10 * i + place_, 5) < 2);
    return { text: text(labels, 1000 + i), labels };
  });

  beforeAll(async () => {
    place.write("topics.jsonl", rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    await place.done("train", "topics.jsonl", ...small, "--steps", "150", "--lr", "1e-2", "--out", "topics");
  });

  it("are learned, resumed, measured and described", async () => {
    expect(config("topics").model.labelling).toBe("several");
    await place.done("train", "--resume", "topics", "--steps", "160", "--quiet");
    const { best, calibration } = await line("info", "topics");
    expect(calibration.step).toBe(best.step);
    const measures = await line("eval", "topics");
    expect(measures.accuracy).toBeGreaterThan(0.8);
    expect(measures.microF1).toBeGreaterThan(0.9);
    expect(measures.f1).toBeGreaterThan(0.9);
    expect(measures.confusion).toHaveLength(3);
    expect(measures.labels).toEqual(["delivery", "payment", "urgent"]);
    expect((await place.done("eval", "topics")).stdout).toMatch(/^micro average +\d/m);
    expect((await place.done("info", "topics")).stdout).toContain("classify, any number of 3 labels: delivery, payment, urgent");
    expect((await line("cost", "topics")).parameters).toBeGreaterThan(0);
    expect((await place.done("look", "topics", "my parcel now", "--layer", "0", "--head", "0")).stdout).toContain("parcel");
    expectRefusal(await place.qkv("eval", "topics", "--out", "c.svg"), 2, "do not exclude each other");
  });

  it("are given where their probability is at least a half, the likeliest first", async () => {
    const texts = [
      "the my parcel now please why about help",
      "the my please why about with you help",
      "the my card late about with you help",
    ];
    const { results } = await line("classify", "topics", ...texts);
    expect(results.map(({ labels }: { labels: string[] }) => labels.toSorted())).toEqual([
      ["delivery", "urgent"],
      [],
      ["delivery", "payment"],
    ]);
    for (const { text: said, label, labels, probabilities } of results) {
      expect(texts).toContain(said);
      const order = Object.entries<number>(probabilities).sort(([, a], [, b]) => b - a);
      expect(label).toBe(order[0][0]);
      expect(labels).toEqual(order.filter(([, p]) => p >= 0.5).map(([name]) => name));
    }
    const { candidates } = await line("look", "topics", texts[0], "--view", "next");
    for (const { token, probability } of candidates) expect(probability).toBeCloseTo(results[0].probabilities[token], 4);
    expect((await place.done("classify", "topics", texts[1])).stdout).toMatch(/^\(none\)\t/);
  });

  it("are refused where a file has one for each text only", async () => {
    place.write("single.tsv", "text\tlabel\nmy parcel\tdelivery\n");
    expectRefusal(await place.qkv("eval", "topics", "single.tsv"), 1, 'no column "labels"');
  });
});

it("reads upper and lower case, and forms of Unicode, alike when it is asked to", async () => {
  const rows = Array.from({ length: 80 }, (_, i) => ({
    text: `${i % 2 ? "Café" : "TEA"} number ${i % 7}`,
    label: i % 2 ? "coffee" : "tea",
  }));
  place.write("drinks.tsv", asTsv(rows.map((row, i) => ({ ...row, text: `${row.text} ${i}` }))));
  await place.done(
    "train",
    "drinks.tsv",
    ...small,
    "--steps",
    "30",
    "--lr",
    "1e-2",
    "--lowercase",
    "--normalize",
    "nfkc",
    "--out",
    "drinks",
  );
  const { results } = await line("classify", "drinks", "CAFE\u0301 number 3", "café number 3", "ｔｅａ number 3");
  expect(results.map(({ label }: { label: string }) => label)).toEqual(["coffee", "coffee", "tea"]);
  expect(results[0].probabilities).toEqual(results[1].probabilities);
  expect(JSON.parse(readFileSync(place.path("drinks/tokenizer.json"), "utf8")).normalizer.type).toBe("Sequence");
  expect((await line("info", "drinks")).tokenizer).toMatchObject({ lowercase: true, normalize: "nfkc" });
  expectRefusal(
    await place.qkv("train", "drinks.tsv", "--tokenizer", "drinks/tokenizer.json", "--lowercase", "--out", "x"),
    2,
    "--lowercase is for a tokenizer that is trained; drinks/tokenizer.json has its own",
  );
});

it("measures the spans that tags mark", async () => {
  const names = ["Ada", "Kurt", "Emmy"];
  const towns = ["New York", "San Remo", "Los Gatos"];
  const rows = Array.from({ length: 90 }, (_, i) => ({
    text: `${names[i % 3]} went to ${towns[Math.floor(i / 3) % 3]} in ${i}`,
    tags: "B-PER O O B-LOC I-LOC O O",
  }));
  place.write("spans.tsv", asTsv(rows));
  await place.done("train", "spans.tsv", ...small, "--steps", "60", "--lr", "1e-2", "--class-weights", "balanced", "--out", "spans");
  expect(config("spans").training.classWeights).toHaveLength(4);
  expect(config("spans").data.source.split).toBeUndefined(); // tags have no classes to hold out by
  const measures = await line("eval", "spans");
  expect([measures.spanF1, measures.spanPrecision, measures.spanRecall]).toEqual([1, 1, 1]);
  expect(measures.spans.map(({ type, support }: { type: string; support: number }) => [type, support])).toEqual([
    ["LOC", measures.examples],
    ["PER", measures.examples],
  ]);
  expect((await place.done("eval", "spans")).stdout).toMatch(/^PER +1\.0000/m);
});

it("says that BLEU means little where targets are single words", async () => {
  place.write("sounds.tsv", asTsv(Array.from({ length: 40 }, (_, i) => ({ source: `a${i}`, target: `b${i}` }))));
  await place.done("train", "sounds.tsv", ...small, "--steps", "4", "--tokenizer", "char", "--out", "sounds");
  const { stdout, stderr } = await place.done("eval", "sounds", "--json");
  expect(JSON.parse(stdout).bleu).toBe(0);
  expect(stderr).toMatch(/targets have fewer than 4 words, and BLEU counts runs of up to 4: exact, chrf and the error rates say more here/);
});

it("warns of equal texts with different labels and of classes that are too small, and of text that was trained on", async () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({ text: `text ${i}`, label: i % 2 ? "a" : "b" }));
  place.write("doubts.tsv", asTsv([...rows, { text: "text 3", label: "b" }, { text: "one", label: "rare" }]));
  const { stderr } = await place.done("train", "doubts.tsv", ...small, "--steps", "2", "--out", "doubts");
  const file = place.path("doubts.tsv");
  expect(stderr).toContain(
    `warning: 1 text has different labels in different places, such as "text 3": ${file}, line 5 "a", ${file}, line 42 "b"\n`,
  );
  expect(stderr).toContain('warning: 1 class has fewer than 5 examples, too few to be surely trained on and validated with: "rare" (1)\n');
  place.write("rhyme.txt", "one two buckle my shoe\n".repeat(40));
  await place.done("train", "rhyme.txt", ...small, "--context", "16", "--steps", "2", "--out", "rhyme");
  expect((await place.done("eval", "rhyme", "rhyme.txt")).stderr).toContain("warning: the run was trained on rhyme.txt");
  expect((await place.done("eval", "rhyme")).stderr).toBe("");
});
