import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { prune } from "../../src/data/cache.ts";
import { drained, inspectTexts, openTexts, trainingParts, validationParts, wholePieces } from "../../src/data/texts.ts";
import { tokenise } from "../../src/data/tokenised.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";

const folder = mkdtempSync(join(tmpdir(), "qkv-tokenised-"));
afterAll(() => rmSync(folder, { recursive: true }));

const text = "The whale, the wild whale! Über Wale: 鯨 🐳\n".repeat(300);
const file = join(folder, "text.txt");
writeFileSync(file, text);

async function idsOf(kind: "char" | "byte" | "bpe", cache: string) {
  const tokenizer = await trainTokenizer(kind, [text], kind === "bpe" ? { vocab: 300 } : {});
  const documents = await openTexts([file], 0);
  const sha256 = await drained(inspectTexts(documents));
  const found = await tokenise(trainingParts(documents), sha256, tokenizer, kind, join(folder, cache));
  const ids = new Int32Array(found.ids.length);
  found.ids.read(0, ids);
  found.ids.close();
  return { ids, tokenizer };
}

describe("a tokenised text", () => {
  it.each(["char", "byte", "bpe"] as const)("has the ids of the whole text, in as few bytes as they need: %s", async (kind) => {
    const { ids, tokenizer } = await idsOf(kind, kind);
    expect([...ids]).toEqual([...tokenizer.encode(text)]);
    const [name] = readdirSync(join(folder, kind)).filter((entry) => entry.endsWith(".ids"));
    expect(statSync(join(folder, kind, name)).size).toBe(ids.length * (tokenizer.size <= 256 ? 1 : 2));
  });

  it("is made once, and again when its file is damaged", async () => {
    const first = await idsOf("char", "again");
    const [name] = readdirSync(join(folder, "again")).filter((entry) => entry.endsWith(".ids"));
    const made = statSync(join(folder, "again", name)).ino;
    await idsOf("char", "again");
    expect(statSync(join(folder, "again", name)).ino).toBe(made);
    truncateSync(join(folder, "again", name), 100);
    expect((await idsOf("char", "again")).ids).toEqual(first.ids);
    const bytes = readFileSync(join(folder, "again", name));
    bytes[50] ^= 1;
    writeFileSync(join(folder, "again", name), bytes);
    expect((await idsOf("char", "again")).ids).toEqual(first.ids);
  });
});

describe("pieces", () => {
  it("are cut only where a tokenizer would cut too", async () => {
    const given = ["one tw", "o", " three\nfo", "ur"];
    const pieces: string[] = [];
    for await (const piece of wholePieces(
      (async function* () {
        yield* given;
      })(),
    ))
      pieces.push(piece);
    expect(pieces.join("")).toBe(given.join(""));
    const tokenizer = await trainTokenizer("bpe", ["one two three four ".repeat(9)], { vocab: 280 });
    expect(pieces.flatMap((piece) => [...tokenizer.encode(piece)])).toEqual([...tokenizer.encode(given.join(""))]);
  });
});

/** The text that is trained on as it is inspected, and the hash. */
async function inspected(files: readonly string[], fraction: number): Promise<{ text: string; sha256: string }> {
  const pieces: string[] = [];
  const reading = inspectTexts(await openTexts(files, fraction));
  for (;;) {
    const { done, value } = await reading.next();
    if (done) return { text: pieces.join(""), sha256: value };
    pieces.push(value);
  }
}

describe("a text that is inspected", () => {
  it("gives what is trained on while it is read, and a hash that does not depend on the split", async () => {
    const bytes = readFileSync(file);
    const whole = await inspected([file], 0);
    expect(whole.text).toBe(text);
    expect(whole.sha256).toBe(createHash("sha256").update(bytes).update(`;${bytes.length};`).digest("hex")); // as 0.1.0 wrote it
    for (const fraction of [0.1, 0.5]) {
      const { text: head, sha256 } = await inspected([file, file], fraction);
      expect((text + text).startsWith(head)).toBe(true);
      expect(sha256).toBe((await inspected([file, file], 0)).sha256);
    }
  });

  it("is refused where it is no UTF-8, with the line and the byte, on either side of the split", async () => {
    for (const [at, line] of [
      [10, 1],
      [900, 10],
    ]) {
      const damaged = join(folder, `damaged-${at}.txt`);
      const bytes = new TextEncoder().encode("a line of a hundred bytes".padEnd(99, ".").concat("\n").repeat(10));
      bytes[at] = 0xff;
      writeFileSync(damaged, bytes);
      await expect(inspected([damaged], 0.5)).rejects.toThrow(`${damaged}, line ${line}, byte ${at}: invalid UTF-8 (found 0xFF)`);
    }
  });
});

it("a text that is no plain file is refused at once, rather than to wait for ever when it is read again", async () => {
  const pipe = join(folder, "pipe.txt");
  expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
  await expect(openTexts([pipe], 0.1)).rejects.toThrow(`${pipe}: not a plain file, and text is read more than once; save it as one first`);
});

describe("the split of a text", () => {
  it("keeps the last share, and never cuts a character", async () => {
    const bytes = readFileSync(file);
    for (const fraction of [0.001, 0.1, 0.333, 0.5, 0.77]) {
      const documents = await openTexts([file], fraction);
      const [head, tail] = [trainingParts, validationParts].map((parts) => {
        const [{ begin, end }] = parts(documents);
        return bytes.subarray(begin, end);
      });
      expect(new TextDecoder("utf-8", { fatal: true }).decode(head) + new TextDecoder("utf-8", { fatal: true }).decode(tail)).toBe(text);
      expect(Math.abs(tail.length - fraction * bytes.length)).toBeLessThan(5);
    }
    expect(validationParts(await openTexts([file], 0))).toEqual([]);
  });
});

describe("the cache", () => {
  it("lets go of what was not used for the longest time", () => {
    const cache = mkdtempSync(join(folder, "cache-"));
    for (const [i, name] of ["old", "middle", "new"].entries()) {
      writeFileSync(join(cache, `${name}.ids`), new Uint8Array(10));
      writeFileSync(join(cache, `${name}.json`), "{}");
      utimesSync(join(cache, `${name}.ids`), 1000 + i, 1000 + i);
    }
    prune(cache, "new.ids", 25);
    expect(readdirSync(cache).sort()).toEqual(["middle.ids", "middle.json", "new.ids", "new.json"]);
  });
});
