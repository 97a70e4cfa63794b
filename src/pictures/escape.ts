/** What XML 1.0 cannot hold, not even as a reference: most control characters, halves of pairs, U+FFFE and U+FFFF. */
const forbidden = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const special = /[&<>"'\t\n\r]/g;

const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
};

/** A character that cannot be drawn, in letters that can: `\u{7}`. */
export const spelled = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;

/** Any text, fit for the inside of an element and for an attribute between quotes. */
export const escaped = (text: string): string => text.replace(forbidden, spelled).replace(special, (character) => references[character]);
