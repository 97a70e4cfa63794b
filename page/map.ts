import { decimal, decimalsFor } from "../src/pictures/number.ts";
import { part, perFrame } from "./dom.ts";
import { pixelsOf } from "./pattern.ts";
import type { Viewer } from "./state.ts";

// All weights of a head: queries down, keys across, one pixel for each, which the style sheet enlarges.

const room = 420;

export function map(viewer: Viewer): void {
  const canvas = part("map", HTMLCanvasElement);
  const bands = { query: part("query-band", HTMLDivElement), key: part("key-band", HTMLDivElement) };
  viewer.whenHeadChanges(() => drawMap(viewer, canvas));
  viewer.whenSpotChanges(
    perFrame(() => {
      const { tokens, targetTokens } = viewer.look;
      for (const [side, count] of [["query", targetTokens.length] as const, ["key", tokens.length] as const]) {
        const index = viewer.spot[side];
        bands[side].hidden = index === undefined;
        variables(bands[side], { index: index ?? 0, count });
      }
    }),
  );
  const spotAt = ({ clientX, clientY }: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    const index = (share: number, count: number) => Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    return {
      query: index((clientY - box.top) / box.height, viewer.pattern.queries),
      key: index((clientX - box.left) / box.width, viewer.pattern.keys),
    };
  };
  canvas.addEventListener("pointermove", (event) => viewer.hover(spotAt(event)));
  canvas.addEventListener("pointerleave", () => viewer.hover(undefined));
  canvas.addEventListener("click", (event) => viewer.pin(spotAt(event)));
  canvas.addEventListener("blur", () => viewer.hover(undefined));
  canvas.addEventListener("keydown", (event) => moveOnMap(viewer, event));
}

function drawMap({ pattern }: Viewer, canvas: HTMLCanvasElement): void {
  const image = pixelsOf(pattern, Math.max(pattern.queries, pattern.keys));
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  const cell = Math.max(1, Math.min(28, Math.floor(room / Math.max(pattern.queries, pattern.keys))));
  variables(canvas, { rows: pattern.queries, columns: pattern.keys, cell });
  const { scale } = pattern;
  const high = decimal(scale.high, decimalsFor(scale.high));
  part("least", HTMLSpanElement).textContent = scale.low < 0 ? `−${high}` : "0";
  part("most", HTMLSpanElement).textContent = `${scale.open ? "≥ " : ""}${high} ${scale.steps === "root" ? "(square-root scale)" : ""}`;
  const stops = Array.from({ length: 9 }, (_, i) => `rgb(${scale.colour(scale.value(i / 8)).join(" ")})`);
  part("bar", HTMLSpanElement).style.setProperty("background", `linear-gradient(to right,${stops.join(",")})`);
}

/** Numbers that the style sheet reckons with. */
function variables(element: HTMLElement, values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) element.style.setProperty(`--${name}`, `${value}`);
}

function moveOnMap(viewer: Viewer, event: KeyboardEvent): void {
  const { query = 0, key = 0 } = viewer.spot;
  const steps: Readonly<Record<string, readonly [number, number]>> = {
    ArrowRight: [0, 1],
    ArrowLeft: [0, -1],
    ArrowDown: [1, 0],
    ArrowUp: [-1, 0],
  };
  const limit = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
  const step = steps[event.key];
  if (step !== undefined)
    viewer.hover({ query: limit(query + step[0], viewer.pattern.queries), key: limit(key + step[1], viewer.pattern.keys) });
  else if (event.key === "Enter" || event.key === " ") viewer.pin({ query, key });
  else if (event.key === "Escape") {
    viewer.hover(undefined);
    viewer.pin(undefined);
  } else return;
  event.preventDefault();
}
