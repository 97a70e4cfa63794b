import { decimal } from "../src/pictures/number.ts";
import { bytesOf, type Packed, type PageHead, valuesOf } from "../src/pictures/page-data.ts";
import { create, part, perFrame } from "./dom.ts";
import { weightAt } from "./pattern.ts";
import { productsOf, stripOf, strongestDimensions } from "./products.ts";
import type { Viewer } from "./state.ts";
import { named } from "./words.ts";

// The neuron view: how a query and a key make a score, dimension by dimension.

interface Unpacked {
  readonly size: number;
  readonly q: Float32Array;
  readonly k: Float32Array;
}

const unpacked = (packed: Packed): Float32Array => {
  const values = valuesOf(packed);
  return Float32Array.from(bytesOf(packed), (byte) => values[byte]);
};

export function neurons(viewer: Viewer): void {
  const table = part("products", HTMLTableElement);
  const note = part("neuron-note", HTMLParagraphElement);
  let kept: { readonly head: PageHead; readonly vectors: Unpacked } | undefined;
  const vectorsOf = (head: PageHead | undefined): Unpacked | undefined => {
    if (head?.vectors === undefined) return undefined;
    if (kept?.head !== head)
      kept = { head, vectors: { size: head.vectors.size, q: unpacked(head.vectors.q), k: unpacked(head.vectors.k) } };
    return kept.vectors;
  };
  const section = part("neurons", HTMLElement);
  const update = perFrame(() => {
    const vectors = vectorsOf(viewer.shown);
    note.textContent = vectors ? (viewer.look.note ?? "") : reason(viewer);
    section.hidden = vectors === undefined && note.textContent === "";
    table.hidden = vectors === undefined;
    if (vectors) table.replaceChildren(...rows(viewer, vectors));
  });
  viewer.whenSpotChanges(update);
  document.addEventListener("repaint", update);
}

const reason = ({ shown, look }: Viewer): string =>
  shown === undefined ? "A mean of heads has no queries and keys; choose one head." : (look.note ?? "");

function rows(viewer: Viewer, { size, q, k }: Unpacked): HTMLElement[] {
  const { look, pattern, spot } = viewer;
  const { query, keys, own, products, scores, reach } = productsOf(pattern, { size, scale: look.scale ?? 1, q, k }, spot);
  const heading = ["", "k", "q × k", `q·k${look.scale === 1 ? "" : ` · ${decimal(look.scale ?? 1, 3)}`}`, "weight"];
  const first = create(
    "tr",
    { class: "query" },
    create("th", { scope: "row" }, create("bdi", { class: "token" }, named(look.targetTokens, query))),
    create("td", {}, strip(own, reach.vectors, "the query")),
    create("td", { class: "soft", colspan: "3" }, `q, ${size} dimensions`),
  );
  return [
    create("thead", {}, create("tr", {}, ...heading.map((words) => create("th", { scope: "col" }, words)))),
    create(
      "tbody",
      {},
      first,
      ...keys.flatMap((key, i) => {
        const cells = [
          create("th", { scope: "row" }, create("bdi", { class: "token" }, named(look.tokens, key))),
          create("td", {}, strip(k.subarray(key * size, (key + 1) * size), reach.vectors, `the key ${look.tokens[key]}`)),
          create("td", {}, strip(products[i], reach.products, strongestDimensions(products[i]))),
          create("td", { class: "number" }, decimal(scores[i])),
          create("td", { class: "number" }, decimal(weightAt(pattern, query, key))),
        ];
        const row = create("tr", key === spot.key ? { class: "chosen" } : {}, ...cells);
        if (i > 0) return [row];
        return [row, create("tr", { class: "soft" }, create("td"), create("td", { colspan: "4" }, strongestDimensions(products[i])))];
      }),
    ),
  ];
}

/** Numbers as colours side by side: blue below zero, orange above. */
function strip(values: Float32Array, reach: number, words: string): HTMLCanvasElement {
  const canvas = create("canvas", { class: "strip", role: "img", "aria-label": words, title: words });
  [canvas.width, canvas.height] = [values.length, 1];
  canvas.getContext("2d")?.putImageData(stripOf(values, reach), 0, 0);
  return canvas;
}
