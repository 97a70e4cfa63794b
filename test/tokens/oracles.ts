import { Tokenizer as Pure } from "@huggingface/tokenizers";
import fc from "fast-check";
import { Tokenizer as Native } from "tokenizers";

/** A tokenizer.json as the two packages of Hugging Face read it. */
export function oracles(json: string): { ids: (text: string) => Promise<number[][]>; texts: (ids: number[]) => Promise<string[]> } {
  const native = Native.fromString(json);
  const pure = new Pure(JSON.parse(json), {});
  return {
    ids: async (text) => [
      (await native.encode(text, null, { addSpecialTokens: false })).getIds(),
      pure.encode(text, { add_special_tokens: false }).ids,
    ],
    texts: async (ids) => [
      await native.decode(ids, true),
      ids.length === 0 ? "" : pure.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false }),
    ],
  };
}

export const prose = `Call me Ishmael. Some years ago — never mind how long precisely — having little or no money in my purse, and
nothing particular to interest me on shore, I thought I would sail about a little and see the watery part of the world. It's a
way I have of driving off the spleen, and regulating the circulation. Whenever I find myself growing grim about the mouth;
whenever it is a damp, drizzly November in my soul; whenever I find myself involuntarily pausing before coffin warehouses, and
bringing up the rear of every funeral I meet, then, I account it high time to get to sea as soon as I can.\r
\tThere now is your insular city of the Manhattoes: belted round by 1,234 wharves (as Indian isles by coral reefs) & commerce
surrounds it with her surf. Don't they'll we've? constructor __proto__ toString; café naïve Straße Ελληνικά Москва שלום مرحبا
नमस्ते 日本語のテキスト 한국어 👩‍👩‍👧 🙂🙂 e\u0301 x² ½.\n\n`;

// Scripts that all Unicode tables know; letters that were added last year mean different things to different packages.
const ranges: readonly (readonly [number, number])[] = [
  [0x00, 0x7f],
  [0x80, 0x2ff],
  [0x300, 0x36f],
  [0x391, 0x3a9],
  [0x410, 0x44f],
  [0x591, 0x5c7],
  [0x5d0, 0x5ea],
  [0x627, 0x64a],
  [0x660, 0x669],
  [0x905, 0x94d],
  [0xe01, 0xe3a],
  [0x1680, 0x1680],
  [0x2000, 0x205f],
  [0x2070, 0x2071],
  [0x2160, 0x2180],
  [0x3000, 0x303f],
  [0x3041, 0x3096],
  [0x4e00, 0x9fa5],
  [0xac00, 0xd7a3],
  [0xfe0f, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xfffd, 0xfffd],
  [0x1d400, 0x1d433],
  [0x1f300, 0x1f64f],
];

const character = fc.oneof(...ranges.map(([min, max]) => fc.integer({ min, max }).map((code) => String.fromCodePoint(code))));
const chunk = fc.oneof(
  { weight: 6, arbitrary: character },
  { weight: 3, arbitrary: fc.constantFrom(...prose.split(/(?<=\s)|(?=\s)/)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      " ",
      "  ",
      "\n",
      "\r\n",
      "\t ",
      "'s",
      "'ll ",
      "\0",
      "\u0085",
      "\ufeff",
      "\u200d",
      "aaaa",
      "##",
      ".",
      " ,",
      "1",
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom("<s>", "</s>", "<unk>", "</", "<s", "s>", "[UNK]", "x".repeat(120), "__proto__", "constructor") },
);

/** Well-formed text of many scripts, with whitespace, signs and special tokens of all sorts. */
export const unicodeText = fc.array(chunk, { maxLength: 24 }).map((chunks) => chunks.join(""));
