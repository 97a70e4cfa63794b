import { useEffect } from "preact/hooks";
import { address, put } from "../address.ts";
import { Empty, Failed } from "../parts/states.tsx";
import { nameOf, refreshRuns, runs, runsError } from "../stores/runs.ts";
import { Overlay } from "./overlay.tsx";
import { RunTable } from "./run-table.tsx";
import { fits, settingsIn, sorted } from "./settings-table.ts";
import { SideBySide } from "./side-by-side.tsx";

// Compare: a table first; the rows that are picked overlay in one chart, and one text goes through two of them.

/** More lines than this nobody tells apart. */
const mostPicked = 20;

export function Compare() {
  const { params } = address.value;
  useEffect(() => void refreshRuns(), []);
  const all = runs.value;
  const failed = runsError.value;
  if (!all) return failed === undefined ? null : <Failed message={failed} />;
  if (all.length === 0)
    return (
      <Empty>
        <p>There are no runs to compare yet. Train two under Learn, with one setting changed between them, and see here what it did.</p>
      </Empty>
    );
  const wanted = (params.runs ?? "").split(",").filter(Boolean);
  const picked = wanted.filter((name) => all.some(({ run }) => nameOf(run) === name));
  const rows = sorted(
    all.filter((run) => fits(run, params.filter ?? "")),
    params.sort ?? "-modified",
  );
  const compared = picked.length > 1 ? all.filter(({ run }) => picked.includes(nameOf(run))) : rows;
  const pick = (name: string, isPicked: boolean) => {
    const next = isPicked ? [...picked, name].slice(-mostPicked) : picked.filter((one) => one !== name);
    put({ runs: next.join(",") });
  };
  return (
    <div class="stack compare">
      <h1 class="visually-hidden">Compare runs</h1>
      {failed !== undefined && <Failed message={failed} />}
      <div class="row">
        <label class="row">
          Filter
          <input
            type="search"
            placeholder="name, task, lr=0.001"
            value={params.filter ?? ""}
            onInput={(event) => put({ filter: event.currentTarget.value })}
          />
        </label>
        <span class="soft">
          {rows.length} of {all.length} {all.length === 1 ? "run" : "runs"}, {picked.length} picked
        </span>
        <button
          type="button"
          onClick={() =>
            put({
              runs: rows
                .slice(0, mostPicked)
                .map(({ run }) => nameOf(run))
                .join(","),
            })
          }
        >
          Pick these
        </button>
        {picked.length > 0 && (
          <button type="button" onClick={() => put({ runs: undefined })}>
            Pick none
          </button>
        )}
      </div>
      <RunTable rows={rows} settings={settingsIn(compared)} picked={picked} pick={pick} />
      {picked.length > 0 ? (
        <Overlay names={picked} />
      ) : (
        <p class="note">Pick rows to see their curves in one chart. Values that differ from those of most runs are marked.</p>
      )}
      <SideBySide picked={picked} />
    </div>
  );
}
