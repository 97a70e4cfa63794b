// How a text is cut into words before a model sees them, as regular expressions that mean the same to Oniguruma in the
// `tokenizers` package and, with \s spelt out, to JavaScript.

const punctuation = "\\p{P}!-/:-@\\[-`{-~";

export const patterns = {
  /** GPT-2: a word, a number or a run of signs, each with the space before it. */
  byteWords: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  /** Words and runs of signs. */
  words: "[\\p{L}\\p{M}\\p{N}_]+|[^\\s\\p{L}\\p{M}\\p{N}_]+",
  /** BERT: words, and each sign by itself. */
  bertWords: `[^\\s${punctuation}]+|[${punctuation}]`,
};

/** The same pattern for JavaScript, whose own \s is not Unicode's. */
export const compiled = (pattern: string): RegExp =>
  new RegExp(pattern.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}"), "gu");

export const isPunctuation = (character: string): boolean => single.test(character);
const single = new RegExp(`^[${punctuation}]$`, "u");
