import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { FormatError, QkvError } from "../../src/base/errors.ts";
import { loadTokenizer, parseTokenizer, saveTokenizer, tokenizerKinds, trainTokenizer } from "../../src/tokens/index.ts";
import { mutate } from "../support/mutate.ts";
import { foreignFiles } from "./foreign-files.ts";
import { kinds } from "./foreign-kinds.ts";

const rounds = Number(process.env.QKV_FUZZ ?? 300);
const sample = "The cat <s> café 猫 __proto__ 12,\n\n x";

/** Uses a mutant as far as it goes. Only errors of our own may come out. */
function survives(text: string): "loaded" | "refused" {
  try {
    const tokenizer = parseTokenizer(text, "mutant.json");
    const ids = tokenizer.encode(sample);
    tokenizer.decode(ids);
    for (const id of ids) tokenizer.piece(id);
    return "loaded";
  } catch (error) {
    if (!(error instanceof QkvError)) throw new Error(`${error} from ${text.slice(0, 3000)}`, { cause: error });
    expect(error.message.length).toBeLessThan(1000);
    return "refused";
  }
}

describe("mutants", async () => {
  const texts = ["the cat, the hat.", "a café"];
  const own = await Promise.all(tokenizerKinds.map(async (kind) => saveTokenizer(await trainTokenizer(kind, texts))));
  const files = [...own, ...[...Object.values(foreignFiles), ...Object.values(kinds)].map((file) => JSON.stringify(file))];

  it("of any tokenizer.json load and work, or are refused with a typed error", () => {
    const outcomes = { loaded: 0, refused: 0 };
    for (let i = 0; i < rounds; i++) outcomes[survives(mutate(files[i % files.length], chance(1).fork("mutants").fork(i)))]++;
    expect(outcomes.loaded).toBeGreaterThan(rounds / 20);
    expect(outcomes.refused).toBeGreaterThan(rounds / 4);
  });
});

describe("a file that is no tokenizer", async () => {
  const json = JSON.parse(saveTokenizer(await trainTokenizer("bpe", ["aaa aaa"])));
  const unigram = JSON.parse(saveTokenizer(await trainTokenizer("unigram", ["aaa aaa"])));

  const refused = (change: (copy: typeof json) => void, message: string, file = json): void => {
    const copy = structuredClone(file);
    change(copy);
    const load = () => loadTokenizer(copy, "tokenizer.json");
    expect(load).toThrow(FormatError);
    expect(load).toThrow(message);
  };

  it("is refused with the place and what was found", () => {
    expect(() => parseTokenizer("{", "here/tokenizer.json")).toThrow("here/tokenizer.json is not JSON: ");
    expect(() => parseTokenizer("{}", "tokenizer.json")).toThrow("tokenizer.json is not a tokenizer.json: at model: expected a model");
    expect(() => parseTokenizer("[".repeat(5000) + "]".repeat(5000), "tokenizer.json")).toThrow("nested more than 100 levels");
    expect(() => parseTokenizer(" ".repeat(100_000_001), "tokenizer.json")).toThrow("too long");
    refused((copy) => (copy.model.type = "Neural"), 'at model.type: "Neural" is not one of BPE, WordPiece, WordLevel and Unigram');
    refused((copy) => (copy.model.vocab.a = 2.5), 'at model.vocab: the id 2.5 of "a" is not a whole number from 0 to 10000000');
    refused((copy) => (copy.model.vocab.a = 3), "is taken");
    refused((copy) => (copy.model.vocab.a = 99_999), "the ids of model.vocab leave a gap");
    refused((copy) => copy.model.merges.push(["a", "猫"]), 'at model.merges.2: the token "猫" is not in the vocabulary');
    refused((copy) => copy.model.merges.push("a b c"), "two tokens were wanted");
    refused((copy) => (copy.added_tokens[0].id = 7), "tokenizer.json: the added token");
    refused((copy) => (copy.added_tokens[0].content = ""), "at added_tokens.0.content");
    refused((copy) => (copy.pre_tokenizer = { type: "FixedLength", length: 0 }), "at pre_tokenizer.length");
    refused((copy) => (copy.pre_tokenizer = { type: "Split", pattern: { Regex: "(" }, invert: false }), "this tokenizer cannot be used");
    refused((copy) => (copy.normalizer = { type: "Nmt" }), "this tokenizer cannot be used: Unknown Normalizer type: Nmt");
    refused((copy) => (copy.model.vocab[5] = ["a"]), "at model.vocab.5: a token and its score were wanted", unigram);
    refused((copy) => (copy.model.unk_id = 1e6), "at model.unk_id: 1000000 is not the id of one of", unigram);
    refused((copy) => copy.model.vocab.splice(40, 1), "only 255 of the 256 single bytes are in model.vocab", unigram);
  });

  it("may begin with a byte order mark", () => {
    expect(parseTokenizer(`\ufeff${JSON.stringify(json)}`, "tokenizer.json").kind).toBe("bpe");
  });
});
