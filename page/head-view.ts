import { colourOf, create, part, perFrame, sharp } from "./dom.ts";
import { columnOf, rowOf, strengthOf, strongest } from "./pattern.ts";
import type { Spot, Viewer } from "./state.ts";

// The head view: queries on the left, keys on the right, a line for each weight. Tokens are elements, so that they can be read, found and
// reached with the keyboard; lines and the glow behind tokens are drawn on one canvas, only where they can be seen.

/** As the style sheet has it. */
const rowHeight = 20;
/** Lines that nobody asked for: the strongest of each query. */
const linesWithoutChoice = 3;
/** Weaker than this share of the strongest is not drawn. */
const faintest = 0.03;

type Side = "query" | "key";

export function headView(viewer: Viewer): void {
  const scroller = part("head-scroller", HTMLDivElement);
  const canvas = part("lines", HTMLCanvasElement);
  const lists = { query: part("queries", HTMLUListElement), key: part("keys", HTMLUListElement) };
  const draw = perFrame(() => drawLines(viewer, canvas, scroller, lists));

  const options = (side: Side, names: readonly string[]) =>
    names.map((name, index) =>
      create("li", { role: "option", id: `${side}-${index}`, "data-index": `${index}` }, create("span", { class: "name" }, name)),
    );
  let shownLook: unknown;
  viewer.whenHeadChanges(() => {
    if (shownLook !== viewer.look) {
      shownLook = viewer.look;
      lists.query.replaceChildren(...options("query", viewer.look.targetTokens));
      lists.key.replaceChildren(...options("key", viewer.look.tokens));
      scroller.scrollTop = 0;
    }
    draw();
  });
  const marked: HTMLElement[] = [];
  viewer.whenSpotChanges(() => {
    for (const element of marked.splice(0)) {
      element.classList.remove("chosen", "pinned");
      element.removeAttribute("aria-selected");
    }
    for (const side of ["query", "key"] as const) {
      const index = viewer.spot[side];
      const element = index === undefined ? undefined : lists[side].children[index];
      lists[side].removeAttribute("aria-activedescendant");
      if (!(element instanceof HTMLElement)) continue;
      element.classList.add("chosen");
      if (viewer.pinned?.[side] === index) element.classList.add("pinned");
      element.setAttribute("aria-selected", "true");
      lists[side].setAttribute("aria-activedescendant", element.id);
      marked.push(element);
    }
    draw();
  });
  for (const side of ["query", "key"] as const) listen(viewer, lists, side, scroller);
  scroller.addEventListener("scroll", draw, { passive: true });
  new ResizeObserver(draw).observe(scroller);
  document.addEventListener("repaint", draw);
}

const indexOf = ({ target }: Event): number | undefined => {
  const option = target instanceof Element ? target.closest("[data-index]") : null;
  return option instanceof HTMLElement ? Number(option.dataset.index) : undefined;
};

function listen(viewer: Viewer, lists: Readonly<Record<Side, HTMLUListElement>>, side: Side, scroller: HTMLElement): void {
  const list = lists[side];
  const only = (index: number): Spot => ({ [side]: index });
  list.addEventListener("pointerover", (event) => {
    const index = indexOf(event);
    if (index !== undefined) viewer.hover(only(index));
  });
  list.addEventListener("pointerleave", () => viewer.hover(undefined));
  list.addEventListener("click", (event) => {
    const index = indexOf(event);
    if (index !== undefined) viewer.pin(only(index));
  });
  list.addEventListener("blur", () => viewer.hover(undefined));
  list.addEventListener("keydown", (event) => {
    const count = list.children.length;
    const page = Math.max(1, Math.floor(scroller.clientHeight / rowHeight) - 1);
    const now = viewer.spot[side] ?? 0;
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: now + 1,
      ArrowUp: now - 1,
      PageDown: now + page,
      PageUp: now - page,
      Home: 0,
      End: count - 1,
    };
    if (event.key in steps) {
      const next = Math.min(count - 1, Math.max(0, steps[event.key]));
      viewer.hover(only(next));
      list.children[next].scrollIntoView({ block: "nearest" });
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const other = event.key === "ArrowLeft" ? "query" : "key";
      const place = Math.min(now, lists[other].children.length - 1);
      lists[other].focus();
      viewer.hover({ [other]: place });
    } else if (event.key === "Enter" || event.key === " ") viewer.pin(only(now));
    else if (event.key === "Escape") {
      viewer.hover(undefined);
      viewer.pin(undefined);
    } else return;
    event.preventDefault();
  });
}

interface Sheet {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly top: number;
  /** Where the gap between the columns begins and ends. */
  readonly left: number;
  readonly right: number;
  readonly colours: { readonly line: string; readonly below: string };
}

function drawLines(viewer: Viewer, canvas: HTMLCanvasElement, scroller: HTMLElement, lists: Readonly<Record<Side, HTMLElement>>): void {
  const { clientWidth: width, clientHeight: height, scrollTop: top } = scroller;
  canvas.style.setProperty("width", `${width}px`);
  canvas.style.setProperty("height", `${height}px`);
  const context = sharp(canvas, width, height);
  const [left, right] = [lists.query.offsetLeft + lists.query.offsetWidth, lists.key.offsetLeft];
  const sheet: Sheet = {
    context,
    width,
    height,
    top,
    left,
    right,
    colours: { line: colourOf("line-of-head"), below: colourOf("below-zero") },
  };
  const { pattern, spot } = viewer;
  const { query, key } = spot;
  if (!viewer.isChosen) drawStrongest(viewer, sheet);
  else if (query !== undefined) {
    const weights = rowOf(pattern, query);
    weights.forEach((weight, other) => {
      fan(viewer, sheet, query, other, weight, key === undefined || key === other ? 1 : 0.3, key === other ? 0.5 : 0);
      glow(viewer, sheet, "key", other, weight);
    });
  } else if (key !== undefined) {
    columnOf(pattern, key).forEach((weight, other) => {
      fan(viewer, sheet, other, key, weight);
      glow(viewer, sheet, "query", other, weight);
    });
  }
}

/** Of every query that can be seen, and of some around. */
function drawStrongest(viewer: Viewer, sheet: Sheet): void {
  const { pattern } = viewer;
  const first = Math.max(0, Math.floor(sheet.top / rowHeight) - 40);
  const last = Math.min(pattern.queries, Math.ceil((sheet.top + sheet.height) / rowHeight) + 40);
  for (let query = first; query < last; query++) {
    const weights = rowOf(pattern, query);
    for (const key of strongest(weights, linesWithoutChoice)) fan(viewer, sheet, query, key, weights[key], 0.75);
  }
}

const middleOf = (index: number, { top }: Sheet): number => (index + 0.5) * rowHeight - top;

function fan({ pattern }: Viewer, sheet: Sheet, query: number, key: number, weight: number, opacity = 1, least = 0): void {
  const strength = Math.max(least, strengthOf(pattern, weight));
  if (strength < faintest) return;
  const [from, to] = [middleOf(query, sheet), middleOf(key, sheet)];
  if (Math.max(from, to) < 0 || Math.min(from, to) > sheet.height) return;
  const { context, left, right, colours } = sheet;
  const bend = 0.45 * (right - left);
  context.globalAlpha = opacity * Math.min(1, 0.08 + 0.92 * strength);
  context.strokeStyle = weight < 0 ? colours.below : colours.line;
  context.lineWidth = 0.75 + 2.5 * strength;
  context.beginPath();
  context.moveTo(left, from);
  context.bezierCurveTo(left + bend, from, right - bend, to, right, to);
  context.stroke();
  context.globalAlpha = 1;
}

/** A bar behind a token, as strong as its weight. */
function glow({ pattern }: Viewer, sheet: Sheet, side: Side, index: number, weight: number): void {
  const middle = middleOf(index, sheet);
  if (weight === 0 || middle < -rowHeight || middle > sheet.height + rowHeight) return;
  const { context, left, right, width, colours } = sheet;
  context.globalAlpha = 0.55 * strengthOf(pattern, weight);
  context.fillStyle = weight < 0 ? colours.below : colours.line;
  if (side === "query") context.fillRect(0, middle - rowHeight / 2 + 1, left, rowHeight - 2);
  else context.fillRect(right, middle - rowHeight / 2 + 1, width - right, rowHeight - 2);
  context.globalAlpha = 1;
}
