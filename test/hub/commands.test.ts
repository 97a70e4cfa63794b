import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectRefusal, Workplace } from "../support/command.ts";

// Every command takes a folder of Hugging Face as it takes a run.

const place = new Workplace();
const model = (name: string): string => join(import.meta.dirname, "models", name);
const json = async (...words: string[]) => JSON.parse((await place.done(...words, "--json")).stdout);

place.write("moods.tsv", "text\tlabel\nthe cat sat\tbad\nwe like this film\tgood\n");
place.write("tags.tsv", "text\ttags\nthe dogs ran\tO B-X O\n");
place.write("pairs.tsv", "source\ttarget\nthe cat\ta dog\n");

describe("a folder of Hugging Face", () => {
  it("gives vectors", async () => {
    const { results } = await json("embed", model("bert-embed"), "the cat", "the dog");
    expect(results.map(({ text, vector }: { text: string; vector: number[] }) => [text, vector.length])).toEqual([
      ["the cat", 16],
      ["the dog", 16],
    ]);
    const [{ vector }] = (await json("embed", model("bert-embed"), "the cat", "--pool", "first", "--normalise")).results;
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  });

  it("fills in hidden words", async () => {
    const { results } = await json("fill", model("roberta-mlm"), "the <mask> and the <mask>", "--top", "2");
    expect(results[0].masks).toHaveLength(2);
    for (const candidates of results[0].masks)
      expect(candidates).toEqual(
        [0, 1].map(() => ({ token: expect.any(String), probability: expect.any(Number), text: expect.any(String) })),
      );
  });

  it("is looked into where it writes tokens that its tokenizer does not name", async () => {
    await place.done("look", model("t5"), "hello", "--out", "t5.html");
    expect(readFileSync(place.path("t5.html"), "utf8")).toMatch(/(<|\\u003c|&lt;)(58|59|60)(>|\\u003e|&gt;)/);
  });

  it("classifies, tags and translates", async () => {
    expect((await json("classify", model("distilbert-classify"), "the cat sat")).results[0].probabilities).toHaveProperty("fine");
    expect((await json("tag", model("bert-tag"), "the dogs ran")).results[0].tokens).toEqual(["the", "dogs", "ran"]);
    expect((await json("translate", model("marian"), "the cat", "--beams", "2")).results[0].source).toBe("the cat");
  });

  it("is measured on data that is given", async () => {
    expect(await json("eval", model("bert-classify"), "moods.tsv")).toMatchObject({ examples: 2, labels: ["bad", "fine", "good"] });
    expect(await json("eval", model("bert-tag"), "tags.tsv")).toHaveProperty("accuracy");
    expect(await json("eval", model("marian"), "pairs.tsv")).toMatchObject({ examples: 1 });
    expectRefusal(await place.qkv("eval", model("bert-classify")), 1, "what it was trained on is not known here");
  });

  it("is looked into, described and costed", async () => {
    const { tokens } = await json("look", model("bert-classify"), "the cat sat");
    expect(tokens).toEqual(["[CLS]", "the", "cat", "sat", "[SEP]"]);
    expect(await json("info", model("t5"))).toMatchObject({ task: "translate" });
    expect(await json("cost", model("bart"), "--length", "8", "--batch", "2")).toHaveProperty("parameters");
  });
});
