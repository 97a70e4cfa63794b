import type { RunFacts, SettingValue } from "../../src/worker/found.ts";
import { nameOf } from "../stores/names.ts";

// A table of runs: which settings differ among them, which rows are wanted, and in which order.

export interface Settings {
  /** Those that differ, in the order in which a config names them; each with the value that most runs have. */
  readonly differing: readonly { readonly name: string; readonly usual: SettingValue | undefined }[];
  readonly equal: readonly (readonly [name: string, value: SettingValue])[];
}

export function settingsIn(rows: readonly Pick<RunFacts, "settings">[]): Settings {
  const names = [...new Set(rows.flatMap(({ settings }) => Object.keys(settings)))];
  const differing: { name: string; usual: SettingValue | undefined }[] = [];
  const equal: [string, SettingValue][] = [];
  for (const name of names) {
    const counts = new Map<SettingValue | undefined, number>();
    for (const { settings } of rows) counts.set(settings[name], (counts.get(settings[name]) ?? 0) + 1);
    const [[usual, count]] = [...counts].sort(([, a], [, b]) => b - a);
    if (counts.size > 1) differing.push({ name, usual: count > 1 ? usual : undefined });
    else if (usual !== undefined) equal.push([name, usual]);
  }
  return { differing, equal };
}

/** Every word must be found: in the name, the task or the model, or as a setting, such as `lr=0.001`. */
export function fits(run: RunFacts, filter: string): boolean {
  const settings = Object.entries(run.settings).map(([name, value]) => `${name}=${value}`);
  const all = [nameOf(run.run), run.task, run.model, ...settings].join("\n").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

export type SortKey = string;

/** What a row has in a column. */
export function cellOf(run: RunFacts, column: SortKey): SettingValue | null | undefined {
  switch (column) {
    case "name":
      return nameOf(run.run);
    case "task":
    case "model":
    case "loss":
    case "validLoss":
    case "parameters":
    case "modified":
      return run[column];
    case "step":
      return run.step;
    default:
      return run.settings[column];
  }
}

/** By a column, `-` before it for the other way round; what has nothing there comes last, either way. */
export function sorted(rows: readonly RunFacts[], by: string): readonly RunFacts[] {
  const down = by.startsWith("-");
  const column = down ? by.slice(1) : by;
  return [...rows].sort((a, b) => {
    const [one, other] = [cellOf(a, column) ?? undefined, cellOf(b, column) ?? undefined];
    if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
    const order =
      typeof one === "number" && typeof other === "number" ? one - other : `${one}`.localeCompare(`${other}`, "en", { numeric: true });
    return down ? -order : order;
  });
}
