import { decimal } from "../src/pictures/number.ts";
import type { PageHead, PageLook } from "../src/pictures/page-data.ts";
import { create, part } from "./dom.ts";
import { patternOf, pixelsOf } from "./pattern.ts";
import type { Viewer } from "./state.ts";

// All layers and heads as small maps; each is a button that opens its head.

const mostPixels = 64;
/** So many milliseconds of drawing, then the reader's turn. */
const patience = 8;

export function overview(viewer: Viewer): void {
  const table = part("overview", HTMLTableElement);
  let drawn: PageLook | undefined;
  viewer.whenHeadChanges(() => {
    if (drawn !== viewer.look) {
      drawn = viewer.look;
      fill(viewer, table);
    }
    for (const button of buttonsOf(table)) {
      const isShown = button.dataset.place === `${viewer.layer} ${viewer.head}`;
      button.setAttribute("aria-pressed", `${isShown}`);
      button.tabIndex = isShown || (viewer.head === -1 && button.dataset.place === `${viewer.layer} 0`) ? 0 : -1;
    }
  });
  table.addEventListener("keydown", (event) => move(viewer, table, event));
}

const buttonsOf = (table: HTMLElement): HTMLButtonElement[] => [...table.querySelectorAll("button")];

function fill(viewer: Viewer, table: HTMLTableElement): void {
  const { look } = viewer;
  const across = Math.max(...look.layers.map(({ heads }) => heads.length));
  const numbers = look.layers.reduce((most, { heads }) => (heads.length > most.length ? heads : most), look.layers[0].heads);
  const work: (() => void)[] = [];
  const head = create("tr", {}, create("td"), ...numbers.map(({ head: number }) => create("th", { scope: "col" }, `${number}`)));
  const rows = look.layers.map(({ layer, heads }, i) => {
    const cells = heads.map((own, j) => {
      const canvas = create("canvas", { "aria-hidden": "true" });
      work.push(() => thumbnail(canvas, look, own));
      const button = create(
        "button",
        { type: "button", "data-place": `${i} ${j}`, "aria-label": described(layer, own), title: described(layer, own) },
        canvas,
      );
      button.addEventListener("click", () => viewer.chooseHead(i, j));
      return create("td", {}, button);
    });
    return create("tr", {}, create("th", { scope: "row" }, `${layer}`), ...cells);
  });
  table.style.setProperty("--across", `${across}`);
  table.replaceChildren(create("thead", {}, head), create("tbody", {}, ...rows));
  inTurns(work, () => viewer.look === look);
}

/** What a head does, in words. */
export function described(layer: number, { head, summary }: PageHead): string {
  const { entropy, previous, first, diagonal, same } = summary;
  const shares = { previous, first, diagonal, "same token": same };
  const words = Object.entries(shares).flatMap(([name, share]) => (share === undefined ? [] : [`${name} ${decimal(share)}`]));
  return [`layer ${layer}, head ${head}`, ...(entropy === undefined ? [] : [`entropy ${decimal(entropy)} nats`]), ...words].join(", ");
}

function thumbnail(canvas: HTMLCanvasElement, look: PageLook, head: PageHead): void {
  const image = pixelsOf(patternOf(look, head), mostPixels);
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}

/** A little at a time, as long as it is wanted. */
function inTurns(work: (() => void)[], isWanted: () => boolean): void {
  const end = performance.now() + patience;
  while (work.length > 0 && performance.now() < end) work.shift()?.();
  if (work.length > 0 && isWanted()) requestAnimationFrame(() => inTurns(work, isWanted));
}

function move(viewer: Viewer, table: HTMLTableElement, event: KeyboardEvent): void {
  const steps: Readonly<Record<string, readonly [number, number]>> = {
    ArrowRight: [0, 1],
    ArrowLeft: [0, -1],
    ArrowDown: [1, 0],
    ArrowUp: [-1, 0],
  };
  const step = steps[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const { layers } = viewer.look;
  const layer = Math.min(layers.length - 1, Math.max(0, viewer.layer + step[0]));
  const head = Math.min(layers[layer].heads.length - 1, Math.max(0, Math.max(0, viewer.head) + step[1]));
  viewer.chooseHead(layer, head);
  buttonsOf(table)
    .find(({ dataset }) => dataset.place === `${layer} ${head}`)
    ?.focus();
}
