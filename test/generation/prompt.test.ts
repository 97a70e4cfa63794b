import { describe, expect, it } from "vitest";
import { type PromptOptions, promptOf } from "../../src/generation/prompt.ts";
import { type ModelConfig, modelConfig } from "../../src/models/any.ts";
import { type TokenizerKind, tokenizerKinds, trainTokenizer } from "../../src/tokens/index.ts";
import { beginning, separator } from "../../src/trained/reading.ts";
import { prose } from "../tokens/oracles.ts";

const vocabs = { char: undefined, byte: undefined, word: 80, bpe: 400, wordpiece: 350, unigram: 400 };
const train = (kind: TokenizerKind, text = prose) => trainTokenizer(kind, [text], { vocab: vocabs[kind] });
const char = await train("char");
const sizes = { layers: 1, width: 8, context: 10, vocab: char.size };
const decoder = modelConfig({ model: "decoder", heads: 2, ...sizes });
const reader = modelConfig({ model: "encoder-decoder", heads: 2, ...sizes });
const rnn = modelConfig({ model: "rnn", task: "lm", ...sizes });

/** A prompt, and what was said about it. */
function prompted(text: string, model: ModelConfig = decoder, options: PromptOptions = {}) {
  const said: string[] = [];
  const { ids, source } = promptOf(text, { model, tokenizer: char }, { warn: (sentence) => said.push(sentence), ...options });
  return { text: char.decode(Array.from(ids)), source: source && char.decode(source), said };
}

describe("a prompt", () => {
  it("as long as the context is read whole", () => {
    expect(prompted("Call me Is", decoder, { strict: true })).toEqual({ text: "Call me Is", source: undefined, said: [] });
  });

  it("that is longer gives up its beginning, or is refused", () => {
    expect(prompted("Call me Ishmael")).toEqual({
      text: "me Ishmael",
      source: undefined,
      said: ["the prompt has 15 tokens, and the context 10: its first 5 tokens are dropped"],
    });
    expect(() => prompted("Call me Ishmael", decoder, { strict: true })).toThrow(
      "the prompt has 15 tokens, and the context 10; shorten it, or leave out strict to use its last 10 tokens",
    );
  });

  it("of an RNN language model has any length", () => {
    expect(prompted("Call me Ishmael", rnn, { strict: true })).toMatchObject({ text: "Call me Ishmael", said: [] });
  });

  it("with characters that are not known counts them", () => {
    expect(prompted("až𝒳").said).toEqual(["2 tokens of the prompt are not in the vocabulary and count as unknown"]);
  });

  it("with half a surrogate pair reads it as U+FFFD", () => {
    expect(prompted("a\ud800b").said).toEqual(["1 token of the prompt is not in the vocabulary and counts as unknown"]);
    expect(prompted("a\udc00b").text).toBe("ab");
  });

  it("without tokens is refused", async () => {
    const word = await train("word");
    const model = modelConfig({ model: "decoder", heads: 2, ...sizes, vocab: word.size });
    expect(() => promptOf(" \n ", { model, tokenizer: word })).toThrow(
      'the prompt " \\n " has no tokens in this vocabulary; write something else',
    );
  });
});

describe("an empty prompt", () => {
  it.each(tokenizerKinds)("of a %s tokenizer starts where a text could", async (kind) => {
    const tokenizer = await train(kind);
    const model = modelConfig({ model: "decoder", heads: 2, ...sizes, vocab: tokenizer.size });
    const start = kind === "char" || kind === "byte" ? tokenizer.encode("\n")[0] : tokenizer.end;
    expect([...Array.from(promptOf("", { model, tokenizer }).ids)]).toEqual([start]);
    expect([...Array.from(promptOf(new Int32Array(0), { model, tokenizer }).ids)]).toEqual([start]);
  });

  it("of characters begins as training separates documents: with a space where there is no new line", async () => {
    for (const [text, wanted] of [
      ["a b c", " "],
      ["ab\nc", "\n"],
    ]) {
      const tokenizer = await train("char", text);
      const model = modelConfig({ model: "decoder", heads: 2, ...sizes, vocab: tokenizer.size });
      expect(Array.from(promptOf("", { model, tokenizer }).ids)).toEqual([separator(tokenizer)]);
      expect(tokenizer.decode([separator(tokenizer) as number])).toBe(wanted);
    }
  });

  it("of characters with neither begins with what scoring puts before a text", async () => {
    const tokenizer = await train("char", "abc");
    expect(separator(tokenizer)).toBeUndefined();
    expect(Array.from(promptOf("", { model: decoder, tokenizer }).ids)).toEqual([beginning(tokenizer)]);
  });

  it("is nothing to translate", () => {
    expect(() => promptOf("", { model: reader, tokenizer: char })).toThrow("there is nothing to translate in an empty text");
    expect(() => promptOf(new Int32Array(0), { model: reader, tokenizer: char })).toThrow("there is nothing to translate in an empty text");
  });
});

describe("a source", () => {
  it("ends with </s>, and is answered from <s>", () => {
    const { ids, source = [] } = promptOf("Call", { model: reader, tokenizer: char });
    expect([Array.from(ids), [...source]]).toEqual([[char.start], [...char.encode("Call"), char.end]]);
  });

  it("that is too long keeps its beginning, or is refused", () => {
    expect(prompted("Call me Ishmael", reader)).toEqual({
      text: "",
      source: "Call me Is",
      said: ["the source has 16 tokens, and the context 10: its last 6 tokens are dropped"],
    });
    expect(() => prompted("Call me Ishmael", reader, { strict: true })).toThrow("the source has 16 tokens, and the context 10; shorten it");
  });
});

describe("token ids", () => {
  it.each([-1, char.size, 2 ** 31 - 1])("of which %i is none are refused", (id) => {
    expect(() => promptOf(Int32Array.of(3, id), { model: decoder, tokenizer: char })).toThrow(
      `the token id ${id} is not in the vocabulary, which goes from 0 to ${char.size - 1}`,
    );
  });

  it("that are no whole numbers are refused, where a caller has no types", () => {
    for (const id of [Number.NaN, 1.5, Infinity])
      expect(() => promptOf([3, id] as unknown as Int32Array, { model: decoder, tokenizer: char })).toThrow(
        `the token id ${id} is not in the vocabulary`,
      );
  });

  it("of a source are those of its own vocabulary", () => {
    const own = modelConfig({ model: "encoder-decoder", heads: 2, ...sizes, sourceVocab: 5 });
    expect(() => promptOf(Int32Array.of(5), { model: own, tokenizer: char })).toThrow(
      "the token id 5 is not in the vocabulary, which goes from 0 to 4",
    );
  });
});
