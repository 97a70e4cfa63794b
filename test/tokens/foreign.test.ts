import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Tokenizer } from "tokenizers";
import { describe, expect, it } from "vitest";
import { loadTokenizer, parseTokenizer, saveTokenizer, slowSentence, tokenizerKinds, trainTokenizer } from "../../src/tokens/index.ts";
import { foreignFiles } from "./foreign-files.ts";
import { oracles, prose } from "./oracles.ts";

type Name = keyof typeof foreignFiles;

describe.each(Object.keys(foreignFiles) as Name[])("a file like %s", (name) => {
  const tokenizer = loadTokenizer(foreignFiles[name], name);

  it("is kept as it is, as a tokenizer of another kind", () => {
    expect(tokenizer.kind).toBe("other");
    expect(JSON.parse(saveTokenizer(tokenizer))).toEqual(foreignFiles[name]);
    expect(parseTokenizer(saveTokenizer(tokenizer), name).kind).toBe("other");
  });

  it("reads text as the tokenizers package does, long text too", async () => {
    const { ids, texts } = oracles(saveTokenizer(tokenizer));
    const last = (found: readonly unknown[]) => found[0];
    for (const text of ["", "the cats, the cat.", "the café, 12\u0085the", prose, "the cat ".repeat(5000), "the cat\n".repeat(3000)]) {
      const found = [...tokenizer.encode(text)];
      expect(found).toEqual(last(await ids(text)));
      expect(tokenizer.decode(found)).toBe(last(await texts(found)));
    }
  });

  it("knows its special tokens by their role", () => {
    const { size, unknown, start, end } = tokenizer;
    expect({ size, unknown, start, end }).toEqual(
      {
        gpt2: { size: 261, unknown: undefined, start: 260, end: 260 },
        words: { size: 6, unknown: 0, start: undefined, end: undefined },
        bert: { size: 10, unknown: 0, start: 1, end: 2 },
        llama: { size: 269, unknown: 0, start: 1, end: 2 },
        t5: { size: 10, unknown: 2, start: undefined, end: 1 },
      }[name],
    );
    expect(() => tokenizer.decode([size])).toThrow(`the token id ${size} is not in the vocabulary`);
  });
});

it("names bytes as text where they are text", () => {
  const gpt2 = loadTokenizer(foreignFiles.gpt2, "gpt2");
  expect([...gpt2.encode(" the<|endoftext|>é")].map((id) => gpt2.piece(id))).toEqual([" the", "<|endoftext|>", "\\xC3", "\\xA9"]);
});

it("without an unknown token says which word it lacks", () => {
  const { unk_token: _, ...model } = foreignFiles.words.model;
  const tokenizer = loadTokenizer({ ...foreignFiles.words, added_tokens: [], model }, "closed.json");
  expect([...tokenizer.encode("the cat")]).toEqual([1, 3]);
  expect(() => tokenizer.encode("the dog")).toThrow('closed.json has no token for "dog", and no unknown token');
});

describe("a file with a part of no known sort", () => {
  const odd = (part: object) => ({ ...foreignFiles.gpt2, ...part });
  const preceded = (part: object) => ({ type: "Sequence", pretokenizers: [part, foreignFiles.gpt2.pre_tokenizer] });
  const parts: Record<string, readonly [part: object, reason: string]> = {
    "a pre-tokenizer": [
      { pre_tokenizer: preceded({ type: "FixedLength", length: 5 }) },
      "its pre_tokenizer FixedLength is of no known sort",
    ],
    "a decoder": [{ decoder: { type: "BPEDecoder", suffix: "</w>" } }, "its decoder BPEDecoder is of no known sort"],
    "a pattern with a look behind": [
      { pre_tokenizer: preceded({ type: "Split", pattern: { Regex: "(?<=a)b" }, behavior: "Isolated", invert: false }) },
      'its regular expression "(?<=a)b" is of no known sort',
    ],
  };

  it.each(Object.entries(parts))("is read by the package, and says so: %s", (_, [part, reason]) => {
    const tokenizer = loadTokenizer(odd(part), "odd.json");
    expect(tokenizer.slow).toBe(reason);
    expect(slowSentence(tokenizer)).toEqual([expect.stringContaining(`, and not by our own encoder: ${reason}`)]);
    expect(tokenizer.encode("the cat").length).toBeGreaterThan(2);
  });

  it("and no other file does", () => {
    for (const [name, file] of Object.entries(foreignFiles)) expect(slowSentence(loadTokenizer(file, name))).toEqual([]);
  });
});

it("of our own is recognised after the tokenizers package has saved it again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "qkv-tokens-"));
  for (const kind of tokenizerKinds) {
    const tokenizer = await trainTokenizer(kind, [prose]);
    Tokenizer.fromString(saveTokenizer(tokenizer)).save(join(folder, `${kind}.json`));
    const again = parseTokenizer(readFileSync(join(folder, `${kind}.json`), "utf8"), kind);
    expect(again.kind).toBe(kind);
    expect(again.encode(prose)).toEqual(tokenizer.encode(prose));
  }
  rmSync(folder, { recursive: true });
});
