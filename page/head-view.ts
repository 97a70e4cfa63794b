import { colourOf, create, part, perFrame, sharp } from "./dom.ts";
import { drawLines, rowHeight, type Side } from "./lines.ts";
import type { Spot, Viewer } from "./state.ts";

// The head view: queries on the left, keys on the right, a line for each weight. Tokens are elements, so that they can be read, found and
// reached with the keyboard; lines and the glow behind tokens are drawn on one canvas, only where they can be seen.

export function headView(viewer: Viewer): void {
  const scroller = part("head-scroller", HTMLDivElement);
  const canvas = part("lines", HTMLCanvasElement);
  const lists = { query: part("queries", HTMLUListElement), key: part("keys", HTMLUListElement) };
  const redraw = perFrame(() => draw(viewer, canvas, scroller, lists));

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
    redraw();
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
    redraw();
  });
  for (const side of ["query", "key"] as const) listen(viewer, lists, side, scroller);
  scroller.addEventListener("scroll", redraw, { passive: true });
  new ResizeObserver(redraw).observe(scroller);
  document.addEventListener("repaint", redraw);
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

function draw(
  { pattern, spot, isChosen }: Viewer,
  canvas: HTMLCanvasElement,
  scroller: HTMLElement,
  lists: Readonly<Record<Side, HTMLElement>>,
): void {
  const { clientWidth: width, clientHeight: height, scrollTop: top } = scroller;
  canvas.style.setProperty("width", `${width}px`);
  canvas.style.setProperty("height", `${height}px`);
  const [left, right] = [lists.query.offsetLeft + lists.query.offsetWidth, lists.key.offsetLeft];
  const colours = { line: colourOf("line-of-head"), below: colourOf("below-zero") };
  drawLines({ context: sharp(canvas, width, height), width, height, top, left, right, colours }, pattern, isChosen ? spot : {});
}
