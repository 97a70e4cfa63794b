import { expect, it } from "vitest";
import { parseTokenizer, saveTokenizer, tokenizerKinds, trainTokenizer } from "../../src/tokens/index.ts";
import { maskToken, ordinaryIds, withMask } from "../../src/tokens/mask.ts";

const text = "The cat sat on the mat. Two dogs ran; the dogs, they ran and ran!\nÄpfel und 3 Birnen – schön\n";

async function* texts() {
  yield text;
}

it.each(tokenizerKinds)("a tokenizer of %s reads as before with a mask, which is one token after the others", async (kind) => {
  const tokenizer = await trainTokenizer(kind, texts());
  expect(maskToken(tokenizer)).toBeUndefined();
  const masked = withMask(tokenizer);
  expect(masked.size).toBe(tokenizer.size + 1);
  expect(masked.slow).toBeUndefined();
  for (const some of [text, "new words <s> and 漢字", " the  dogs\r\n"]) {
    expect(masked.encode(some)).toEqual(tokenizer.encode(some));
    expect(masked.decode(masked.encode(some))).toBe(tokenizer.decode(tokenizer.encode(some)));
  }
  const mask = { id: tokenizer.size, token: "<mask>" };
  for (const again of [masked, parseTokenizer(saveTokenizer(masked), "tokenizer.json")]) {
    expect(maskToken(again)).toEqual(mask);
    expect([...again.encode("the <mask> ran")].filter((id) => id === mask.id)).toHaveLength(1);
    expect(again.piece(mask.id)).toBe("<mask>");
  }
  expect(withMask(masked)).toBe(masked);
  const ordinary = new Set(ordinaryIds(masked));
  for (const id of [mask.id, masked.unknown, masked.start, masked.end]) expect(ordinary.has(id ?? -1)).toBe(false);
  expect(ordinary.size).toBe(tokenizer.size - (tokenizer.unknown === undefined ? 2 : 3));
});

it("a mask takes the space before it along where words do", async () => {
  const masked = withMask(await trainTokenizer("bpe", texts()));
  expect(masked.encode("the <mask>")).toHaveLength(masked.encode("the").length + 1);
});
