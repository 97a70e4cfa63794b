import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { decodeUtf8, textChunks, utf8Length } from "../../src/text/utf8.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

async function* cutAt(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let start = 0, i = 0; start < bytes.length; i++) {
    const size = sizes[i % sizes.length];
    yield bytes.slice(start, start + size);
    start += size;
  }
}

async function streamed(bytes: Uint8Array, sizes: readonly number[]): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of textChunks(cutAt(bytes, sizes), "a.txt")) pieces.push(piece);
  return pieces;
}

const failure = (bytes: Uint8Array): string => {
  try {
    decodeUtf8(bytes, "a.txt");
    return "";
  } catch (error) {
    if (error instanceof DataError) return error.message;
    throw error;
  }
};

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

describe("text from bytes", () => {
  it("drops one byte order mark and keeps everything else", () => {
    expect(decodeUtf8(encode("\uFEFFgrüß\r\n👍"), "a.txt")).toBe("grüß\r\n👍");
    expect(decodeUtf8(encode("\uFEFF\uFEFFa"), "a.txt")).toBe("\uFEFFa");
    expect(decodeUtf8(encode(""), "a.txt")).toBe("");
  });

  it("says where the first byte is that is not UTF-8, and how to mend it", () => {
    expect(failure(Uint8Array.of(...encode("eins\nzwölf\n"), 0x66, 0xfc, 0x6e, 0x66))).toBe(
      "a.txt, line 3, byte 13: invalid UTF-8 (found 0xFC); save the file as UTF-8, for instance with `iconv -f latin1 -t utf-8`",
    );
    expect(failure(Uint8Array.of(0xff, 0xfe, 0x61, 0))).toBe(
      "a.txt, line 1, byte 0: invalid UTF-8 (found 0xFF); save the file as UTF-8, for instance with `iconv -f utf-16 -t utf-8`",
    );
  });

  it.each([
    ["a lone continuation", [0x61, 0x80], 1],
    ["an overlong slash", [0xc0, 0xaf], 0],
    ["an overlong three", [0x61, 0xe0, 0x80, 0x80], 1],
    ["an overlong four", [0xf0, 0x80, 0x80, 0x80], 0],
    ["half a surrogate pair", [0x61, 0x62, 0xed, 0xa0, 0x80], 2],
    ["a point above U+10FFFF", [0xf4, 0x90, 0x80, 0x80], 0],
    ["an end inside a character", [0xc3, 0xa9, 0xe2, 0x82], 2],
  ])("refuses %s", async (_, bytes, offset) => {
    const message = failure(Uint8Array.from(bytes));
    expect(message).toContain(`byte ${offset}: invalid UTF-8`);
    for (const size of [1, 2, 3, 100])
      await expect(streamed(Uint8Array.from(bytes), [size])).rejects.toThrow(new DataError(message, { code: "data.line" }));
  });
});

describe("text from chunks", () => {
  it("is the same whatever the chunks are, and never cuts a character", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), fc.boolean(), sizes, async (text, marked, cuts) => {
        const bytes = encode(marked ? `\uFEFF${text}` : text);
        const pieces = await streamed(bytes, cuts);
        expect(pieces.join("")).toBe(decodeUtf8(bytes, "a.txt"));
        expect(pieces.filter((piece) => /^$|\p{Surrogate}/u.test(piece))).toEqual([]);
      }),
    );
  });

  it("fails as the whole does: the same sentence for the same bytes", async () => {
    const byte = fc.oneof(
      fc.constantFrom(0x0a, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xed, 0xf0, 0x9f, 0x91, 0x8d, 0xef, 0xbb, 0xbf),
      fc.nat({ max: 255 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(byte, { maxLength: 30 }), sizes, async (numbers, cuts) => {
        const bytes = Uint8Array.from(numbers);
        const message = failure(bytes);
        const found = await streamed(bytes, cuts).then(
          () => "",
          (error: Error) => error.message,
        );
        expect(found).toBe(message);
      }),
      { numRuns: 1000 },
    );
  });
});

it("counts bytes as Node does, of long texts and of halves of characters too", () => {
  const text = fc.tuple(fc.string({ unit: "binary" }), fc.constantFrom("a", "é", "世", "😀", "\ud83d"), fc.nat(40_000));
  fc.assert(
    fc.property(text, ([start, character, count]) => {
      const whole = start + character.repeat(count);
      expect(utf8Length(whole)).toBe(Buffer.byteLength(whole));
    }),
    { numRuns: 200 },
  );
});
