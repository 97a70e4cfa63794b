// How fast tokenizers from elsewhere are read, ours beside @huggingface/tokenizers: node scripts/tokenizer-speed.mjs (build first), about a minute.
// Give tokenizer.json files to measure those. Made-up files have the size and the structure of Llama 3's, Gemma's and XLM-R's.
import { readFileSync } from "node:fs";
import { Tokenizer as Package } from "@huggingface/tokenizers";
import { chance } from "../dist/base/chance.js";
import { byteLetters } from "../dist/tokens/bytes.js";
import { parseTokenizer } from "../dist/tokens/index.js";

const book = readFileSync(new URL("../data/moby-dick.txt", import.meta.url), "utf8");
const bytesOf = (text) => Buffer.byteLength(text);

/** Of the processor, all threads together: what others do at the same time counts less. */
const seconds = (work) => {
  const begun = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(begun);
  return [(user + system) / 1e6, result];
};

/** The best of several, each of the whole text, so that what is remembered between calls counts as it does in training. */
function megabytesPerSecond(encode, text, times) {
  const all = Array.from({ length: times }, () => seconds(() => encode(text))[0]);
  return bytesOf(text) / 1e6 / Math.min(...all);
}

function measure(name, json) {
  const [loading, ours] = seconds(() => parseTokenizer(json, name));
  const first = bytesOf(book) / 1e6 / seconds(() => ours.encode(book))[0];
  const again = megabytesPerSecond((text) => ours.encode(text), book, 5);
  const [theirLoading, theirs] = seconds(() => new Package(JSON.parse(json), {}));
  const sample = Array.from({ length: 20 }, (_, i) => book.slice(5000 * i, 5000 * (i + 1))); // in parts: the package slows down with the length
  const [theirSeconds] = seconds(() => {
    for (const part of sample) theirs.encode(part, { add_special_tokens: false });
  });
  const row = {
    file: name,
    megabytes: json.length / 1e6,
    "load, s": loading,
    "first MB/s": first,
    "MB/s": again,
    "package: load, s": theirLoading,
    "package: MB/s": bytesOf(sample.join("")) / 1e6 / theirSeconds,
    slow: ours.slow ?? "",
  };
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key, typeof value === "number" ? Number(value.toPrecision(3)) : value]),
  );
}

// A vocabulary is made of the words of the book and of made-up ones, and everything on the way to them by merges from the left.

const source = chance(1).fork("tokenizer speed");
const syllables = Array.from(
  { length: 400 },
  (_, i) => "bcdfghklmnprstvwz"[i % 17] + "aeiou"[i % 5] + ["", "n", "r", "s", "t"][(i * 7) % 5],
);

function* words(space) {
  const counts = new Map();
  for (const [word] of book.matchAll(/ ?[A-Za-z]+/g)) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const [word] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, 20_000)) yield word.replace(" ", space);
  for (let i = 0; ; i++) {
    const own = source.fork(i);
    yield (i % 3 ? space : "") + Array.from({ length: 2 + own.integer(0, 3) }, (_, k) => syllables[own.integer(k + 1, 400)]).join("");
  }
}

function pairs(alphabet, space, size) {
  const ids = new Map(alphabet.map((token, id) => [token, id]));
  const merges = [];
  for (const word of words(space)) {
    for (let end = 2; end <= word.length && ids.size < size; end++) {
      const token = word.slice(0, end);
      if (ids.has(token)) continue;
      merges.push([word.slice(0, end - 1), word[end - 1]]);
      ids.set(token, ids.size);
    }
    if (ids.size >= size) break;
  }
  return { vocab: Object.fromEntries(ids), merges, ids };
}

/** More ways to the same tokens, as converted SentencePiece files have them: about two merges for each token. */
function withMoreMerges({ vocab, merges, ids }) {
  const more = [];
  for (const token of ids.keys()) {
    for (let at = 2; at < token.length - 1; at++)
      if (ids.has(token.slice(0, at)) && ids.has(token.slice(at))) more.push([token.slice(0, at), token.slice(at)]);
    if (merges.length + more.length > 500_000) break;
  }
  return { vocab, merges: [...merges, ...more] };
}

const rest = {
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
};
const replace = (wanted, content) => ({ type: "Replace", pattern: { String: wanted }, content });
const hexBytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
const ascii = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i));
const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
const newer =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

function likeLlama3() {
  const { vocab, merges } = pairs([...byteLetters], "Ġ", 128_000);
  const split = { type: "Split", pattern: { Regex: newer }, behavior: "Isolated", invert: false };
  const model = { type: "BPE", unk_token: null, fuse_unk: false, byte_fallback: false, ignore_merges: true, vocab, merges };
  return { ...rest, pre_tokenizer: { type: "Sequence", pretokenizers: [split, byteLevel] }, decoder: byteLevel, model };
}

function likeGemma() {
  const { vocab, merges } = withMoreMerges(pairs(["<unk>", "<s>", "</s>", ...hexBytes, "▁", "\n", ...ascii], "▁", 256_000));
  const decoders = [replace("▁", " "), { type: "ByteFallback" }, { type: "Fuse" }];
  const model = { type: "BPE", unk_token: "<unk>", fuse_unk: true, byte_fallback: true, ignore_merges: false, vocab, merges };
  return { ...rest, normalizer: replace(" ", "▁"), decoder: { type: "Sequence", decoders }, model };
}

function likeXlmR() {
  const { vocab } = pairs(["<unk>", "<s>", "</s>", "▁", ...ascii], "▁", 250_000);
  const metaspace = { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true };
  const scored = Object.keys(vocab).map((token, id) => [token, id < 3 ? 0 : -Math.log(id + 10) - 4 / token.length]);
  return {
    ...rest,
    pre_tokenizer: metaspace,
    decoder: metaspace,
    model: { type: "Unigram", unk_id: 0, byte_fallback: false, vocab: scored },
  };
}

const given = process.argv.slice(2);
const made = { "like Llama 3, 128,000": likeLlama3, "like Gemma, 256,000": likeGemma, "like XLM-R, 250,000": likeXlmR };
const rows =
  given.length > 0
    ? given.map((file) => measure(file, readFileSync(file, "utf8")))
    : Object.entries(made).map(([name, make]) => measure(name, JSON.stringify(make())));
console.table(rows);
