import { bytesOf, textOf, utf8 } from "./bytes.ts";
import { replacement } from "./foreign-normaliser.ts";
import { flagOf, NotUnderstood, type Part, partsOf, stringOf } from "./not-understood.ts";
import { marks } from "./pre-tokenizer.ts";

// Tokens back to text, for files from elsewhere, as the `tokenizers` package does it.

type Step = (tokens: string[]) => string[];

export function foreignDecoder(json: object | null): (tokens: string[]) => string {
  if (json === null) return (tokens) => tokens.join(" ");
  const steps = partsOf(json, "decoders").map(stepOf);
  return (tokens) => steps.reduce((read, step) => step(read), tokens).join("");
}

function stepOf(part: Part): Step {
  const { type } = part;
  if (type === "ByteLevel") return (tokens) => [textOf(tokens.map((token) => bytesOf(token) ?? utf8(token)))];
  if (type === "Fuse") return (tokens) => [tokens.join("")];
  if (type === "ByteFallback") return byteFallback;
  if (type === "Replace") {
    const replace = replacement(part);
    return (tokens) => tokens.map(replace);
  }
  if (type === "Metaspace") {
    const { mark, scheme } = marks(part);
    return (tokens) => tokens.map((token, i) => token.replaceAll(mark, i === 0 && scheme !== "never" ? "" : " "));
  }
  if (type === "Strip") {
    const [content, start, stop] = [stringOf(part, "content"), Number(part.start), Number(part.stop)];
    if (!Number.isInteger(start) || stop !== 0) throw new NotUnderstood("its Strip is not written as usual");
    return (tokens) => tokens.map((token) => stripped(token, content, start));
  }
  if (type === "WordPiece") return wordpiece(stringOf(part, "prefix"), flagOf(part, "cleanup"));
  throw new NotUnderstood(`its decoder ${String(type)} is of no known sort`);
}

const byteToken = /^<0x([0-9A-Fa-f]{2})>$/;
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** The byte that a token like `<0xE4>` stands for. */
export function byteOf(token: string): number | undefined {
  const digits = byteToken.exec(token)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}

/** Bytes in a row to text, if all of them are; else each is U+FFFD. */
const byteFallback: Step = (tokens) => {
  const found: string[] = [];
  let bytes: number[] = [];
  const close = (): void => {
    if (bytes.length === 0) return;
    try {
      found.push(strict.decode(Uint8Array.from(bytes)));
    } catch {
      for (const _ of bytes) found.push("\ufffd");
    }
    bytes = [];
  };
  for (const token of tokens) {
    const byte = byteOf(token);
    if (byte !== undefined) {
      bytes.push(byte);
      continue;
    }
    close();
    found.push(token);
  }
  close();
  return found;
};

function stripped(token: string, content: string, most: number): string {
  let from = 0;
  for (let i = 0; i < most && token.startsWith(content, from); i++) from += content.length;
  return token.slice(from);
}

/** In this order, and in each token by itself. */
const cleanups: readonly (readonly [string, string])[] = [
  ...[".", "?", "!", ","].map((sign) => [` ${sign}`, sign] as const),
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [" do not", " don't"],
  ...["'s", "'ve", "'re"].map((end) => [` ${end}`, end] as const),
];

export const cleanedUp = (joined: string): string => cleanups.reduce((text, [from, to]) => text.replaceAll(from, () => to), joined);

const wordpiece =
  (prefix: string, cleanup: boolean): Step =>
  (tokens) =>
    tokens.map((token, i) => {
      const joined = i === 0 ? token : token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`;
      return cleanup ? cleanedUp(joined) : joined;
    });
