import type { RunFacts } from "../../src/worker/found.ts";
import { address, link, put } from "../address.ts";
import { Sparkline } from "../charts/sparkline.tsx";
import { stateWords } from "../learn/words.ts";
import { amount, digits } from "../parts/numbers.ts";
import { lives } from "../stores/live.ts";
import { nameOf } from "../stores/runs.ts";
import { cellOf, type Settings } from "./settings-table.ts";

// Runs as rows, with the settings in which they differ as columns.

export interface RunTableProps {
  readonly rows: readonly RunFacts[];
  readonly settings: Settings;
  readonly picked: readonly string[];
  readonly pick: (name: string, isPicked: boolean) => void;
}

const fixed = [
  { column: "name", label: "run" },
  { column: "task", label: "task" },
  { column: "step", label: "steps", number: true },
  { column: "loss", label: "loss", number: true },
  { column: "validLoss", label: "validation", number: true },
  { column: "parameters", label: "parameters", number: true },
] as const;

/** What these columns say already. */
const always = ["task", "steps", "model.model", "model.task"];

export function RunTable({ rows, settings: { differing, equal }, picked, pick }: RunTableProps) {
  const shownSettings = differing.filter(({ name }) => !always.includes(name));
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section class="scroll run-table" tabIndex={0} aria-label="Table of runs">
        <table class="runs">
          <thead>
            <tr>
              <th>
                <span class="visually-hidden">picked</span>
              </th>
              {fixed.map(({ column, label, ...rest }) => (
                <Header key={column} column={column} label={label} isNumber={"number" in rest} />
              ))}
              <th>course</th>
              {shownSettings.map(({ name }) => (
                <Header key={name} column={name} label={name.replace(/^model\./, "")} isNumber={false} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((run) => (
              <Row key={run.run} run={run} settings={shownSettings} isPicked={picked.includes(nameOf(run.run))} pick={pick} />
            ))}
          </tbody>
        </table>
      </section>
      {equal.length > 0 && rows.length > 1 && (
        <details>
          <summary>The same in all of them: {equal.length} settings</summary>
          <p class="equal">
            {equal.map(([name, value]) => (
              <span key={name}>
                <span class="soft">{name}</span> {shown(value)}
              </span>
            ))}
          </p>
        </details>
      )}
    </>
  );
}

function Header({ column, label, isNumber }: { readonly column: string; readonly label: string; readonly isNumber: boolean }) {
  const by = address.value.params.sort ?? "-modified";
  const way = by === column ? "ascending" : by === `-${column}` ? "descending" : undefined;
  return (
    <th class={isNumber ? "number" : undefined} aria-sort={way ?? "none"}>
      <button type="button" class="plain" onClick={() => put({ sort: way === "ascending" ? `-${column}` : column })}>
        {label}
        <span aria-hidden="true">{way === "ascending" ? " ↑" : way === "descending" ? " ↓" : ""}</span>
      </button>
    </th>
  );
}

interface RowProps {
  readonly run: RunFacts;
  readonly settings: Settings["differing"];
  readonly isPicked: boolean;
  readonly pick: RunTableProps["pick"];
}

function Row({ run, settings, isPicked, pick }: RowProps) {
  const name = nameOf(run.run);
  return (
    <tr data-picked={isPicked}>
      <td>
        <input
          type="checkbox"
          aria-label={`Pick ${name}`}
          checked={isPicked}
          onChange={(event) => pick(name, event.currentTarget.checked)}
        />
      </td>
      <th scope="row">
        <a href={link("learn", { run: name })}>{name}</a>
      </th>
      <td>
        {run.task} <span class="soft">{run.model}</span>
      </td>
      <td class="number" title={stateWords(lives.value.get(name), run)}>
        {run.step < run.steps ? `${run.step.toLocaleString("en")}/${run.steps.toLocaleString("en")}` : run.steps.toLocaleString("en")}
      </td>
      <td class="number">{loss(run.loss)}</td>
      <td class="number">{loss(run.validLoss)}</td>
      <td class="number">{amount(run.parameters)}</td>
      <td>
        <Sparkline points={run.curve} label={`Loss of ${name}`} />
      </td>
      {settings.map(({ name: setting, usual }) => {
        const value = cellOf(run, setting);
        return (
          <td key={setting} class={value !== usual ? "differs" : undefined} title={`${value ?? ""}`}>
            {value === undefined || value === null ? <span class="soft">–</span> : shown(value)}
          </td>
        );
      })}
    </tr>
  );
}

const loss = (value: number | null): string => (value === null ? "–" : digits(Number(value.toPrecision(4))));

/** Of a path its last part: the rest is said when somebody points at it. */
function shown(value: string | number | boolean): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return value.toLocaleString("en", { maximumSignificantDigits: 6 });
  return value.split("/").at(-1) || value;
}
