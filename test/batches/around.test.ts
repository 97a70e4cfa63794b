import { describe, expect, it } from "vitest";
import { cut, encodePairs, encodeTagged, encoding } from "../../src/batches/encode.ts";
import { loadTokenizer, type Tokenizer, unframed } from "../../src/tokens/index.ts";
import bart from "../hub/models/bart/tokenizer.json" with { type: "json" };
import bert from "../hub/models/bert-tag/tokenizer.json" with { type: "json" };
import t5 from "../hub/models/t5/tokenizer.json" with { type: "json" };

// What the tokenizer of a model from elsewhere wants around a text is there wherever examples become ids.

const pieces = (tokenizer: Tokenizer, ids: Int32Array): string =>
  Array.from(ids, (id) => tokenizer.piece(id).replace(/^[▁ ]/, "_")).join(" ");

describe("texts in their frame", () => {
  const tokenizer = loadTokenizer(bert, "bert");
  const classify = (given: Tokenizer) => encoding("classify", given, ["a", "b"]).encode([{ text: "The dogs ran", label: "b" } as never]);

  it("are read as [CLS] … [SEP]", () => {
    const [example] = classify(tokenizer);
    expect("ids" in example && pieces(tokenizer, example.ids)).toBe("[CLS] the dog ##s ran [SEP]");
  });

  it("stay as they are for a tokenizer without one", () => {
    const [example] = classify(unframed(tokenizer));
    expect("ids" in example && pieces(tokenizer, example.ids)).toBe("the dog ##s ran");
  });

  it("have tags on the first pieces of words alone", () => {
    const [{ ids, tags }] = encodeTagged([{ text: "The dogs ran", tags: ["O", "B", "O"] } as never], tokenizer, ["O", "B"]);
    expect(pieces(tokenizer, ids)).toBe("[CLS] the dog ##s ran [SEP]");
    expect([...tags]).toEqual([-1, 0, 1, -1, 0, -1]);
  });

  it("end as they should when they are cut, and without a tag there", () => {
    const examples = encodeTagged([{ text: "The dogs ran", tags: ["O", "B", "O"] } as never], tokenizer, ["O", "B"]);
    const { examples: shorter, count } = cut(examples, 4, tokenizer);
    expect(count).toBe(1);
    expect(pieces(tokenizer, shorter[0].ids)).toBe("[CLS] the dog [SEP]");
    expect([...shorter[0].tags]).toEqual([-1, 0, 1, -1]);
    expect(pieces(tokenizer, cut(examples, 4).examples[0].ids)).toBe("[CLS] the dog ##s");
  });
});

describe("sources and targets", () => {
  it("end with </s>, and the decoder begins with its own token", () => {
    const tokenizer = { ...loadTokenizer(t5, "t5"), start: 0 };
    const [{ source, target, targets }] = encodePairs([{ source: "the cat", target: "a dog" } as never], tokenizer);
    expect(pieces(tokenizer, source)).toBe("_the _cat </s>");
    expect(pieces(tokenizer, target)).toBe("<pad> _a _dog");
    expect(pieces(tokenizer, targets)).toBe("_a _dog </s>");
  });

  it("have both ends where the file says so", () => {
    const tokenizer = { ...loadTokenizer(bart, "bart"), start: 2 };
    const [{ source, target, targets }] = encodePairs([{ source: "at", target: "on" } as never], tokenizer);
    expect([source, target, targets].map((ids) => pieces(tokenizer, ids))).toEqual(["<s> at </s>", "</s> <s> on", "<s> on </s>"]);
  });
});
