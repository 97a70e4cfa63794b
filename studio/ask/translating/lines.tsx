import { useState } from "preact/hooks";
import type { Alignment } from "../../../src/inspection/alignment.ts";
import { percent } from "../../parts/numbers.ts";
import { TokenText } from "../../parts/token-strip.tsx";
import { Wide } from "../wide.tsx";

// Source and target side by side, with a line for each look from one to the other. Pointing at a token lights up what belongs to it.

interface Lit {
  readonly side: "source" | "target";
  readonly place: number;
}

const row = 24;
const wide = 160;
/** Lines fainter than this would only be fog. */
const faintest = 0.04;

export function AlignmentLines({ found: { tokens, targetTokens, matrix } }: { readonly found: Alignment }) {
  const [lit, light] = useState<Lit>();
  const weight = (target: number, source: number): number => matrix[target]?.[source] ?? 0;
  const isShown = (target: number, source: number) => !lit || (lit.side === "source" ? lit.place === source : lit.place === target);
  /** How much a token has to do with the one that is pointed at. */
  const shareOf = (side: Lit["side"], place: number): number => {
    if (!lit) return 0;
    if (lit.side === side) return lit.place === place ? 1 : 0;
    return side === "source" ? weight(lit.place, place) : weight(place, lit.place);
  };
  const middle = (place: number) => row * place + row / 2;
  const column = (side: Lit["side"], names: readonly string[]) => (
    <ol class={`aligned ${side}`} aria-label={side === "source" ? "Source" : "Target"}>
      {names.map((token, place) => (
        <li key={place}>
          <button
            type="button"
            class="token"
            style={{ "--share": shareOf(side, place).toFixed(2) }}
            title={lit && lit.side !== side ? percent(shareOf(side, place)) : undefined}
            onPointerEnter={() => light({ side, place })}
            onFocus={() => light({ side, place })}
            onBlur={() => light(undefined)}
          >
            <TokenText token={token} />
          </button>
        </li>
      ))}
    </ol>
  );
  const height = row * Math.max(tokens.length, targetTokens.length);
  return (
    <Wide label="Lines between the tokens">
      <div class="alignment" onPointerLeave={() => light(undefined)}>
        {column("source", tokens)}
        <svg
          width={wide}
          height={height}
          role="img"
          aria-label="Lines from each token of the target to those of the source that it looks at"
        >
          {targetTokens.flatMap((_, target) =>
            tokens.map((__, source) => {
              const share = weight(target, source);
              if (share < faintest || !isShown(target, source)) return null;
              return (
                <line
                  key={`${target},${source}`}
                  class="aligned-line"
                  x1={0}
                  y1={middle(source)}
                  x2={wide}
                  y2={middle(target)}
                  style={{ opacity: Math.min(1, share) }}
                />
              );
            }),
          )}
        </svg>
        {column("target", targetTokens)}
      </div>
    </Wide>
  );
}
