import { utf8 } from "./bytes.ts";
import { NotUnderstood } from "./not-understood.ts";

// The normaliser that SentencePiece compiles into its models (mostly NFKC): a tree from UTF-8 to where its replacement lies. Laid out as
// the length of the tree in bytes, the tree (a double array of 32-bit units), and the replacements, each with a zero at its end.

/** What may be more than one character of Unicode and still one for a reader; where none of it is, every character stands for itself. */
const joins = /[\p{M}\p{Cf}\p{Regional_Indicator}\p{Emoji_Modifier}\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\u0e33\u0eb3]|\r\n/u;
const plain = 0x80;
/** Stretches with anything but ASCII, together with the ASCII beside them, which may belong to the same character of a reader. */
const unusual = /(?:\r\n|[\0-\x7f])?(?:[^\0-\x7f]+(?:\r\n|[\0-\x7f])?)+/g;
/** Only so many bytes of a reader's character are looked up together. */
const longestTogether = 5;

export class Charsmap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;
  readonly #known = new Map<string, string | undefined>();
  /** The replacement of each ASCII character; an ordinary one is its own. */
  readonly #ascii: readonly string[];
  readonly #changed: RegExp;
  readonly #changedAll: RegExp;
  readonly #segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

  constructor(base64: string) {
    const bytes = bytesOfBase64(base64);
    const size = bytes.length >= 4 ? new DataView(bytes.buffer).getUint32(0, true) : 0;
    if (size % 4 !== 0 || size === 0 || 4 + size > bytes.length) throw strange();
    this.#units = new Uint32Array(bytes.buffer.slice(4, 4 + size)); // as little-endian as every machine that runs this
    this.#replacements = bytes.subarray(4 + size);
    this.#ascii = Array.from({ length: plain }, (_, code) => this.#of(String.fromCharCode(code)) ?? String.fromCharCode(code));
    const same = this.#ascii.flatMap((text, code) => (text === String.fromCharCode(code) && code !== 13 ? [code] : []));
    const others = `[^${same.map((code) => `\\x${code.toString(16).padStart(2, "0")}`).join("")}]`;
    this.#changed = new RegExp(others);
    this.#changedAll = new RegExp(others, "g");
  }

  normalised(text: string): string {
    if (!this.#changed.test(text)) return text;
    let [found, from] = ["", 0];
    for (const { 0: stretch, index } of text.matchAll(unusual)) {
      found += this.#asciiPart(text.slice(from, index)) + this.#anyPart(stretch);
      from = index + stretch.length;
    }
    return found + this.#asciiPart(text.slice(from));
  }

  #asciiPart(part: string): string {
    if (part.includes("\r\n")) return this.#anyPart(part);
    return part.replace(this.#changedAll, (sign) => this.#ascii[sign.charCodeAt(0)]);
  }

  #anyPart(text: string): string {
    let found = "";
    if (!joins.test(text)) {
      for (const character of text) found += this.#of(character) ?? character;
      return found;
    }
    for (const { segment } of this.#segmenter.segment(text)) {
      const whole = segment.length > longestTogether || utf8(segment).length > longestTogether ? undefined : this.#of(segment);
      if (whole !== undefined) found += whole;
      else for (const character of segment) found += this.#of(character) ?? character;
    }
    return found;
  }

  /** The replacement of the shortest beginning that has one: so the packages do it. */
  #of(text: string): string | undefined {
    if (this.#known.has(text)) return this.#known.get(text);
    const place = this.#find(utf8(text));
    const end = this.#replacements.indexOf(0, place);
    const found = place < 0 ? undefined : decoder.decode(this.#replacements.subarray(place, end < 0 ? undefined : end));
    if (this.#known.size > 50_000) this.#known.clear();
    this.#known.set(text, found);
    return found;
  }

  #find(bytes: Uint8Array): number {
    const units = this.#units;
    let node = offset(units[0]);
    for (const byte of bytes) {
      if (byte === 0) return -1;
      node ^= byte;
      const unit = units[node];
      if (unit === undefined || (unit & 0x800000ff) !== byte) return -1;
      node ^= offset(unit);
      if ((unit >>> 8) & 1) return node < units.length ? units[node] & 0x7fffffff : -1;
    }
    return -1;
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const offset = (unit: number): number => (unit >>> 10) << ((unit & 0x200) >>> 6);
const strange = (): NotUnderstood => new NotUnderstood("its precompiled_charsmap cannot be read");

function bytesOfBase64(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    throw strange();
  }
}
