import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Scale } from "../../../src/pictures/scale.ts";
import { digits } from "../../parts/numbers.ts";
import { colourOf, theme } from "../../parts/theme.ts";
import type { Plane } from "./numbers.ts";

// A plane of numbers as colours, on a canvas. Pointing at a cell, or walking there with the arrow keys, says its number.

export interface HeatProps {
  readonly plane: Plane;
  readonly scale: Scale;
  readonly label: string;
  /** What the rows and columns are called, where they have names. */
  readonly rowNames?: readonly string[];
  readonly columnNames?: readonly string[];
  readonly marked?: number;
  /** The row that is lit up elsewhere, as a token that is pointed at; pointing here lights it up there. */
  readonly lit?: Signal<number | undefined>;
  /** Cells that are hidden. */
  readonly hidden?: (row: number, column: number) => boolean;
  /** Cells with a frame. */
  readonly framed?: (row: number, column: number) => boolean;
  readonly choose?: (row: number, column: number) => void;
  readonly shown?: (value: number) => string;
}

const left = 84;
const many = 100;
const leastOf = (count: number): number => (count > many ? 4 : 14);

export function Heat({ plane, scale, label, rowNames, columnNames, marked, lit, hidden, framed, choose, shown = digits }: HeatProps) {
  const { rows, columns } = plane;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [room, setRoom] = useState(600);
  const cell = useSignal<readonly [row: number, column: number] | undefined>(undefined);
  useEffect(() => {
    if (!box.current) return;
    const seen = new ResizeObserver(([{ contentRect }]) => setRoom(Math.max(120, Math.floor(contentRect.width))));
    seen.observe(box.current);
    return () => seen.disconnect();
  }, []);
  const begin = rowNames ? left : 0;
  const top = columnNames ? (columnNames.some((name) => name.length > 1) ? 64 : 20) : 0;
  // Of many tokens not each has room for its name, or the picture would have more pixels than a browser likes.
  const [leastWidth, leastHeight] = [columnNames ? leastOf(columns) : 1, rowNames ? leastOf(rows) : 4];
  const width = Math.min(28, Math.max(leastWidth, (room - begin) / columns));
  const height = rows === 1 ? 28 : Math.min(24, Math.max(leastHeight, columnNames ? width : rows > many ? leastHeight : 18));
  const [wide, high] = [Math.ceil(begin + columns * width), Math.ceil(top + rows * height)];
  const dark = theme.value;
  const at = cell.value;
  const cells = useMemo(() => cellsOf(plane, scale, hidden), [plane, scale, hidden]);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !canvas.current) return;
    const density = devicePixelRatio || 1;
    [canvas.current.width, canvas.current.height] = [wide * density, high * density];
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, wide, high);
    context.imageSmoothingEnabled = width < 1;
    context.drawImage(cells, begin, top, columns * width, rows * height);
    const frame = (row: number, column: number, across: number) => {
      // Dark around light: it shows on every colour.
      for (const [colour, thickness] of [
        ["#000000", 4],
        ["#ffffff", 1.5],
      ] as const) {
        context.strokeStyle = colour;
        context.lineWidth = thickness;
        context.strokeRect(begin + column * width + 1, top + row * height + 1, across * width - 2, height - 2);
      }
    };
    if (marked !== undefined && marked < rows && rows > 1) frame(marked, 0, columns);
    for (let i = 0; framed && i < rows * columns; i++)
      if (framed(Math.floor(i / columns), i % columns)) frame(Math.floor(i / columns), i % columns, 1);
    names(context, { rowNames, columnNames, width, height, begin, top, marked });
  }, [cells, wide, high, dark, marked, framed]);
  const point = (event: PointerEvent) => {
    const { left: x, top: y } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [row, column] = [Math.floor((event.clientY - y - top) / height), Math.floor((event.clientX - x - begin) / width)];
    cell.value = row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : undefined;
    if (lit) lit.value = cell.value?.[0];
  };
  const walk = (event: KeyboardEvent) => {
    if (event.key === "Enter" && at && choose) return choose(...at);
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const [row, column] = at ?? [marked ?? 0, -by[1]];
    cell.value = [Math.min(rows - 1, Math.max(0, row + by[0])), Math.min(columns - 1, Math.max(0, column + by[1]))];
  };
  const nameOf = (axis: string, index: number, given?: readonly string[]) =>
    axis === "" ? "" : `${axis} ${index}${given?.[index] === undefined ? "" : ` ${given[index]}`}`;
  const value = at && plane.data[at[0] * columns + at[1]];
  const where = at && [nameOf(plane.rowAxis, at[0], rowNames), nameOf(plane.columnAxis, at[1], columnNames)].filter(Boolean).join(", ");
  return (
    <div class="stack heat" ref={box}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a table of numbers that is walked with the arrow keys */}
      <div class="scroll" tabIndex={0} role="application" aria-label={`${label}. Arrow keys read its numbers.`} onKeyDown={walk}>
        <div class="heat-sheet" style={{ width: `${wide}px`, height: `${high}px` }}>
          <canvas
            ref={canvas}
            style={{ width: `${wide}px`, height: `${high}px` }}
            onPointerMove={point}
            onPointerLeave={() => {
              cell.value = undefined;
              if (lit) lit.value = undefined;
            }}
            onClick={() => cell.value && choose?.(...cell.value)}
          />
          {lit?.value !== undefined && lit.value < rows && (
            <span
              class="heat-row"
              style={{ left: `${begin}px`, top: `${top + lit.value * height}px`, width: `${columns * width}px`, height: `${height}px` }}
            />
          )}
          {at && (
            <span
              class="heat-cell"
              style={{ left: `${begin + at[1] * width}px`, top: `${top + at[0] * height}px`, width: `${width}px`, height: `${height}px` }}
            />
          )}
        </div>
      </div>
      <small class="readout" aria-live="polite">
        {at && value !== undefined ? (
          `${where}: ${hidden?.(...at) ? "hidden" : shown(value)}`
        ) : (
          <>
            {shown(scale.low)} <span class="scale-bar" style={{ background: gradientOf(scale) }} /> {shown(scale.high)}
          </>
        )}
      </small>
    </div>
  );
}

/** The scale's colours from its low end to its high one. */
const gradientOf = (scale: Scale): string =>
  `linear-gradient(to right, ${Array.from({ length: 11 }, (_, i) => `rgb(${scale.colour(scale.value(i / 10)).join(" ")})`).join(", ")})`;

/** One pixel for each number; the canvas makes them larger. */
function cellsOf({ rows, columns, data }: Plane, scale: Scale, hidden: HeatProps["hidden"]): HTMLCanvasElement {
  const small = document.createElement("canvas");
  [small.width, small.height] = [columns, rows];
  const context = small.getContext("2d");
  const image = context?.createImageData(columns, rows);
  if (!context || !image) return small;
  const colours = Uint32Array.from({ length: 256 }, (_, level) => {
    const [red, green, blue] = scale.colour(scale.value(level / 255));
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0; // as bytes: red, green, blue, opaque
  });
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < data.length; i++)
    if (!hidden?.(Math.floor(i / columns), i % columns)) pixels[i] = colours[Math.round(255 * scale.at(data[i]))];
  context.putImageData(image, 0, 0);
  return small;
}

interface Names extends Pick<HeatProps, "rowNames" | "columnNames" | "marked"> {
  readonly width: number;
  readonly height: number;
  readonly begin: number;
  readonly top: number;
}

function names(context: CanvasRenderingContext2D, { rowNames, columnNames, width, height, begin, top, marked }: Names): void {
  context.font = `12px ${colourOf("mono")}`;
  context.textBaseline = "middle";
  const fitted = (text: string, most: number) => {
    const all = [...text];
    while (all.length > 1 && context.measureText(all.join("")).width > most) all.splice(-2, 2, "…");
    return all.join("");
  };
  context.textAlign = "right";
  const [everyRow, everyColumn] = [Math.ceil(13 / height), Math.ceil(13 / width)];
  for (const [i, name] of (rowNames ?? []).entries()) {
    if (i % everyRow !== 0 && i !== marked) continue;
    context.fillStyle = colourOf(i === marked ? "mark" : "ink");
    context.fillText(fitted(name, begin - 12), begin - 6, top + (i + 0.5) * height);
  }
  const upright = (columnNames ?? []).every((name) => context.measureText(name).width <= width - 2);
  context.textAlign = upright ? "center" : "left";
  for (const [j, name] of (columnNames ?? []).entries()) {
    if (j % everyColumn !== 0) continue;
    context.save();
    context.translate(begin + (j + 0.5) * width, top - (upright ? 9 : 6));
    if (!upright) context.rotate(-Math.PI / 2);
    context.fillStyle = colourOf("ink");
    context.fillText(fitted(name, top - 8), 0, 0);
    context.restore();
  }
}
