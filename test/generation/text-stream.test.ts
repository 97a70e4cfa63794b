import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TextStream } from "../../src/generation/text-stream.ts";
import { type Tokenizer, type TokenizerKind, tokenizerKinds, trainTokenizer } from "../../src/tokens/index.ts";
import { prose, unicodeText } from "../tokens/oracles.ts";

const vocabs = { char: undefined, byte: undefined, word: 80, bpe: 400, wordpiece: 350, unigram: 400 };
const train = (kind: TokenizerKind): Promise<Tokenizer> => trainTokenizer(kind, [prose], { vocab: vocabs[kind] });
const [bytes, words] = [await train("byte"), await train("word")];

const halves = /\p{Surrogate}/u;
/** Text without U+FFFD: at the end, that sign of a text cannot be told from the beginning of a character. */
const plainText = unicodeText.map((text) => text.replace(/\uFFFD/g, ""));
/** A character that was never finished is not text. */
const finished = (text: string): string => text.replace(/\uFFFD+$/, "");

/** The text that was wanted, all but an unfinished end; of bytes that are no character, some may have come before it. */
function expectSame(found: string, wanted: string): void {
  expect(finished(found)).toBe(finished(wanted));
  expect(wanted.startsWith(found)).toBe(true);
}

/** What is given out token by token, and in the end. */
function pieces(stream: TextStream, tokens: Iterable<number>): string[] {
  return [...Array.from(tokens, (token) => stream.push(token)), stream.end()];
}

describe.each(tokenizerKinds)("a stream of %s tokens", async (kind) => {
  const tokenizer = await train(kind);
  const token = fc.nat(tokenizer.size - 1);
  // Special tokens too: models say them, and many in a row.
  const tokens = fc.array(fc.oneof(token, fc.constantFrom(0, 1)), { maxLength: 40 });

  it("gives the text of its tokens in whole characters", () => {
    fc.assert(
      fc.property(unicodeText, (text) => {
        const ids = tokenizer.encode(text);
        const found = pieces(new TextStream(tokenizer), ids);
        expectSame(found.join(""), tokenizer.decode(ids));
        for (const piece of found) expect(piece).not.toMatch(halves);
        if (!tokenizer.decode(ids).includes("\uFFFD")) for (const piece of found) expect(piece).not.toContain("\uFFFD");
      }),
      { numRuns: 200 },
    );
  });

  it("reads on from a prompt, whatever the tokens", () => {
    fc.assert(
      fc.property(plainText, tokens, (prompt, ids) => {
        const before = tokenizer.encode(prompt);
        const stream = new TextStream(tokenizer, before);
        const found = pieces(stream, ids);
        const wanted = tokenizer.decode([...before, ...ids]).slice(tokenizer.decode(before).length);
        expectSame(found.join(""), wanted);
        expect(stream.text).toBe(found.join(""));
      }),
      { numRuns: 300 },
    );
  });

  it("never gives half a character, even after a prompt that ends in one", () => {
    fc.assert(
      fc.property(tokens, tokens, (before, ids) => {
        for (const piece of pieces(new TextStream(tokenizer, before), ids)) expect(piece).not.toMatch(halves);
      }),
      { numRuns: 300 },
    );
  });

  it("ends before the first stop string that is complete, and has given nothing of it", () => {
    const cuts = fc.array(fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 9 })), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(plainText, cuts, (text, places) => {
        const ids = tokenizer.encode(text);
        const whole = Array.from(tokenizer.decode(ids));
        const stops = places.map(([at, length]) => whole.slice(at, at + length).join("")).filter((stop) => stop !== "");
        const stream = new TextStream(tokenizer, [], stops);
        const found = pieces(stream, ids).join("");
        expect(found).toBe(cutAtFirst(tokenizer, ids, stops));
        expect(stops.some((stop) => found.includes(stop))).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});

/** The text up to a stop string, the slow way: everything is read again after every token. */
function cutAtFirst(tokenizer: Tokenizer, ids: Int32Array, stops: readonly string[]): string {
  for (let count = 1; count <= ids.length; count++) {
    const decoded = tokenizer.decode(ids.subarray(0, count));
    if (decoded.endsWith("\uFFFD") && count < ids.length) continue;
    const text = finished(decoded);
    const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
    if (found.length > 0) return text.slice(0, Math.min(...found));
  }
  return finished(tokenizer.decode(ids));
}

describe("by hand", () => {
  const stream = (stops: readonly string[] = []) => new TextStream(bytes, [], stops);
  const streamed = (text: string, stops: readonly string[]): string[] => pieces(stream(stops), bytes.encode(text));

  it("a character of four bytes comes with the last of them", () => {
    expect(streamed("a🙂b", [])).toEqual(["a", "", "", "", "🙂", "b", ""]);
  });

  it("an unfinished character is left out; bytes that are none become U+FFFD once something follows", () => {
    const broken = bytes.encode("🙂").subarray(0, 3);
    expect(pieces(stream(), [...bytes.encode("a"), ...broken])).toEqual(["a", "", "", "", ""]);
    expect(pieces(stream(), [...broken, ...bytes.encode("a")])).toEqual(["", "", "", "\uFFFDa", ""]);
  });

  it("bytes that are no character are given out while they come, and a character after them stays whole", () => {
    const [half] = bytes.encode("é");
    const found = pieces(stream(), [...Array.from({ length: 50 }, () => half), ...bytes.encode("🙂")]);
    expect(found.slice(0, 6)).toEqual(["", "", "", "\uFFFD", "\uFFFD", "\uFFFD"]);
    expect(found.join("")).toBe(`${"\uFFFD".repeat(50)}🙂`);
    expect(found.some((piece) => halves.test(piece))).toBe(false);
  });

  it("a character that the prompt began is given whole", () => {
    const smile = bytes.encode("🙂");
    for (const cut of [1, 2, 3]) expect(pieces(new TextStream(bytes, smile.subarray(0, cut)), smile.subarray(cut)).join("")).toBe("🙂");
  });

  it("what may become a stop string waits, and is given if it does not", () => {
    expect(streamed("a\n\nb", ["\n\n"])).toEqual(["a", "", "", "", ""]);
    expect(streamed("a\nb", ["\n\n"])).toEqual(["a", "", "\nb", ""]);
    expect(streamed("a\n", ["\n\n"])).toEqual(["a", "", "\n"]);
    expect(streamed("aaab", ["aab"]).join("")).toBe("a");
  });

  it("of stop strings that overlap, the one that is complete first counts", () => {
    expect(streamed("xabc", ["ab", "abc"]).join("")).toBe("x");
    expect(streamed("xabc", ["abc", "ab"]).join("")).toBe("x");
    expect(streamed("xabc", ["bc", "abd"])).toEqual(["x", "", "", "a", ""]);
  });

  it("a stop string within one token cuts it", async () => {
    const bpe = await train("bpe");
    const [token] = bpe.encode(" myself");
    expect(bpe.piece(token).length).toBeGreaterThan(2);
    const one = new TextStream(bpe, [], [bpe.piece(token).slice(1, 2)]);
    expect(one.push(token)).toBe(" ");
    expect(one.stopped).toBe(true);
    expect(one.push(token)).toBe("");
    expect(one.end()).toBe("");
    expect(one.text).toBe(" ");
  });

  it("empty stop strings, and halves of characters, are never met", () => {
    expect(streamed("a🙂", [""]).join("")).toBe("a🙂");
    expect(streamed("a🙂", ["\ude42", "\ud83d", "a\ud83d"]).join("")).toBe("a🙂");
  });

  it("words keep their spaces after many tokens that are no text", () => {
    const [one] = words.encode("the");
    const unknown = new Array(12).fill(words.unknown);
    expect(pieces(new TextStream(words, [one, ...unknown]), [one, ...unknown, one]).join("")).toBe(" the the");
  });
});
