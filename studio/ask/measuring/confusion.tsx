import { confusionMatrix } from "../../../src/pictures/confusion-matrix.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Wide } from "../wide.tsx";
import type { Crossing } from "./crossing.ts";

// What was taken for what. Every cell opens the examples behind it.

export interface Cell {
  readonly row: number;
  readonly column: number;
}

/** Of more labels, those with the most mistakes are shown. */
export const mostShown = 24;

export function Confusion({
  name,
  crossing: { rows, columns, counts },
  shown,
  chosen,
  choose,
}: {
  readonly name: string;
  readonly crossing: Crossing;
  /** Places of the rows (and columns, where they are the same) that are shown. */
  readonly shown: readonly number[];
  readonly chosen: Cell | undefined;
  readonly choose: (cell: Cell) => void;
}) {
  const isSquare = rows === columns;
  const across = isSquare ? shown : [...columns.keys()];
  const walk = (event: KeyboardEvent) => {
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [];
    const from = event.target instanceof HTMLElement ? event.target.closest("td") : null;
    const line = from?.parentElement;
    if (down === undefined || right === undefined || !from || !(line instanceof HTMLTableRowElement)) return;
    event.preventDefault();
    const table = line.closest("table");
    let [row, column] = [line.rowIndex, from.cellIndex];
    let next: HTMLButtonElement | null | undefined;
    do {
      [row, column] = [row + down, column + right];
      next = table?.rows[row]?.cells[column]?.querySelector("button");
    } while (next?.disabled); // cells that nothing is behind are passed over
    next?.focus();
  };
  return (
    <div class="stack">
      <div class="row">
        <p class="soft">Down: what was wanted. Across: what was said. A cell opens the examples behind it.</p>
        <span class="space" />
        <SaveMenu
          name={`${name}-confusion`}
          {...(isSquare && { svg: () => confusionMatrix({ labels: rows, confusion: counts }) })}
          json={() => ({ wanted: rows, said: columns, counts })}
        />
      </div>
      <Wide label="What was taken for what">
        <table class="confusion" onKeyDown={walk}>
          <thead>
            <tr>
              <th scope="col">wanted ↓ said →</th>
              {across.map((column) => (
                <th key={column} scope="col">
                  {columns[column]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => {
              const all = counts[row].reduce((a, b) => a + b, 0);
              return (
                <tr key={row}>
                  <th scope="row">{rows[row]}</th>
                  {across.map((column) => {
                    const times = counts[row][column];
                    const isChosen = chosen?.row === row && chosen.column === column;
                    return (
                      <td key={column}>
                        <button
                          type="button"
                          class={`cell ${row === column ? "hit" : "miss"}`}
                          style={{ "--share": (times / Math.max(1, all)).toFixed(3) }}
                          disabled={times === 0}
                          aria-pressed={isChosen}
                          title={`${rows[row]}, ${isSquare ? "taken for " : ""}${columns[column]}: ${times} of ${all}`}
                          onClick={() => choose({ row, column })}
                        >
                          {times === 0 ? "·" : times.toLocaleString("en")}
                        </button>
                      </td>
                    );
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
      </Wide>
    </div>
  );
}
