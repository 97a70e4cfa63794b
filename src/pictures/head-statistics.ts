import { checkNumbers, checkSome, type Matrix } from "./check.ts";
import { hex } from "./colour.ts";
import { legend, legendHeight, numberOn } from "./heat.ts";
import { decimal } from "./number.ts";
import { fromZero } from "./scale.ts";
import { element, group, heading, headingWidth, hover, paint, sheet, text } from "./svg.ts";

/** What is known of a head. A score that makes no sense for its kind of attention is left out. */
export interface HeadScores {
  readonly head: number;
  readonly entropy?: number | undefined;
  readonly previous?: number | undefined;
  readonly first?: number | undefined;
  readonly diagonal?: number | undefined;
  readonly same?: number | undefined;
}

export interface HeadStatistics {
  readonly layers: readonly { readonly layer: number; readonly heads: readonly HeadScores[] }[];
  readonly title?: string;
}

const columns = [
  { key: "entropy", name: "entropy (nats)" },
  { key: "previous", name: "previous (share)" },
  { key: "first", name: "first (share)" },
  { key: "diagonal", name: "diagonal (share)" },
  { key: "same", name: "same token (share)" },
] as const;

/** Smaller cells have no number in them, and a legend below. */
const smallestWithNumber = 28;

/** A small table for each statistic: layers down, heads across. Entropy has a scale of its own, scores go from 0 to 1. */
export function headStatistics({ layers, title = "What the heads do" }: HeadStatistics): string {
  checkSome(title, layers, "layers");
  for (const { layer, heads } of layers) checkSome(`${title}, layer ${layer}`, heads, "heads");
  const all = layers.flatMap(({ heads }) => heads);
  const known = columns.filter(({ key }) => all.some((head) => head[key] !== undefined));
  for (const { key, name } of known)
    checkNumbers(
      `${title}, ${name}`,
      all.flatMap((head) => head[key] ?? []),
    );

  const across = Math.max(...layers.map(({ heads }) => heads.length));
  const cell = Math.max(6, Math.min(34, Math.floor(1100 / (known.length * across)), Math.floor(900 / layers.length)));
  const [left, top] = [66, 84];
  const step = Math.max(cell * across, 112) + 22;
  const [every, everyHead] = [Math.ceil(12 / cell), Math.ceil(16 / cell)];
  const widest = layers.reduce((a, b) => (b.heads.length > a.heads.length ? b : a)).heads;
  const tables = known.map(({ key, name }, place) => {
    const x = left + place * step;
    const values: Matrix = layers.map(({ heads }) => heads.flatMap((head) => head[key] ?? []));
    const scale = fromZero([values], key === "entropy" ? undefined : 1);
    const square = (value: number | undefined, layer: number, head: number, i: number, j: number): string => {
      const box = { x: x + j * cell, y: top + i * cell, width: cell - 1, height: cell - 1 };
      if (value === undefined) return element("rect", { ...box, ...paint("blank") });
      const colour = scale.colour(value);
      const shape = element("rect", { ...box, fill: hex(colour) }, hover(`layer ${layer}, head ${head}, ${name}: ${decimal(value, 3)}`));
      return cell < smallestWithNumber
        ? shape
        : shape + numberOn(colour, decimal(value), box.x + box.width / 2, box.y + box.height / 2, 10);
    };
    return group(
      {},
      text(name, { x, y: 52, size: 12 }),
      ...widest.map(({ head }, j) =>
        j % everyHead === 0 ? text(`${head}`, { x: x + (j + 0.5) * cell, y: top - 10, size: 10, paint: "soft", anchor: "middle" }) : "",
      ),
      ...layers.flatMap(({ layer, heads }, i) => heads.map((scores, j) => square(scores[key], layer, scores.head, i, j))),
      cell < smallestWithNumber ? legend(scale, { x, y: top + layers.length * cell + 10, width: 96 }) : "",
    );
  });
  return sheet(
    {
      width: Math.max(left + known.length * step, headingWidth(title)),
      height: top + layers.length * cell + (cell < smallestWithNumber ? legendHeight : 20),
      title: `${title}: ${all.length} heads`,
    },
    heading(title),
    text("head →", { x: left - 10, y: top - 10, size: 10, paint: "soft", anchor: "end" }),
    ...layers.map(({ layer }, i) =>
      i % every === 0 ? text(`layer ${layer}`, { x: left - 10, y: top + (i + 0.5) * cell, size: 10, paint: "soft", anchor: "end" }) : "",
    ),
    ...tables,
  );
}
