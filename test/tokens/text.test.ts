import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lastCut, saveTokenizer, type TokenizerKind, tokenizerKinds, trainTokenizer } from "../../src/tokens/index.ts";
import { prose, unicodeText } from "./oracles.ts";

const train = (kind: TokenizerKind, texts: Iterable<string> | AsyncIterable<string> = [prose]) =>
  trainTokenizer(kind, texts, { vocab: { char: undefined, byte: undefined, word: 80, bpe: 400, wordpiece: 350, unigram: 400 }[kind] });

describe.each(["byte", "bpe", "unigram"] as const)("%s tokens", async (kind) => {
  const tokenizer = await train(kind);

  it("lose nothing", () => {
    for (const texts of [unicodeText, fc.string({ unit: "binary" })]) {
      fc.assert(fc.property(texts, (text) => tokenizer.decode(tokenizer.encode(text)) === text.replace(/<\/?s>/g, "")));
    }
  });

  it("are named by their text, or by their bytes where those are no text", () => {
    const pieces = [...tokenizer.encode("</s> the 猫")].map((id) => tokenizer.piece(id));
    expect(pieces[0]).toBe("</s>");
    expect(pieces.slice(1).join("")).toMatch(/^ the (猫|\\xE7\\x8C\\xAB)$/);
  });
});

it("char tokens lose nothing that was seen, and tell how much was not", async () => {
  const tokenizer = await train("char");
  const seen = fc.array(fc.constantFrom(...prose), { maxLength: 50 }).map((characters) => characters.join(""));
  fc.assert(fc.property(seen, (text) => tokenizer.decode(tokenizer.encode(text)) === text));
  expect([...tokenizer.encode("žž𝒳")]).toEqual([0, 0, 0]);
});

describe.each(tokenizerKinds)("a %s tokenizer", async (kind) => {
  const tokenizer = await train(kind);

  it("gives the same ids in two parts that are cut where lastCut says", () => {
    fc.assert(
      fc.property(unicodeText, unicodeText, (a, b) => {
        const cut = lastCut(a);
        const parts = [...tokenizer.encode(a.slice(0, cut)), ...tokenizer.encode(a.slice(cut) + b)];
        expect(parts).toEqual([...tokenizer.encode(a + b)]);
      }),
      { numRuns: 300 },
    );
  });

  it("learns the same from the text in one piece or in many", async () => {
    const chunks: string[] = [];
    for (let rest = prose.repeat(4), length = 40; rest.length > 0; length += 7) {
      const cut = rest.length > length ? lastCut(rest.slice(0, length)) || rest.length : rest.length;
      chunks.push(rest.slice(0, cut));
      rest = rest.slice(cut);
    }
    expect(chunks.length).toBeGreaterThan(20);
    const whole = saveTokenizer(await train(kind, [prose.repeat(4)]));
    expect(saveTokenizer(await train(kind, chunks))).toBe(whole);
    expect(saveTokenizer(await train(kind, stream(chunks)))).toBe(whole);
  });

  it("takes lone surrogates for U+FFFD and refuses ids that it does not have", () => {
    expect([...tokenizer.encode("a\ud800b\udc00")]).toEqual([...tokenizer.encode("a\ufffdb\ufffd")]);
    expect(() => tokenizer.decode([tokenizer.size])).toThrow(
      `the token id ${tokenizer.size} is not in the vocabulary, which goes from 0 to`,
    );
    expect(() => tokenizer.piece(-1)).toThrow("the token id -1 is not in the vocabulary");
    expect([tokenizer.decode([]), [...tokenizer.encode("")]]).toEqual(["", []]);
  });

  it("takes a long text without whitespace", () => {
    for (const unit of ["a", "猫", "aB3+/", "\u0301"]) {
      const text = unit.repeat(100_000 / unit.length);
      const decoded = tokenizer.decode(tokenizer.encode(text));
      if (kind === "byte" || kind === "bpe" || kind === "unigram") expect(decoded === text).toBe(true);
    }
  });
});

it("cuts just before whitespace that follows something else", () => {
  expect(["", "a", " a", "a b", "a  b c", "a  ", "a\u0085", "a\ufeffb"].map(lastCut)).toEqual([0, 0, 0, 1, 4, 1, 1, 0]);
});

async function* stream(chunks: readonly string[]): AsyncGenerator<string> {
  yield* chunks;
}
