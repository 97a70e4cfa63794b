import { checkMatrix, type Matrix } from "./check.ts";
import type { Rgb } from "./colour.ts";
import { cellsOf, graphemesOf, shortened } from "./label.ts";
import { decimal, decimalsFor } from "./number.ts";
import { pooled } from "./pool.ts";
import { attentionScale, type Scale } from "./scale.ts";

export interface TextOptions {
  /** How wide the terminal is. */
  readonly columns?: number;
  /** 24-bit colours in the place of shades. */
  readonly colour?: boolean;
}

const swatchCount = 12;
const shades = [" ", "░", "▒", "▓", "█"];
const longestLabel = 14;
const headerRows = 8;
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
const leftToRightMark = "\u200e";

/** One head in a terminal: queries down the side, keys along the top, a shade or a colour for each weight. */
export function attentionText(
  pattern: Matrix,
  tokens: readonly string[],
  targetTokens: readonly string[],
  { columns = 80, colour = false }: TextOptions = {},
): string {
  checkMatrix("Attention", pattern, { rows: targetTokens.length, columns: tokens.length });
  const most = Math.max(4, Math.min(longestLabel, Math.floor(columns / 6)));
  const names = targetTokens.map((token) => shortened(token, most));
  const margin = Math.max(...names.map(cellsOf));
  const room = Math.max(1, columns - margin - 3);
  const { rows, side } = pooled(pattern, room, Number.POSITIVE_INFINITY);
  const kept = (_: string, i: number) => i % side === 0;
  const heads = tokens.filter(kept);
  // Two characters make a square.
  const cell = 2 * heads.length <= room ? 2 : 1;
  const scale = attentionScale([rows]);
  const lines = rows.map((row, i) => {
    const name = names[i * side];
    const mark = rightToLeft.test(name) ? leftToRightMark : "";
    return `${" ".repeat(margin - cellsOf(name))}${name}${mark} │${row.map((value) => filled(value, scale, cell, colour)).join("")}│`;
  });
  const rule = (left: string, right: string) => `${" ".repeat(margin + 1)}${left}${"─".repeat(cell * heads.length)}${right}`;
  const note = side === 1 ? "" : `; a cell is the strongest weight of ${side} × ${side}`;
  const key = colour ? swatches(scale) : shades.slice(1).join("");
  const sizesOnly = scale.table === "diverging" && !colour;
  const high = decimal(scale.high, decimalsFor(scale.high));
  const [from, to] = sizesOnly ? ["0", `±${high}`] : [scale.low < 0 ? `-${high}` : "0", `${scale.open ? "≥ " : ""}${high}`];
  const steps = scale.steps === "root" ? " (square-root scale)" : "";
  const caption = `${from} ${key} ${to}${steps}${note}`;
  // In a terminal too narrow for words the map alone is drawn.
  const fits = cellsOf(from + to + steps + note) + swatchCount + 2 <= columns;
  return [...header(heads, cell, margin), rule("┌", "┐"), ...lines, rule("└", "┘"), ...(fits ? [caption] : [])].join("\n");
}

/** The keys' names, written downwards and ending at the rule. */
function header(tokens: readonly string[], cell: number, margin: number): string[] {
  const names = tokens.map((token) => graphemesOf(shortened(token, headerRows)));
  const height = Math.max(...names.map((name) => name.length));
  return Array.from({ length: height }, (_, line) => {
    const letters = names.map((name) => {
      const letter = name[line - (height - name.length)] ?? " ";
      // A wide letter in a narrow cell would push all that follows to the right.
      return cellsOf(letter) > cell ? "□" : letter + " ".repeat(cell - cellsOf(letter));
    });
    return `${" ".repeat(margin + 2)}${letters.join("")}`.trimEnd();
  });
}

function filled(value: number, scale: Scale, cell: number, colour: boolean): string {
  if (colour) return value === 0 ? " ".repeat(cell) : painted(scale.colour(value), " ".repeat(cell));
  // Shades can show the size of a weight, not its sign.
  const place = scale.table === "diverging" ? Math.abs(2 * scale.at(value) - 1) : scale.at(value);
  return shades[value === 0 ? 0 : Math.min(4, 1 + Math.floor(4 * place))].repeat(cell);
}

const painted = ([red, green, blue]: Rgb, text: string): string => `\x1b[48;2;${red};${green};${blue}m${text}\x1b[0m`;

const swatches = (scale: Scale): string =>
  Array.from({ length: swatchCount }, (_, i) => painted(scale.colour(scale.value(i / (swatchCount - 1))), " ")).join("");
