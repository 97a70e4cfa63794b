// The byte alphabet of GPT-2: each byte has a printable letter, so that pieces of bytes can be written in JSON.

/** The letter of each byte. */
export const byteLetters: readonly string[] = letters();

const byteOfLetter = new Map(byteLetters.map((letter, byte) => [letter, byte]));

function letters(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    return String.fromCharCode(printable ? byte : next++);
  });
}

const encoder = new TextEncoder();
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** The bytes that a token is written for, or nothing if some of its letters stand for none. */
export function bytesOf(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = byteOfLetter.get(token[i]);
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}

/** A token of bytes as it is written in tokenizer.json. */
export function tokenOf(bytes: Uint8Array): string {
  let token = "";
  for (const byte of bytes) token += byteLetters[byte];
  return token;
}

/** The text of many tokens' bytes; what is not UTF-8 becomes U+FFFD. */
export function textOf(parts: readonly Uint8Array[]): string {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return lenient.decode(bytes);
}

/** One token's bytes for a person: as text where they are whole characters, else like `\xE4`. */
export function readable(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
  }
}
