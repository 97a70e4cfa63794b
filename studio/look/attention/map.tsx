import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { sharp } from "../../../page/dom.ts";
import { type Pattern, pixelsOf } from "../../../page/pattern.ts";
import type { Spot } from "../../../page/state.ts";
import { inkOn } from "../../../src/pictures/colour.ts";
import { decimal, decimalsFor } from "../../../src/pictures/number.ts";
import { colourOf, theme } from "../../parts/theme.ts";
import { labelOf } from "./labels.ts";
import type { HeadProps } from "./lines.tsx";
import { sizesOf } from "./map-sizes.ts";
import type { Spots } from "./spots.ts";

// A head as a map: queries down, keys across; of an alignment, the target down and the source across. One canvas is drawn when the weights
// change; pointing moves two frames over it.

export interface MapProps extends HeadProps {
  readonly words: { readonly rows: string; readonly columns: string };
  readonly describedBy: string;
}

export function WeightMap({ pattern, tokens, targetTokens, spots, words, describedBy }: MapProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const bands = { query: useRef<HTMLDivElement>(null), key: useRef<HTMLDivElement>(null) };
  const [room, setRoom] = useState(0);
  useEffect(() => {
    if (!frame.current) return;
    const observer = new ResizeObserver(([entry]) => setRoom(Math.floor(entry.contentRect.width)));
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  const sizes = sizesOf(pattern.queries, pattern.keys, room, Math.max(0, ...[...tokens, ...targetTokens].map((token) => token.length)));
  useEffect(() => {
    if (canvas.current && room > 0) draw(canvas.current, pattern, tokens, targetTokens, sizes);
  }, [pattern, tokens, targetTokens, room, theme.value]);
  const { cell, left, top } = sizes;
  const place = () => {
    const { query, key } = spots.spot.value;
    band(bands.query.current, query, { left, top: top + (query ?? 0) * cell, width: pattern.keys * cell, height: cell });
    band(bands.key.current, key, { left: left + (key ?? 0) * cell, top, width: cell, height: pattern.queries * cell });
  };
  useEffect(place);
  const placed = useRef(place);
  placed.current = place;
  useSignalEffect(() => placed.current());
  const spotAt = ({ clientX, clientY }: PointerEvent | MouseEvent): Spot | undefined => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return undefined;
    const [key, query] = [Math.floor((clientX - box.left - left) / cell), Math.floor((clientY - box.top - top) / cell)];
    const spot = {
      ...(query >= 0 && query < pattern.queries && { query }),
      ...(key >= 0 && key < pattern.keys && { key }),
    };
    return "query" in spot || "key" in spot ? spot : undefined;
  };
  return (
    <div class="head-map" ref={frame}>
      <small>
        {words.rows} ↓ {words.columns} →
      </small>
      <div class="scroll">
        <div
          class="sheet"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: an application is walked over with the arrow keys
          tabIndex={0}
          role="application"
          aria-label={`The weights as a map: ${words.rows} down, ${words.columns} across. The arrow keys move over it, Enter pins.`}
          aria-describedby={describedBy}
          style={{ width: `${sizes.width}px`, height: `${sizes.height}px` }}
          onPointerMove={(event) => spots.hover(spotAt(event))}
          onPointerLeave={() => spots.hover(undefined)}
          onBlur={() => spots.hover(undefined)}
          onClick={(event) => {
            const spot = spotAt(event);
            if (spot) spots.pin(spot);
          }}
          onKeyDown={(event) => walk(event, pattern, spots)}
        >
          <canvas ref={canvas} style={{ width: `${sizes.width}px`, height: `${sizes.height}px` }} />
          <div class="band" ref={bands.query} hidden />
          <div class="band" ref={bands.key} hidden />
        </div>
      </div>
    </div>
  );
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

function band(element: HTMLElement | null, index: number | undefined, { left, top, width, height }: Box): void {
  if (!element) return;
  element.hidden = index === undefined;
  Object.assign(element.style, { transform: `translate(${left}px, ${top}px)`, width: `${width}px`, height: `${height}px` });
}

/** From this size on a cell has room for its number. */
const numbered = 32;

function draw(
  canvas: HTMLCanvasElement,
  pattern: Pattern,
  tokens: readonly string[],
  targetTokens: readonly string[],
  { cell, left, top, width, height }: ReturnType<typeof sizesOf>,
): void {
  const { queries, keys, weights, scale } = pattern;
  const image = pixelsOf(pattern, Math.max(queries, keys));
  const small = new OffscreenCanvas(image.width, image.height);
  small.getContext("2d")?.putImageData(image, 0, 0);
  const context = sharp(canvas, width, height);
  context.fillStyle = colourOf("blank");
  context.fillRect(left, top, keys * cell, queries * cell);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, left, top, keys * cell, queries * cell);
  if (left > 0) {
    context.font = `${Math.min(12, cell)}px ${colourOf("mono")}`;
    context.fillStyle = colourOf("ink");
    context.textBaseline = "middle";
    context.textAlign = "right";
    const most = Math.floor((left - 8) / (0.62 * Math.min(12, cell)));
    for (const [i, token] of targetTokens.entries()) context.fillText(labelOf(token, most), left - 6, top + (i + 0.5) * cell);
    context.textAlign = "left";
    for (const [j, token] of tokens.entries()) {
      context.save();
      context.translate(left + (j + 0.5) * cell, top - 6);
      context.rotate(-Math.PI / 2);
      context.fillText(labelOf(token, most), 0, 0);
      context.restore();
    }
  }
  if (cell < numbered) return;
  const decimals = decimalsFor(scale.high);
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < queries; i++)
    for (let j = 0; j < keys; j++) {
      const weight = weights[i * keys + j];
      if (weight === 0) continue;
      context.fillStyle = inkOn(scale.colour(weight));
      context.fillText(decimal(weight, decimals), left + (j + 0.5) * cell, top + (i + 0.5) * cell);
    }
}

function walk(event: KeyboardEvent, { queries, keys }: Pattern, spots: Spots): void {
  const { query = 0, key = 0 } = spots.spot.peek();
  const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  const limit = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
  if (step) spots.hover({ query: limit(query + step[0], queries), key: limit(key + step[1], keys) });
  else if (event.key === "Enter" || event.key === " ") spots.pin({ query, key });
  else if (event.key === "Escape") {
    spots.hover(undefined);
    spots.pin({});
  } else return;
  event.preventDefault();
}
