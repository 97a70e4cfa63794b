import { useState } from "preact/hooks";
import type { Alignment } from "../../../src/inspection/alignment.ts";
import { colourAt, hex } from "../../../src/pictures/colour.ts";
import { percent } from "../../parts/numbers.ts";
import { visible } from "../../parts/token-strip.tsx";
import { Wide } from "../wide.tsx";

// The same as a map: a row for each token that is written, a column for each that was read.

const cell = 24;
const letter = 8;

const shownOf = (token: string): string =>
  visible(token)
    .map(({ text }) => text)
    .join("");

export function AlignmentMap({ found: { tokens, targetTokens, matrix } }: { readonly found: Alignment }) {
  const [lit, light] = useState<readonly [target: number, source: number]>();
  const [columns, rows] = [tokens.map(shownOf), targetTokens.map(shownOf)];
  const left = 8 + letter * Math.max(...rows.map(({ length }) => length), 1);
  const top = 8 + letter * Math.max(...columns.map(({ length }) => length), 1);
  const share = lit && matrix[lit[0]]?.[lit[1]]; // it may have become smaller under the pointer
  return (
    <div class="stack">
      <p class="soft" role="status">
        {share === undefined
          ? "Point at a square to read it."
          : `“${rows[lit?.[0] ?? 0]}” looks at “${columns[lit?.[1] ?? 0]}” with ${percent(share)}.`}
      </p>
      <Wide label="Map of the tokens">
        <svg
          class="alignment-map"
          width={left + cell * columns.length + 8}
          height={top + cell * rows.length + 8}
          role="img"
          aria-label="A map of how much each token of the target looks at each of the source"
          onPointerLeave={() => light(undefined)}
        >
          {columns.map((name, i) => (
            <text
              key={i}
              class={lit?.[1] === i ? "lit" : undefined}
              transform={`translate(${left + cell * i + 16},${top - 6}) rotate(-90)`}
            >
              {name}
            </text>
          ))}
          {rows.map((name, i) => (
            <text key={i} class={lit?.[0] === i ? "lit" : undefined} x={left - 6} y={top + cell * i + 16} text-anchor="end">
              {name}
            </text>
          ))}
          {matrix.flatMap((row, target) =>
            row.map((weight, source) => (
              <rect
                key={`${target},${source}`}
                x={left + cell * source}
                y={top + cell * target}
                width={cell - 1}
                height={cell - 1}
                fill={hex(colourAt("sequential", weight))}
                onPointerEnter={() => light([target, source])}
              />
            )),
          )}
        </svg>
      </Wide>
    </div>
  );
}
