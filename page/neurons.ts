import { colourAt } from "../src/pictures/colour.ts";
import { decimal } from "../src/pictures/number.ts";
import { bytesOf, type Packed, type PageHead, valuesOf } from "../src/pictures/page-data.ts";
import { create, part, perFrame } from "./dom.ts";
import { rowOf, strongest, weightAt } from "./pattern.ts";
import type { Viewer } from "./state.ts";
import { named } from "./words.ts";

// The neuron view: how a query and a key make a score, dimension by dimension.

const keysShown = 6;
const dimensionsNamed = 4;

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
  const query = spot.query ?? strongest(rowsOfKey(viewer, spot.key ?? 0), 1)[0] ?? 0;
  const others = strongest(rowOf(pattern, query), keysShown).filter((key) => key !== spot.key);
  const keys = spot.key === undefined ? others : [spot.key, ...others.slice(0, keysShown - 1)];
  const own = q.subarray(query * size, (query + 1) * size);
  const products = keys.map((key) => own.map((value, i) => value * k[key * size + i]));
  const reach = {
    vectors: Math.max(largest(own), ...keys.map((key) => largest(k.subarray(key * size, (key + 1) * size)))),
    products: Math.max(...products.map(largest), 1e-9),
  };
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
        const score = products[i].reduce((sum, value) => sum + value, 0) * (look.scale ?? 1);
        const cells = [
          create("th", { scope: "row" }, create("bdi", { class: "token" }, named(look.tokens, key))),
          create("td", {}, strip(k.subarray(key * size, (key + 1) * size), reach.vectors, `the key ${look.tokens[key]}`)),
          create("td", {}, strip(products[i], reach.products, strongestDimensions(products[i]))),
          create("td", { class: "number" }, decimal(score)),
          create("td", { class: "number" }, decimal(weightAt(pattern, query, key))),
        ];
        const row = create("tr", key === spot.key ? { class: "chosen" } : {}, ...cells);
        if (i > 0) return [row];
        return [row, create("tr", { class: "soft" }, create("td"), create("td", { colspan: "4" }, strongestDimensions(products[i])))];
      }),
    ),
  ];
}

const rowsOfKey = ({ pattern }: Viewer, key: number): Float32Array =>
  Float32Array.from({ length: pattern.queries }, (_, query) => weightAt(pattern, query, key));

const largest = (values: Float32Array): number => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

const strongestDimensions = (products: Float32Array): string =>
  `most from dimensions ${strongest(products, dimensionsNamed)
    .map((dimension) => `${dimension} (${products[dimension] > 0 ? "+" : "−"}${decimal(Math.abs(products[dimension]))})`)
    .join(", ")}`;

/** Numbers as colours side by side: blue below zero, orange above. */
function strip(values: Float32Array, reach: number, words: string): HTMLCanvasElement {
  const canvas = create("canvas", { class: "strip", role: "img", "aria-label": words, title: words });
  [canvas.width, canvas.height] = [values.length, 1];
  const image = new ImageData(values.length, 1);
  for (const [i, value] of values.entries()) image.data.set([...colourAt("diverging", 0.5 + value / (2 * (reach || 1))), 255], 4 * i);
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  return canvas;
}
