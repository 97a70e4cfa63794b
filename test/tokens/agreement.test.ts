import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTokenizer, saveTokenizer, tokenizerKinds, trainTokenizer } from "../../src/tokens/index.ts";
import { oracles, prose, unicodeText } from "./oracles.ts";

// Our own encoders, the `tokenizers` package and @huggingface/tokenizers must read the same file alike.

describe.each(tokenizerKinds)("a %s tokenizer", async (kind) => {
  const vocab = { char: undefined, byte: undefined, word: 80, bpe: 350, wordpiece: 240, unigram: 380 }[kind];
  const tokenizer = await trainTokenizer(kind, [prose], { vocab });
  const json = saveTokenizer(tokenizer);
  const packages = oracles(json);
  const loaded = parseTokenizer(json, "saved");

  const agree = async (text: string): Promise<void> => {
    const ids = [...tokenizer.encode(text)];
    for (const found of await packages.ids(text)) expect(found).toEqual(ids);
    expect([...loaded.encode(text)]).toEqual(ids);
    for (const decoded of await packages.texts(ids)) expect(decoded).toBe(tokenizer.decode(ids));
  };

  it("gives the same ids and the same text in all packages on prose", async () => {
    expect(tokenizer.size).toBe({ char: 3 + new Set(prose).size, byte: 258, word: 80, bpe: 350, wordpiece: 240, unigram: 380 }[kind]);
    for (const text of ["", prose, prose.repeat(3), "unseen žluťoučký kůň", "</s><s> x </s>"]) await agree(text);
  });

  it("gives the same ids and the same text in all packages on any Unicode", async () => {
    await fc.assert(fc.asyncProperty(unicodeText, agree), { numRuns: 200 });
  });

  it("decodes any ids as the packages do", async () => {
    const ids = fc.array(fc.nat(tokenizer.size - 1), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(ids, async (given) => {
        for (const decoded of await packages.texts(given)) expect(decoded).toBe(tokenizer.decode(given));
      }),
      { numRuns: 200 },
    );
  });

  it("keeps its kind, its size and its special ids when it is saved and loaded", () => {
    expect([loaded.kind, loaded.size, loaded.unknown, loaded.start, loaded.end]).toEqual([
      kind,
      tokenizer.size,
      tokenizer.unknown,
      tokenizer.start,
      tokenizer.end,
    ]);
    expect([...loaded.encode("<s></s>")]).toEqual([loaded.start, loaded.end]);
    expect(saveTokenizer(loaded)).toBe(json);
  });
});
