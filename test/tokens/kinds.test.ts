import fc from "fast-check";
import { Tokenizer as Native } from "tokenizers";
import { describe, expect, it } from "vitest";
import { TextStream } from "../../src/generation/text-stream.ts";
import { parseTokenizer } from "../../src/tokens/index.ts";
import { kinds } from "./foreign-kinds.ts";
import { prose, unicodeText } from "./oracles.ts";

// Files from elsewhere that our own encoder understands: the same ids and the same text as the `tokenizers` package.

const runs = Number(process.env.QKV_FUZZ ?? 300);
const piece = fc.constantFrom(
  ...["<s>", "</s>", "<unk>", "<|endoftext|>", "<|im_end|>", "<mask>", "[MASK]", "[CLS]", "<extra_id_0>", "<start_of_turn>", "<tool_call>"],
  ...[
    "▁",
    "▁▁",
    "▁▁▁",
    "<0x0A>",
    "  ",
    "    ",
    "        ",
    "\n\n",
    "\n\n\n",
    "word",
    " word ",
    "the",
    "The ",
    "there",
    " there's",
    "THERE",
  ],
  ...[
    "'S",
    "'ſ",
    "'LL",
    "don't",
    "1234567",
    "x".repeat(120),
    "whale ".repeat(12),
    "``x''",
    "ＡＢ１",
    "ﬁn",
    "㍿",
    "日本語",
    "…",
    "e\u0301",
    "\u1112\u1161\u11ab",
  ],
  ..."\t\r\u00a0\u200b\u0001\u007f\ufeff₂Ⅷ".split(""),
);
const text = fc.oneof(
  unicodeText,
  fc.array(fc.oneof(unicodeText, piece, piece), { maxLength: 12 }).map((parts) => parts.join("")),
);

describe.each(Object.keys(kinds))("a file like %s", (name) => {
  const json = JSON.stringify(kinds[name]);
  const tokenizer = parseTokenizer(json, name);
  const native = Native.fromString(json);
  const idsOf = async (given: string): Promise<number[]> => (await native.encode(given, null, { addSpecialTokens: false })).getIds();

  it("is read by our own encoder", () => {
    expect(tokenizer.slow).toBeUndefined();
  });

  it("gives the same ids and the same text on prose", async () => {
    for (const given of ["", " ", "\n", prose, prose.repeat(3), `${prose}<s>${prose}`, "a".repeat(3000), "the whale ".repeat(800)]) {
      const ids = [...tokenizer.encode(given)];
      expect(ids).toEqual(await idsOf(given));
      expect(tokenizer.decode(ids)).toBe(await native.decode(ids, true));
    }
  });

  it("gives the same ids and the same text on anything", async () => {
    await fc.assert(
      fc.asyncProperty(text, async (given) => {
        const ids = [...tokenizer.encode(given)];
        expect(ids).toEqual(await idsOf(given));
        expect(tokenizer.decode(ids)).toBe(await native.decode(ids, true));
      }),
      { numRuns: runs },
    );
  });

  it("decodes any ids alike, and names each", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(tokenizer.size - 1), { maxLength: 12 }), async (ids) => {
        expect(tokenizer.decode(ids)).toBe(await native.decode(ids, true));
        for (const id of ids) expect(tokenizer.piece(id)).not.toBe("");
      }),
      { numRuns: runs },
    );
  });

  it("streams its text in whole characters", () => {
    fc.assert(
      fc.property(text, (given) => {
        const ids = tokenizer.encode(given);
        const stream = new TextStream(tokenizer);
        const found = [...Array.from(ids, (id) => stream.push(id)), stream.end()];
        const whole = tokenizer.decode(ids);
        if (whole.includes("\ufffd")) return;
        expect(found.join("")).toBe(whole);
        for (const part of found) expect(part).not.toMatch(/\p{Surrogate}|\ufffd/u);
      }),
      { numRuns: 100 },
    );
  });
});
