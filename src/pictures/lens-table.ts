import { checkSome } from "./check.ts";
import { hex } from "./colour.ts";
import { escaped } from "./escape.ts";
import { legend, legendHeight, numberOn } from "./heat.ts";
import { shortened } from "./label.ts";
import { percent } from "./number.ts";
import { scaleOf } from "./scale.ts";
import { element, group, heading, headingWidth, hover, sheet, text } from "./svg.ts";

export interface LensTable {
  readonly layers: readonly {
    readonly layer: number;
    readonly positions: readonly {
      readonly token: string;
      readonly top: readonly { readonly token: string; readonly probability: number }[];
    }[];
  }[];
  readonly title?: string;
}

const [pitch, left] = [20, 128];

/** The logit lens: positions down, layers across, the likeliest answer in each cell and how likely it is by its colour. */
export function lensTable({ layers, title = "Logit lens: the likeliest answer after each layer" }: LensTable): string {
  checkSome(title, layers, "layers");
  checkSome(title, layers[0].positions, "positions");
  const cell = Math.max(56, Math.min(120, Math.floor(1100 / layers.length)));
  const scale = scaleOf("sequential", 0, 1, "root");
  const top = 62;
  const rows = layers[0].positions.map(({ token }, i) => {
    const y = top + i * pitch;
    const cells = layers.map(({ layer, positions }, j) => {
      const [best] = positions[i].top;
      const colour = scale.colour(best.probability);
      const words = positions[i].top.map((one) => `${shortened(one.token, 24)} ${percent(one.probability)}`).join(", ");
      return group(
        {},
        hover(`${shortened(token, 24)}, layer ${layer}: ${words}`),
        element("rect", { x: left + j * cell, y, width: cell - 2, height: pitch - 2, fill: hex(colour) }),
        numberOn(colour, escaped(shortened(best.token, Math.floor(cell / 7.5))), left + j * cell + cell / 2 - 1, y + pitch / 2 - 1, 11),
      );
    });
    return text(shortened(token, 14), { x: left - 10, y: y + pitch / 2, size: 12, anchor: "end" }) + cells.join("");
  });
  const below = top + rows.length * pitch;
  return sheet(
    { width: Math.max(left + layers.length * cell + 20, headingWidth(title)), height: below + 20 + legendHeight, title },
    heading(title),
    ...layers.map(({ layer }, j) =>
      text(layers.length * cell > 56 ? `layer ${layer}` : `${layer}`, {
        x: left + j * cell + cell / 2,
        y: 50,
        size: 11,
        paint: "soft",
        anchor: "middle",
      }),
    ),
    ...rows,
    legend(scale, { x: left, y: below + 14, width: 180, unit: "probability of the likeliest" }),
  );
}
