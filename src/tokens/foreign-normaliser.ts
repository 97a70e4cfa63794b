import { Charsmap } from "./charsmap.ts";
import { normalised } from "./normaliser.ts";
import { flagOf, NotUnderstood, type Part, partOf, partsOf, stringOf } from "./not-understood.ts";
import { translated } from "./oniguruma.ts";

// The normalisers of files from elsewhere, as the `tokenizers` package does them.

export type Normaliser = (text: string) => string;

export function foreignNormaliser(json: object | null): Normaliser | undefined {
  const steps = partsOf(json, "normalizers").map(normaliserOf);
  if (steps.length === 0) return undefined;
  return (text) => steps.reduce((read, step) => step(read), text);
}

function normaliserOf(part: Part): Normaliser {
  const { type } = part;
  if (type === "NFC" || type === "NFD" || type === "NFKC" || type === "NFKD") return (text) => text.normalize(type);
  if (type === "Lowercase") return lowercase;
  if (type === "StripAccents") return (text) => text.replace(/\p{M}/gu, "");
  if (type === "Prepend") return prepend(stringOf(part, "prepend"));
  if (type === "Replace") return replacement(part);
  if (type === "Strip") return strip(flagOf(part, "strip_left"), flagOf(part, "strip_right"));
  if (type === "BertNormalizer") return bertNormaliser(part);
  if (type === "Precompiled") {
    const charsmap = stringOf(part, "precompiled_charsmap");
    if (charsmap === "") throw new NotUnderstood("its precompiled_charsmap is empty");
    const map = new Charsmap(charsmap);
    return (text) => map.normalised(text);
  }
  throw new NotUnderstood(`its normalizer ${String(type)} is of no known sort`);
}

const lowercase: Normaliser = (text) => normalised(text, { lowercase: true });
const prepend =
  (what: string): Normaliser =>
  (text) =>
    text === "" ? "" : what + text;

/** Every place of a pattern with something else in it; the same for normalisers and decoders. */
export function replacement(part: Part): Normaliser {
  const content = stringOf(part, "content");
  const pattern = partOf(part.pattern, "pattern");
  if (typeof pattern.String === "string") {
    const wanted = pattern.String;
    return (text) => (text.includes(wanted) ? text.replaceAll(wanted, () => content) : text);
  }
  const regex = translated(stringOf(pattern, "Regex"));
  return (text) => text.replace(regex, () => content);
}

function strip(left: boolean, right: boolean): Normaliser {
  return (text) => {
    const begun = left ? text.replace(/^\p{White_Space}+/u, "") : text;
    if (!right) return begun;
    let end = begun.length;
    while (end > 0 && /\p{White_Space}/u.test(begun[end - 1])) end--;
    return begun.slice(0, end);
  };
}

const ordinary = /^[\t\n\r -~]*$/;
const removed = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/gu;
const spaces = /\p{White_Space}/gu;
const chinese =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;

function bertNormaliser(part: Part): Normaliser {
  const [clean, apart, lower] = [flagOf(part, "clean_text"), flagOf(part, "handle_chinese_chars"), flagOf(part, "lowercase")];
  const accents = flagOf(part, "strip_accents", lower);
  return (text) => {
    const cleaned = clean ? cleanText(text) : text;
    if (ordinary.test(cleaned)) return lower ? cleaned.toLowerCase() : cleaned;
    const spaced = apart ? cleaned.replace(chinese, " $& ") : cleaned;
    const stripped = accents ? spaced.normalize("NFD").replace(/\p{Mn}/gu, "") : spaced;
    return lower ? lowercase(stripped) : stripped;
  };
}

const cleanText = (text: string): string =>
  ordinary.test(text) ? text.replace(/[\t\n\r]/g, " ") : text.replace(removed, "").replace(spaces, " ");
