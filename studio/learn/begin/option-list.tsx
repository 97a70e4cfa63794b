import { useState } from "preact/hooks";
import type { TrainingPlan } from "../../../src/worker/found.ts";
import { put } from "../../address.ts";
import { type GroupName, groups, type TrainingOption } from "./options.ts";
import { type Typed, usualValue } from "./settings.ts";

// Every option with what it is, where it stands; the important ones first. What is wrong is said at its field.

export interface Wrong {
  readonly path?: string;
  readonly message: string;
}

export interface OptionListProps {
  readonly options: readonly TrainingOption[];
  readonly typed: Typed;
  readonly plan: TrainingPlan | undefined;
  readonly wrong: Wrong | undefined;
}

export function OptionList({ options, typed, plan, wrong }: OptionListProps) {
  const [sought, setSought] = useState("");
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ path, what }: TrainingOption) => words.every((word) => `${path} ${what}`.toLowerCase().includes(word));
  const list = (group: GroupName) => options.filter((option) => option.group === group && fits(option));
  const changed = Object.keys(typed).length;
  return (
    <section class="panel" aria-labelledby="settings-title">
      <header>
        <h2 id="settings-title">3. Settings</h2>
        <span class="soft">{changed === 0 ? "all as usual" : `${changed} of your own`}</span>
        <label class="row">
          Find
          <input type="search" value={sought} onInput={(event) => setSought(event.currentTarget.value)} />
        </label>
      </header>
      {groups.map(({ name, label }) => {
        const found = list(name);
        if (found.length === 0) return null;
        const own = found.filter(({ path }) => path in typed).length;
        const holds = found.some(({ path }) => path === wrong?.path);
        const fields = <Fields options={found} typed={typed} plan={plan} wrong={wrong} />;
        if (name === "first") return <div key={name}>{fields}</div>;
        return (
          <details key={name} class="option-group" open={words.length > 0 || own > 0 || holds}>
            <summary>
              {label} <span class="soft">{own > 0 ? `${own} of ${found.length} set` : found.length}</span>
            </summary>
            {fields}
          </details>
        );
      })}
    </section>
  );
}

function Fields({ options, typed, plan, wrong }: OptionListProps) {
  return (
    <div class="options">
      {options.map((option) => (
        <Field
          key={option.path}
          option={option}
          typed={typed[option.path]}
          plan={plan}
          wrong={wrong?.path === option.path ? wrong.message : undefined}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  readonly option: TrainingOption;
  readonly typed: string | undefined;
  readonly plan: TrainingPlan | undefined;
  readonly wrong: string | undefined;
}

function Field({ option: { path, what, value }, typed = "", plan, wrong }: FieldProps) {
  const id = `option-${path}`;
  const usual = usualValue(path, plan);
  const choose = (next: string) => put({ [`set.${path}`]: next });
  const described = wrong === undefined ? `${id}-what` : `${id}-what ${id}-wrong`;
  const choices = value.kind === "choice" ? value.choices : value.kind === "switch" ? ["true", "false"] : undefined;
  return (
    <div class="option" data-set={typed !== ""} data-wrong={wrong !== undefined}>
      <label for={id}>{path.replace(/^model\./, "")}</label>
      {choices ? (
        <select id={id} class="value" value={typed} aria-describedby={described} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">{typed === "" && usual !== "" ? `${shownChoice(usual)}` : "as usual"}</option>
          {choices.map((one) => (
            <option key={one} value={one}>
              {shownChoice(one)}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          class="value"
          type="text"
          inputMode={value.kind === "number" ? "decimal" : undefined}
          autocomplete="off"
          spellcheck={false}
          placeholder={usual}
          value={typed}
          aria-describedby={described}
          aria-invalid={wrong !== undefined}
          onInput={(event) => choose(event.currentTarget.value)}
        />
      )}
      <small id={`${id}-what`}>{what}</small>
      {wrong !== undefined && (
        <small id={`${id}-wrong`} class="wrong" role="alert">
          {wrong}
        </small>
      )}
    </div>
  );
}

const shownChoice = (value: string): string => ({ true: "yes", false: "no" })[value] ?? value;
