/** White_Space of Unicode. Not the \s of JavaScript, which adds U+FEFF and leaves out U+0085. */
export function isWhitespace(code: number): boolean {
  if (code < 0x80) return code === 32 || (code >= 9 && code <= 13);
  if (code < 0x1680) return code === 0x85 || code === 0xa0;
  return (
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x3000 ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x1680
  );
}

/**
 * The largest index at which a text that continues later may be cut, so that the ids of both parts are the ids of the whole,
 * for all kinds trained here; 0 if there is none. A cut is just before whitespace that follows something else.
 */
export function lastCut(text: string): number {
  for (let i = text.length - 1; i > 0; i--) {
    if (isWhitespace(text.charCodeAt(i)) && !isWhitespace(text.charCodeAt(i - 1))) return i;
  }
  return 0;
}

/** The first cut after `from`, or the end of the text. */
export function nextCut(text: string, from: number): number {
  let i = from;
  while (i < text.length && isWhitespace(text.charCodeAt(i))) i++;
  while (i < text.length && !isWhitespace(text.charCodeAt(i))) i++;
  return i;
}

const loneSurrogate = /\p{Surrogate}/gu;

/** Lone surrogates are no text: each becomes U+FFFD, as every encoder to UTF-8 does. */
export const wellFormed = (text: string): string => text.replace(loneSurrogate, "\ufffd");

/** A copy with memory of its own. A slice would keep the long text that it was cut from alive. */
export const ownCopy = (slice: string): string => (slice.length < 13 ? slice : ` ${slice}`.slice(1));
