import { chmodSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { formatOf, hashFiles, readExamples, readTextChunks } from "../../src/disk/text-files.ts";

const folder = mkdtempSync(join(tmpdir(), "qkv-text-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function whole(path: string): Promise<string> {
  let text = "";
  for await (const piece of readTextChunks(path)) text += piece;
  return text;
}

describe("examples", () => {
  it("of several files and formats follow one another", async () => {
    const one = file("one.tsv", "text\tlabel\r\na\tx\r\n");
    const two = file("two.JSONL", '{"label": 2, "text": "b", "target": "t"}\n');
    expect(await readExamples([one, two])).toEqual({
      task: "classify",
      examples: [
        { text: "a", label: "x", file: one, line: 2 },
        { text: "b", label: "2", file: two, line: 1 },
      ],
    });
  });

  it("are all of one task", async () => {
    const one = file("one.tsv", "text\tlabel\na\tx\n");
    const pairs = file("pairs.csv", "source,target\na,x\n");
    await expect(readExamples([one, pairs])).rejects.toThrow(
      `${pairs}, line 1: no column "text" (found "source", "target"); rename one, or give its name with columns.text`,
    );
  });

  it("come from files with an ending that is known", async () => {
    expect(["a.txt", "b.TSV", "c.d.csv", "e.jsonl"].map(formatOf)).toEqual(["txt", "tsv", "csv", "jsonl"]);
    await expect(readExamples(["a.json"])).rejects.toThrow(
      "a.json: the ending .json; data is .txt (plain text), .tsv, .csv or .jsonl (examples), so rename the file or convert it",
    );
    await expect(readExamples(["data"])).rejects.toThrow("data: no ending; data is");
    await expect(readExamples(["a.txt"], { task: "classify" })).rejects.toThrow(
      'a.txt: a .txt is plain text, for task: "lm"; classify wants the columns "text", "label" of a .tsv, .csv or .jsonl',
    );
    await expect(readExamples(["a.txt"])).rejects.toThrow(
      'a.txt: a .txt is plain text, for task: "lm"; examples are a .tsv, .csv or .jsonl',
    );
    await expect(readExamples([])).rejects.toThrow("no data file was given; name a .tsv, .csv or .jsonl");
  });

  it("are at most 400 MB, in one file or several", async () => {
    const halves = ["half.tsv", "other-half.tsv"].map((name) => {
      const path = file(name, "");
      truncateSync(path, 200_000_001); // a hole, which takes no room on the disk
      return path;
    });
    await expect(readExamples(halves)).rejects.toThrow(
      new DataError("more than 400 MB of examples in all, which are held in memory; train on a part of them", {
        code: "data.too-much",
        file: halves[1],
      }),
    );
  });
});

describe("a file that cannot be read", () => {
  it("does not exist, though another may", async () => {
    file("reviews.tsv", "text\tlabel\na\tx\n");
    const path = join(folder, "review.tsv");
    await expect(readExamples([path])).rejects.toThrow(
      new DataError(`${path}: no such file; did you mean "reviews.tsv"?`, { code: "data.file" }),
    );
    await expect(whole(join(folder, "none", "a.txt"))).rejects.toThrow(
      new DataError(`no such file; the folder ${join(folder, "none")} cannot be read either`, {
        code: "data.file",
        file: join(folder, "none", "a.txt"),
      }),
    );
  });

  it("is a folder, or has a name that no file has", async () => {
    const path = join(folder, "folder.tsv");
    mkdirSync(path);
    await expect(readExamples([path])).rejects.toThrow(
      new DataError(`${path}: this is a folder; name a file in it`, { code: "data.file" }),
    );
    await expect(hashFiles([path])).rejects.toThrow(DataError);
    await expect(whole("a\0.txt")).rejects.toThrow(DataError);
    await expect(whole(join(file("x.txt", "x"), "y.txt"))).rejects.toThrow("a part of this path is a file, not a folder");
  });

  it.skipIf(process.getuid?.() === 0)("may not be read", async () => {
    const path = file("secret.txt", "x");
    chmodSync(path, 0);
    await expect(whole(path)).rejects.toThrow(`${path}: not allowed to read this file; change its permissions (chmod +r)`);
  });
});

describe("plain text", () => {
  it("is read in pieces, as it is", async () => {
    const text = "grüße 👍\r\n".repeat(200_000);
    const path = file("long.txt", `\uFEFF${text}`);
    const pieces: string[] = [];
    for await (const piece of readTextChunks(path)) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("") === text).toBe(true);
  });

  it("names the byte that is not UTF-8", async () => {
    const path = file("latin.txt", Buffer.from(`${"a\n".repeat(1_000_000)}ü`, "latin1"));
    await expect(whole(path)).rejects.toThrow(`${path}, line 1000001, byte 2000000: invalid UTF-8 (found 0xFC)`);
  });
});

describe("the hash of files", () => {
  it("is of what they hold, not of their names", async () => {
    const [a, b, ab, empty] = [file("a.txt", "a"), file("b.txt", "b"), file("ab.txt", "ab"), file("empty.txt", "")];
    const copy = file("copy.txt", "a");
    expect(await hashFiles([a])).toMatch(/^[0-9a-f]{64}$/);
    expect(await hashFiles([a, b])).toBe(await hashFiles([copy, b]));
    const all = await Promise.all([[a, b], [b, a], [ab], [ab, empty], [empty, ab], []].map(hashFiles));
    expect(new Set(all).size).toBe(all.length);
  });

  it("is SHA-256 of the bytes of each file and their number", async () => {
    expect(await hashFiles([file("c.txt", "abc")])).toBe("baba775df93bdbf9d34cd8eb1cfe68727c19de118e74f374100e75baeea41d90");
  });
});
