import fc from "fast-check";
import { Tokenizer as Native } from "tokenizers";
import { describe, expect, it } from "vitest";
import { encodeTagged, tagUnits } from "../../src/batches/encode.ts";
import { parseTokenizer, saveTokenizer, tokenizerKinds, trainTokenizer } from "../../src/tokens/index.ts";
import { normalForms } from "../../src/tokens/normaliser.ts";
import { prose, unicodeText } from "./oracles.ts";

// What a tokenizer does to a text before it cuts it: the same as the `tokenizers` package does with the same file.

const ways = normalForms.flatMap((normalize) => [false, true].map((lowercase) => ({ normalize, lowercase })));
const changing = ways.filter(({ normalize, lowercase }) => lowercase || normalize !== "none");
const vocab = { char: undefined, byte: undefined, word: 80, bpe: 350, wordpiece: 240, unigram: 380 } as const;
const odd = "ΟΔΥΣΣΕΥΣ ﬁne İstanbul e\u0301 É ２ ① x\u00a0y Å Ω 한 ㍿ ǅ <S> <s>A</s> ẞ";

describe.each(tokenizerKinds)("a %s tokenizer", (kind) => {
  it.each(changing)("that reads %o gives the ids of the tokenizers package", async (way) => {
    const tokenizer = await trainTokenizer(kind, [prose, odd], { vocab: vocab[kind], ...way });
    const json = saveTokenizer(tokenizer);
    const native = Native.fromString(json);
    const loaded = parseTokenizer(json, "saved");
    expect(loaded.kind).toBe(kind);
    expect(saveTokenizer(loaded)).toBe(json);
    const agree = async (text: string) => {
      const ids = [...loaded.encode(text)];
      expect(ids).toEqual((await native.encode(text, null, { addSpecialTokens: false })).getIds());
      expect(await native.decode(ids, true)).toBe(loaded.decode(ids));
    };
    for (const text of [prose, odd, ""]) await agree(text);
    await fc.assert(fc.asyncProperty(unicodeText, agree), { numRuns: 40 });
  });
});

describe("reading in another way", () => {
  it("makes texts the same that only look different", async () => {
    const tokenizer = await trainTokenizer("word", ["the cafe\u0301 is fine"], { lowercase: true, normalize: "nfkc" });
    expect(tokenizer.encode("The CAFÉ is ﬁne")).toEqual(tokenizer.encode("the cafe\u0301 is fine"));
    expect(tokenizer.decode(tokenizer.encode("THE CAFÉ"))).toBe("the café");
    expect(tokenizer.normalised?.("CAFÉ")).toBe("café");
    expect((await trainTokenizer("word", ["a"])).normalised).toBeUndefined();
  });

  it("is null in tokenizer.json where nothing is asked for, and Hugging Face's own words elsewhere", async () => {
    const normalizer = async (way: object) => (await trainTokenizer("char", ["ab"], way)).json;
    expect(await normalizer({})).toMatchObject({ normalizer: null });
    expect(await normalizer({ lowercase: true })).toMatchObject({ normalizer: { type: "Lowercase" } });
    expect(await normalizer({ normalize: "nfc" })).toMatchObject({ normalizer: { type: "NFC" } });
    expect(await normalizer({ normalize: "nfkc", lowercase: true })).toMatchObject({
      normalizer: { type: "Sequence", normalizers: [{ type: "NFKC" }, { type: "Lowercase" }] },
    });
  });

  it("leaves tags with their words and characters, however many tokens become of them", async () => {
    const words = await trainTokenizer("word", ["fine İstanbul x"], { lowercase: true, normalize: "nfkc" });
    expect(tagUnits("ﬁne İSTANBUL ㍿", words)).toHaveLength(3);
    const characters = await trainTokenizer("char", ["fine"], { lowercase: true, normalize: "nfkc" });
    expect(tagUnits("ﬁNE", characters).map((ids) => characters.decode(ids))).toEqual(["fi", "n", "e"]);
    const [{ ids, tags }] = encodeTagged([{ text: "ﬁNE", tags: ["a", "b", "a"] }], characters, ["a", "b"]);
    expect([ids.length, [...tags]]).toEqual([4, [0, -1, 1, 0]]);
  });
});
