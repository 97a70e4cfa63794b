import { hex, inkOn, type Rgb } from "./colour.ts";
import { escaped } from "./escape.ts";
import { cellsOf, shortened } from "./label.ts";
import { element, group, hover, paint, text, textWidth } from "./svg.ts";

// Tokens as running text, each on a ground of its own colour, with a word below it.

export interface FlowingToken {
  readonly token: string;
  readonly ground?: Rgb;
  /** Below the token. */
  readonly below?: string;
  /** When pointed at. */
  readonly words: string;
}

export interface Flow {
  readonly drawn: string;
  readonly height: number;
  /** Where the longest line ends. */
  readonly end: number;
}

const [size, smallSize] = [12, 9];
const gap = 3;

/** Lines of tokens from a place on, no wider than the room. */
export function tokenFlow(
  tokens: readonly FlowingToken[],
  { x: left, y: top, width: room }: { x: number; y: number; width: number },
): Flow {
  const hasWords = tokens.some(({ below }) => below !== undefined);
  const lineHeight = hasWords ? 36 : 24;
  let [x, y, end] = [left, top, left];
  const drawn = tokens.map(({ token, ground, below, words }) => {
    const name = shortened(token, 20);
    const width = Math.ceil(Math.max(14, textWidth(cellsOf(name), size) + 8, textWidth(cellsOf(below ?? ""), smallSize) + 4));
    if (x > left && x + width > left + room) [x, y] = [left, y + lineHeight];
    const box = { x, y, width, height: 20, rx: 3 };
    const middle = x + width / 2;
    x += width + gap;
    end = Math.max(end, x);
    return group(
      {},
      hover(words),
      element("rect", { ...box, ...(ground ? { fill: hex(ground) } : paint("blank")) }),
      ground
        ? element(
            "text",
            { x: middle, y: y + 10 + 0.36 * size, "font-size": size, "text-anchor": "middle", fill: inkOn(ground) },
            escaped(name),
          )
        : text(name, { x: middle, y: y + 10, size, anchor: "middle" }),
      below === undefined ? "" : text(below, { x: middle, y: y + 27, size: smallSize, paint: "soft", anchor: "middle" }),
    );
  });
  return { drawn: drawn.join("\n"), height: y - top + lineHeight, end };
}
