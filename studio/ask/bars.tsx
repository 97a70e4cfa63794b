import type { ComponentChildren } from "preact";
import { percent } from "../parts/numbers.ts";

/** A share as a bar: the whole width is 1. A second one, where there is, lies in front of it. */
export function Bar({ share, front }: { readonly share: number; readonly front?: number }) {
  return (
    <span class="bar-ground" aria-hidden="true">
      <span class={front === undefined ? "bar-front" : "bar-back"} style={{ width: `${100 * Math.min(1, share)}%` }} />
      {front !== undefined && front > 0 && <span class="bar-front over" style={{ width: `${100 * Math.min(1, front)}%` }} />}
    </span>
  );
}

export interface BarRow {
  readonly name: string;
  readonly share: number;
  readonly words?: ComponentChildren;
}

/** One of several, each with its share. */
export function BarChoice({
  label,
  rows,
  chosen,
  choose,
}: {
  readonly label: string;
  readonly rows: readonly BarRow[];
  readonly chosen: string;
  readonly choose: (name: string) => void;
}) {
  return (
    <ul class="bars" aria-label={label}>
      {rows.map(({ name, share, words }) => (
        <li key={name}>
          <button type="button" aria-pressed={name === chosen} onClick={() => choose(name)}>
            <span class="bar-name">{words ?? name}</span>
            <Bar share={share} />
            <span class="bar-number">{percent(share)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
