import { percent } from "../../parts/numbers.ts";
import { TokenText } from "../../parts/token-strip.tsx";
import { Bar } from "../bars.tsx";
import type { Choice, Choices } from "./filters.ts";

// What could come at a place: the model's own distribution, pale, and in front of it what the settings leave of it.

const mostRows = 24;

export function ChoiceList({
  found,
  taken,
  isBusy,
  choose,
}: {
  readonly found: Choices;
  /** The token that stands there. */
  readonly taken: number | undefined;
  readonly isBusy: boolean;
  /** Left out where nothing can be changed. */
  readonly choose?: (choice: Choice) => void;
}) {
  const { choices, rest, kept } = found;
  const most = Math.max(1e-9, ...choices.map(({ before, after }) => Math.max(before, after)));
  const shown = choices.slice(0, mostRows);
  return (
    <div class="stack">
      <Spread found={found} taken={taken} />
      <p class="soft small">
        {kept === 1 ? "One token is" : `${kept.toLocaleString("en")} tokens are`} left to draw from: in colour, with the share that{" "}
        {kept === 1 ? "it has" : "they have"} then. Pale is what the model itself says.
      </p>
      <ol class="choices">
        {shown.map((choice) => {
          const { id, text, before, after } = choice;
          return (
            <li key={id} class={after > 0 ? undefined : "cut"}>
              <button
                type="button"
                disabled={!choose || isBusy || (id === taken && taken !== undefined)}
                aria-current={id === taken ? "true" : undefined}
                title={choose && id !== taken ? "Write on from here with this token" : undefined}
                onClick={() => choose?.(choice)}
              >
                <span class="bar-name mono">
                  <TokenText token={text} />
                </span>
                <Bar share={before / most} front={after / most} />
                <span class="bar-number">{shareOf(before)}</span>
                <span class="bar-number">{after > 0 ? shareOf(after) : "cut"}</span>
              </button>
            </li>
          );
        })}
      </ol>
      {rest.count > 0 || choices.length > mostRows ? (
        <p class="soft small">
          {(rest.count + Math.max(0, choices.length - mostRows)).toLocaleString("en")} others together have{" "}
          {percent(rest.before + choices.slice(mostRows).reduce((sum, { before }) => sum + before, 0))}.
        </p>
      ) : null}
    </div>
  );
}

const shareOf = (share: number): string => (share < 0.0005 ? "<0.1 %" : percent(share));

const height = 72;
const wide = 4;

/** The whole of it as columns, the likeliest first. */
function Spread({ found: { choices }, taken }: { readonly found: Choices; readonly taken: number | undefined }) {
  const shown = choices.slice(0, 64);
  const most = Math.max(1e-9, ...shown.map(({ before, after }) => Math.max(before, after)));
  const tall = (share: number) => (height * share) / most;
  return (
    <svg
      class="spread"
      viewBox={`0 0 ${64 * wide} ${height + 4}`}
      preserveAspectRatio="none"
      role="img"
      aria-label="The distribution before and after the filters"
    >
      {shown.map(({ id, before, after }, i) => (
        <g key={id}>
          <rect class="spread-before" x={i * wide} y={height - tall(before)} width={wide - 1} height={tall(before)} />
          <rect class="spread-after" x={i * wide} y={height - tall(after)} width={wide - 1} height={tall(after)} />
          {id === taken && <rect class="spread-taken" x={i * wide} y={height + 1} width={wide - 1} height={3} />}
        </g>
      ))}
      <line class="spread-axis" x1={0} x2={64 * wide} y1={height + 0.5} y2={height + 0.5} />
    </svg>
  );
}
