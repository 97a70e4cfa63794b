// Sets of characters as ranges of code points, in order and apart; and how UTF-8 writes them.

export type Range = readonly [low: number, high: number];
export type CodePoints = readonly Range[];

const last = 0x10ffff;
/** Everything that UTF-8 can write: surrogates are halves of characters. */
export const everyCodePoint: CodePoints = [
  [0, 0xd7ff],
  [0xe000, last],
];

export function codePoints(...given: readonly (string | Range)[]): CodePoints {
  const ranges = given.flatMap((one) =>
    typeof one === "string" ? Array.from(one, (character): Range => [character.codePointAt(0) ?? 0, character.codePointAt(0) ?? 0]) : [one],
  );
  const found: [number, number][] = [];
  for (const [low, high] of ranges.sort((a, b) => a[0] - b[0])) {
    const before = found.at(-1);
    if (before && low <= before[1] + 1) before[1] = Math.max(before[1], high);
    else found.push([low, high]);
  }
  return found;
}

export function common(a: CodePoints, b: CodePoints): CodePoints {
  const found: Range[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [low, high] = [Math.max(a[i][0], b[j][0]), Math.min(a[i][1], b[j][1])];
    if (low <= high) found.push([low, high]);
    if (a[i][1] < b[j][1]) i++;
    else j++;
  }
  return found;
}

export function without(a: CodePoints, b: CodePoints): CodePoints {
  const rest: Range[] = [];
  let from = 0;
  for (const [low, high] of b) {
    if (low > from) rest.push([from, low - 1]);
    from = high + 1;
  }
  if (from <= last) rest.push([from, last]);
  return common(a, rest);
}

export const hasCodePoint = (set: CodePoints, point: number): boolean => set.some(([low, high]) => low <= point && point <= high);

/** The bytes of a set's characters: each row of byte ranges is a way to write some of them. */
export function byteRows(set: CodePoints): Range[][] {
  return common(set, everyCodePoint).flatMap(([low, high]) => rows(low, high));
}

/** The last code points of each length, and where the rest of a character begins anew. */
const lengths = [0x7f, 0x7ff, 0xffff, last];

function rows(low: number, high: number): Range[][] {
  for (const most of lengths) if (low <= most && most < high) return [...rows(low, most), ...rows(most + 1, high)];
  if (high < 0x80) return [[[low, high]]];
  for (const bits of [6, 12, 18]) {
    const mask = (1 << bits) - 1;
    if (low >> bits === high >> bits) continue;
    // Below its first different byte, a row may only have all that there is.
    if ((low & mask) !== 0) return [...rows(low, low | mask), ...rows((low | mask) + 1, high)];
    if ((high & mask) !== mask) return [...rows(low, (high & ~mask) - 1), ...rows(high & ~mask, high)];
  }
  const [from, to] = [encoded(low), encoded(high)];
  return [from.map((byte, i): Range => [byte, to[i]])];
}

const encoder = new TextEncoder();
const encoded = (point: number): number[] => [...encoder.encode(String.fromCodePoint(point))];
