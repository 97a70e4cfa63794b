import type { AttentionLook } from "../inspection/look.ts";
import { checkLook } from "./check.ts";
import { bar, heat, unitOf } from "./heat.ts";
import { decimal, decimalsFor } from "./number.ts";
import { pooled } from "./pool.ts";
import { attentionScale } from "./scale.ts";
import { group, heading, headingWidth, hover, sheet, text } from "./svg.ts";
import { columnLabels, rowLabels, tokenLabels, upright } from "./token-labels.ts";

const words = { self: "self-attention", cross: "cross-attention", encoder: "encoder self-attention" } as const;

/** The whole picture gets about so many pixels across, and a panel between these. */
const room = 1280;
const smallestPanel = 48;
const largestPanel = 220;
/** A panel of many tokens may be larger, for its cells to keep two pixels. */
const largestOfMany = 400;
const smallestCell = 2;
/** Up to so many tokens the first row and the first column of panels are labelled. */
const labelledTokens = 32;

/** Of maps that were made smaller before: how many queries and keys there were, and how many weights a side a cell stands for. */
export interface MadeSmaller {
  readonly queries: number;
  readonly keys: number;
  readonly side: number;
}

/** All layers (down) × heads (across) as small maps, each on the scale of its own weights, with its end beside it. */
export function attentionGrid(
  look: AttentionLook,
  title = `Attention by layer and head (${words[look.kind]})`,
  whole: MadeSmaller = { queries: look.targetTokens.length, keys: look.tokens.length, side: 1 },
): string {
  const { tokens, targetTokens, layers } = look;
  checkLook(title, look);
  const across = Math.max(...layers.map(({ heads }) => heads.length));
  const side = Math.max(tokens.length, targetTokens.length);
  const largest = Math.max(largestPanel, Math.min(largestOfMany, smallestCell * side));
  const space = Math.min(largest, Math.max(smallestPanel, Math.floor((room - 160) / across) - 12));
  const small = layers.map(({ layer, heads }) => ({
    layer,
    heads: heads.map(({ head, pattern }) => ({ head, ...pooled(pattern, Math.floor(space / smallestCell)) })),
  }));
  const [first] = small[0].heads;
  const cell = Math.floor(space / Math.ceil(side / first.side));
  const [panelWidth, panelHeight] = [cell * first.rows[0].length, cell * first.rows.length];
  const labelled = whole.side === 1 && side <= labelledTokens && cell >= 7;
  const [columns, downs] = [tokenLabels(tokens, cell), tokenLabels(targetTokens, cell)];
  const left = 84 + (labelled ? downs.length : 0);
  const top = 66 + (labelled ? (upright(columns, cell) ? columns.size : columns.length) : 0);
  const [stepX, stepY] = [Math.max(panelWidth, 44) + 14, panelHeight + 24];

  const panels = small.flatMap(({ layer, heads }, i) =>
    heads.map(({ head, rows }, j) => {
      const scale = attentionScale([rows]);
      const [x, y] = [left + j * stepX, top + i * stepY];
      const end = `${scale.open ? "≥ " : ""}${scale.low < 0 ? "±" : ""}${decimal(scale.high, decimalsFor(scale.high))}`;
      return group(
        {},
        hover(`layer ${layer}, head ${head}: the brightest is ${end}`),
        heat(rows, scale, { x, y, width: cell, height: cell }),
        text(end, { x: x + panelWidth, y: y + panelHeight + 8, size: 9, paint: "soft", anchor: "end" }),
      );
    }),
  );
  const [shown] = small.map(({ heads }) => attentionScale([heads[0].rows]));
  const headNames = small.reduce((most, { heads }) => (heads.length > most.length ? heads : most), small[0].heads);
  const below = top + layers.length * stepY;
  const width = Math.max(left + across * stepX + 12, headingWidth(title), 560);
  const sideOfCell = whole.side * first.side;
  const counted = `${whole.queries} ${whole.queries === 1 ? "query" : "queries"} down, ${whole.keys} ${whole.keys === 1 ? "key" : "keys"} across`;
  const note = sideOfCell === 1 ? counted : `${counted}; a square is the strongest weight of ${sideOfCell} × ${sideOfCell}`;
  return sheet(
    { width, height: below + 62, title: `${title}: ${layers.length} layers, ${across} heads` },
    heading(title),
    ...headNames.map(({ head }, j) =>
      text(`head ${head}`, { x: left + j * stepX + panelWidth / 2, y: 48, size: 11, paint: "soft", anchor: "middle" }),
    ),
    ...small.map(({ layer }, i) => text(`layer ${layer}`, { x: 16, y: top + i * stepY + panelHeight / 2, size: 11, paint: "soft" })),
    ...(labelled ? small.map((_, i) => rowLabels(downs, left - 6, top + i * stepY, cell)) : []),
    ...(labelled ? headNames.map((_, j) => columnLabels(columns, left + j * stepX, top - 5, cell)) : []),
    ...panels,
    bar(shown, { x: left, y: below + 6, width: 140 }),
    text(shown.low < 0 ? "−" : "0", { x: left, y: below + 26, size: 10, paint: "soft" }),
    text(shown.low < 0 ? "+" : "highest", { x: left + 140, y: below + 26, size: 10, paint: "soft", anchor: "end" }),
    text(`${unitOf(shown, "attention weight")}; the number below a map is its brightest`, {
      x: left,
      y: below + 42,
      size: 10,
      paint: "soft",
    }),
    text(note, { x: left + 160, y: below + 12, size: 10, paint: "soft" }),
  );
}
