import { spelled } from "./escape.ts";

// How a token is written beside a row or a column: whitespace can be seen, nothing runs out of its place.

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** What a reader counts as one letter or sign. */
export const graphemesOf = (text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment);

const whitespace: Readonly<Record<string, string>> = { " ": "␣", "\n": "⏎", "\r": "\\r", "\r\n": "\\r⏎", "\t": "⇥" };
/** Alone they draw nothing, or turn the direction of all that follows. */
const unseen = /^[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Cs}\p{Cn}]/u;
const startsWithMark = /^\p{M}/u;
/** An emoji of a family has fewer parts. */
const mostParts = 12;
/** More marks than any language piles on one letter would paint over the neighbouring rows. */
const pileOfMarks = /(\p{M}{3})\p{M}+/gu;

/** Characters that terminals, and most fonts, draw twice as wide as a Latin letter. */
const wide =
  /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|(?![\uff61-\uffdc])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u;

function shown(grapheme: string): string {
  const known = whitespace[grapheme];
  if (known !== undefined) return known;
  if (unseen.test(grapheme)) return Array.from(grapheme, spelled).join("");
  const whole = startsWithMark.test(grapheme) ? `◌${grapheme}` : grapheme;
  return Array.from(whole.replace(pileOfMarks, "$1")).slice(0, mostParts).join("");
}

/** The graphemes of a text, whitespace and characters that cannot be seen replaced by signs for them. */
const visibleParts = (text: string): string[] => graphemesOf(text).map(shown);

/** A token as it is drawn: ` the` as `␣the`, a newline as `⏎`, an empty token as `∅`. */
export const visible = (token: string): string => (token === "" ? "∅" : visibleParts(token).join(""));

/** How many columns of a terminal a text takes. */
export const cellsOf = (text: string): number => graphemesOf(text).reduce((sum, grapheme) => sum + (wide.test(grapheme) ? 2 : 1), 0);

/** A token cut to so many columns, with … at the end in the place of what is gone. */
export const shortened = (token: string, most: number): string => cut(visible(token), most, "start");

/** A title, a name or a prompt, whose spaces are ordinary spaces, cut to so many columns. */
export const prose = (text: string, most: number, keep: "start" | "end" = "start"): string =>
  cut(
    text
      .split(" ")
      .map((word) => visibleParts(word).join(""))
      .join(" "),
    most,
    keep,
  );

function cut(text: string, most: number, keep: "start" | "end"): string {
  if (cellsOf(text) <= most) return text;
  const parts = graphemesOf(text);
  if (keep === "end") parts.reverse();
  const kept: string[] = [];
  let cells = 1;
  for (const part of parts) {
    cells += wide.test(part) ? 2 : 1;
    if (cells > most) break;
    kept.push(part);
  }
  return keep === "end" ? `…${kept.reverse().join("")}` : `${kept.join("")}…`;
}
