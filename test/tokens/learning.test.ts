import { describe, expect, it } from "vitest";
import { framed } from "../../src/tokens/frame.ts";
import { loadTokenizer, parseTokenizer, saveTokenizer, type Tokenizer, trainTokenizer } from "../../src/tokens/index.ts";
import { learnPieces } from "../../src/tokens/unigram-training.ts";
import { oracles } from "./oracles.ts";

// Vocabularies that can be checked by hand.

const times = (count: number, word: string): string[] => new Array<string>(count).fill(word);
const classic = [...times(5, "low"), ...times(2, "lower"), ...times(6, "newest"), ...times(3, "widest")];
const pieces = (tokenizer: Tokenizer, text: string): string[] => [...tokenizer.encode(text)].map((id) => tokenizer.piece(id));
const modelOf = (tokenizer: Tokenizer) => (tokenizer.json as { model: { merges: string[][]; vocab: Record<string, number> } }).model;

describe("bpe", () => {
  it("merges the most frequent pair first, and the smaller bytes among equals", async () => {
    const tokenizer = await trainTokenizer("bpe", classic);
    const merged = ["es", "est", "lo", "low", "ew", "new", "newest", "dest", "idest", "widest", "er", "lower"];
    expect(modelOf(tokenizer).merges.map((pair) => pair.join(""))).toEqual(merged);
    expect(tokenizer.size).toBe(2 + 256 + merged.length); // no other pair occurs twice
    expect(pieces(tokenizer, "lowest newer")).toEqual(["low", "est", " ", "new", "er"]);
  });

  it("merges overlapping pairs from the left", async () => {
    const tokenizer = await trainTokenizer("bpe", ["aaaaa", "aaa"], { vocab: 259 });
    expect(modelOf(tokenizer).merges).toEqual([["a", "a"]]);
    expect(pieces(tokenizer, "aaa")).toEqual(["aa", "a"]);
  });

  it("reads merges of both spellings", async () => {
    const tokenizer = await trainTokenizer("bpe", classic);
    const json = JSON.parse(saveTokenizer(tokenizer));
    json.model.merges = json.model.merges.map((pair: string[]) => pair.join(" "));
    expect(pieces(loadTokenizer(json, "spaces"), "lower")).toEqual(["lower"]);
  });
});

describe("char, word and wordpiece", () => {
  it("char has every character in the order of code points, or the most frequent ones", async () => {
    const all = await trainTokenizer("char", ["banana 🙂", "c\n"]);
    expect(modelOf(all).vocab).toEqual({ "<unk>": 0, "<s>": 1, "</s>": 2, "\n": 3, " ": 4, a: 5, b: 6, c: 7, n: 8, "🙂": 9 });
    expect(modelOf(await trainTokenizer("char", ["banana 🙂", "c\n"], { vocab: 6 })).vocab).toEqual({
      ...{ "<unk>": 0, "<s>": 1, "</s>": 2 },
      ...{ "\n": 3, a: 4, n: 5 },
    });
  });

  it("word has the most frequent words and runs of signs", async () => {
    const tokenizer = await trainTokenizer("word", ["b a, a; c __proto__ constructor"], { vocab: 7 });
    expect(Object.entries(modelOf(tokenizer).vocab).map(([word]) => word)).toEqual(["<unk>", "<s>", "</s>", "a", ",", ";", "__proto__"]);
    expect([...tokenizer.encode("a constructor, __proto__")]).toEqual([3, 0, 4, 6]);
    expect(tokenizer.decode([3, 0, 4, 6])).toBe("a , __proto__");
  });

  it("wordpiece has all characters, first in a word and inside it, and then merges", async () => {
    const tokenizer = await trainTokenizer("wordpiece", [...times(3, "ab."), "abc"], { vocab: 12 });
    const expected = ["<unk>", "<s>", "</s>", ".", "a", "b", "c", "##a", "##b", "##c", "ab", "abc"];
    expect(Object.keys(modelOf(tokenizer).vocab)).toEqual(expected.slice(0, 11)); // ab + ##c occurs only once
    expect(pieces(tokenizer, "abcab. b z")).toEqual(["ab", "##c", "##a", "##b", ".", "b", "<unk>"]);
    expect(tokenizer.decode(tokenizer.encode("abcab . b z"))).toBe("abcab. b");
  });

  it("wordpiece takes the longest piece from the left, and knows a word wholly or not at all", () => {
    const tokens = ["<unk>", "<s>", "</s>", "un", "##aff", "##able", "##a", "##ff", "unaff"];
    const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
    const tokenizer = loadTokenizer(framed("wordpiece", { vocab }), "by hand");
    expect(pieces(tokenizer, "unaffable unffable unb")).toEqual(["unaff", "##able", "un", "##ff", "##able", "<unk>"]);
  });
});

describe("unigram", () => {
  const byHand = (scores: Record<string, number>): Tokenizer => {
    const bytes = JSON.parse(saveTokenizer(byteTokenizer)).model.vocab as Record<string, number>;
    const singles = Object.keys(bytes).map((token) => [token, token.length === 1 ? -10 : 0]);
    const sorted = singles.sort(([a], [b]) => bytes[a] - bytes[b]);
    return loadTokenizer(framed("unigram", { vocab: [...sorted, ...Object.entries(scores)] }), "by hand");
  };
  const byteTokenizer = parseTokenizer(JSON.stringify(framed("byte", { vocab: byteVocab(), merges: [] })), "bytes");

  it("takes the pieces with the largest sum of scores, and among equals the longest last one, as the packages do", async () => {
    const cases: [Record<string, number>, string[]][] = [
      [{ ab: -3, bc: -4 }, ["ab", "c"]], // -13 and -14
      [{ ab: -3, bc: -2.5 }, ["a", "bc"]], // -13 and -12.5
      [{ ab: -3, bc: -3 }, ["a", "bc"]],
      [{ ab: -3, bc: -3, abc: -13.5 }, ["a", "bc"]],
      [{ ab: -3, bc: -3, abc: -12.5 }, ["abc"]],
    ];
    for (const [scores, expected] of cases) {
      const tokenizer = byHand(scores);
      expect(pieces(tokenizer, "abc")).toEqual(expected);
      for (const ids of await oracles(saveTokenizer(tokenizer)).ids("abc")) expect(ids).toEqual([...tokenizer.encode("abc")]);
    }
  });

  it("learns the pieces that explain the words", async () => {
    const words = Object.entries({ hug: 10, pug: 5, pun: 12, bun: 4, hugs: 5 });
    const learned = await learnPieces(
      words.map(([word, count]) => [new TextEncoder().encode(word), 100 * count] as const),
      256 + 4,
    );
    const names = learned.slice(256).map(({ bytes }) => new TextDecoder().decode(bytes));
    expect(names).toEqual(["hug", "pun", "pug", "bun"]); // whole words, but for hugs = hug + s
    const share = learned.reduce((sum, { score }) => sum + Math.exp(score), 0);
    expect(share).toBeGreaterThan(0.9); // digamma takes a little from the rare
    expect(share).toBeLessThanOrEqual(1);
  });
});

function byteVocab(): Record<string, number> {
  const printable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let next = 256;
  const letters = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
  return Object.fromEntries(["<s>", "</s>", ...letters].map((token, id) => [token, id]));
}

describe("a vocabulary of a given size", () => {
  it("is refused with the smallest possible number", async () => {
    const refused = (kind: Parameters<typeof trainTokenizer>[0], vocab: number) =>
      expect(trainTokenizer(kind, ["ab. cd"], { vocab })).rejects;
    await refused("char", 3).toThrow("at vocab: 3 does not fit; a char vocabulary is at least 4");
    await refused("byte", 300).toThrow("a byte vocabulary is always 258");
    await refused("word", 0).toThrow("a word vocabulary is at least 4");
    await refused("bpe", 257).toThrow("at vocab: 257 does not fit; a bpe vocabulary is at least 258: two special tokens and 256 bytes");
    await refused("wordpiece", 11).toThrow("a wordpiece vocabulary is at least 12: three special tokens and the 5 characters");
    await refused("unigram", 1.5).toThrow("a unigram vocabulary is at least 258");
    await refused("bpe", 1e7).toThrow("at most 1000000 and whole");
    await expect(trainTokenizer("bpee" as "bpe", [])).rejects.toThrow('at tokenizer: bpee is not a kind of tokenizer; did you mean "bpe"?');
    await refused("bpe", Number.NaN).toThrow("a bpe vocabulary is at least 258");
  });

  it("needs a text, unless it is made of bytes", async () => {
    for (const kind of ["char", "word", "wordpiece"] as const)
      await expect(trainTokenizer(kind, ["", " "].slice(0, kind === "char" ? 1 : 2))).rejects.toThrow("there is no text");
    for (const kind of ["byte", "bpe", "unigram"] as const) expect((await trainTokenizer(kind, [])).size).toBe(258);
  });
});
