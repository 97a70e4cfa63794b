import { nameOf, openable } from "../stores/runs.ts";

/** Chooses a run that can be opened. */
export function RunPicker({
  label,
  chosen,
  choose,
}: {
  readonly label: string;
  readonly chosen?: string;
  readonly choose: (name: string) => void;
}) {
  const names = openable.value.map(({ run, task, model }) => ({ name: nameOf(run), words: `${nameOf(run)} (${model}, ${task})` }));
  return (
    <label class="row">
      {label}
      <select value={chosen ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        {(chosen === undefined || !names.some(({ name }) => name === chosen)) && (
          <option value={chosen ?? ""}>{chosen ?? "choose a run"}</option>
        )}
        {names.map(({ name, words }) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
