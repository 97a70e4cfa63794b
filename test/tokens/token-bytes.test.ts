import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";
import { loadTokenizer } from "../../src/tokens/load.ts";
import { tokenBytes } from "../../src/tokens/token-bytes.ts";
import { type Tokenizer, tokenizerKinds } from "../../src/tokens/tokenizer.ts";
import { foreignFiles } from "./foreign-files.ts";
import { kinds } from "./foreign-kinds.ts";

const text = 'It was 12 — "naïve", the 猫 said: {"a": [1, 2]} do not! 🙂\n'.repeat(5);
const models = new URL("../hub/models/", import.meta.url);

const tokenizers: Record<string, () => Promise<Tokenizer> | Tokenizer> = {
  ...Object.fromEntries(tokenizerKinds.map((kind) => [kind, () => trainTokenizer(kind, [text])])),
  ...Object.fromEntries(Object.entries({ ...kinds, ...foreignFiles }).map(([name, json]) => [name, () => loadTokenizer(json, name)])),
  ...Object.fromEntries(
    readdirSync(models).map((name) => [
      `models/${name}`,
      () => loadTokenizer(JSON.parse(readFileSync(new URL(`${name}/tokenizer.json`, models), "utf8")), name),
    ]),
  ),
};

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const joined = (parts: readonly (Uint8Array | undefined)[]): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...(part ?? [])]));
const wholeText = (bytes: Uint8Array): string | undefined => {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
};
describe("after a token of text, the bytes of tokens in a row are the bytes that decode adds", () => {
  for (const [name, make] of Object.entries(tokenizers)) {
    it(name, async () => {
      const tokenizer = await make();
      const bytes = tokenBytes(tokenizer);
      const byteLevel = ["byte", "bpe", "unigram"].includes(tokenizer.kind) || JSON.stringify(tokenizer.json).includes('"ByteLevel"');
      const some = Array.from({ length: tokenizer.size }, (_, id) => id).filter((id) => bytes[id] && wholeText(bytes[id]));
      const draws = chance(7).fork(name);
      let [checked, n] = [0, 0];
      const check = (ids: readonly number[]): void => {
        const all = joined(ids.map((id) => bytes[id]));
        // Byte fallback makes as many U+FFFD of a broken row as it has bytes, whole characters among them: such rows have no text to compare.
        const read = byteLevel ? lenient.decode(all) : wholeText(all);
        if (read === undefined) return;
        expect(tokenizer.decode([some[0], ...ids]), ids.join(" ")).toBe(tokenizer.decode([some[0]]) + read);
        checked++;
      };
      for (let i = 0; i < 300; i++) {
        const from = i % 2 ? some : Array.from({ length: tokenizer.size }, (_, id) => id);
        check(Array.from({ length: 1 + (i % 12) }, () => from[Math.floor(draws.uniform(n++) * from.length)]));
      }
      for (let id = 0; id < tokenizer.size; id++) check([id, some[some.length - 1]]);
      check([...tokenizer.encode(text)]);
      expect(checked).toBeGreaterThan(200);
      expect(bytes.length).toBe(tokenizer.size);
      if (tokenizer.end !== undefined) expect(bytes[tokenizer.end]).toBeUndefined();
    });
  }
});

it("tokens whose text depends on their neighbours are refused with the reason", () => {
  const suffixes = { ...foreignFiles.gpt2, decoder: { type: "BPEDecoder", suffix: "</w>" } };
  expect(() => tokenBytes({ kind: "other", json: suffixes })).toThrow(
    "the tokens of this tokenizer have no bytes of their own: its decoder BPEDecoder is of no known sort",
  );
  const across = { type: "Sequence", decoders: [{ type: "Fuse" }, { type: "Replace", pattern: { String: "ab" }, content: "c" }] };
  expect(() => tokenBytes({ kind: "other", json: { ...foreignFiles.gpt2, decoder: across } })).toThrow("changes text across tokens");
});
