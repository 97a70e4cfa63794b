import type { Pattern } from "../../../page/pattern.ts";
import { decimal, decimalsFor } from "../../../src/pictures/number.ts";

/** What the colours of a map, and the strength of lines, stand for. */
export function WeightLegend({ pattern: { scale } }: { readonly pattern: Pattern }) {
  const high = decimal(scale.high, decimalsFor(scale.high));
  const stops = Array.from({ length: 9 }, (_, i) => `rgb(${scale.colour(scale.value(i / 8)).join(" ")})`);
  return (
    <p class="weights">
      <small>{scale.low < 0 ? `−${high}` : "0"}</small>
      <span style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />
      <small>
        {scale.open ? "≥ " : ""}
        {high} {scale.steps === "root" && "(square-root scale)"}
      </small>
    </p>
  );
}
