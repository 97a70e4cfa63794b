import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { TrainingPlan } from "../../../src/worker/found.ts";
import { put } from "../../address.ts";
import { nameOf, openable } from "../../stores/runs.ts";
import { inGroups, type Option } from "./options.ts";
import { type Typed, usualValue } from "./settings.ts";

// Every option with what it does, where it stands; the important ones first. What is wrong is said at its field.

export interface Wrong {
  readonly path?: string;
  readonly message: string;
}

export interface OptionListProps {
  readonly options: readonly Option[];
  readonly typed: Typed;
  readonly plan: TrainingPlan | undefined;
  readonly wrong: Wrong | undefined;
}

export function OptionList({ options, typed, plan, wrong }: OptionListProps) {
  const [sought, setSought] = useState("");
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = options.filter((option) => words.every((word) => searched(option).includes(word)));
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
      {found.length === 0 && <p class="soft">No option is called so, or does that.</p>}
      {inGroups(found).map(({ name, title, options: group }) => {
        const own = group.filter((one) => one.name in typed).length;
        const holds = group.some((one) => one.name === wrong?.path);
        const fields = <Fields options={group} typed={typed} plan={plan} wrong={wrong} />;
        if (name === "first") return <div key={name}>{fields}</div>;
        return (
          <OptionGroup
            key={name}
            title={title}
            count={own > 0 ? `${own} of ${group.length} set` : `${group.length}`}
            isSought={words.length > 0}
            isNeeded={own > 0 || holds}
          >
            {fields}
          </OptionGroup>
        );
      })}
    </section>
  );
}

interface OptionGroupProps {
  readonly title: string;
  readonly count: string;
  readonly isSought: boolean;
  /** Whether something in it is set, or wrong. */
  readonly isNeeded: boolean;
  readonly children: ComponentChildren;
}

/** What is needed opens it; it does not close by itself, or a field that is emptied would go away from under the fingers. */
function OptionGroup({ title, count, isSought, isNeeded, children }: OptionGroupProps) {
  const [isOpen, setOpen] = useState(isNeeded);
  useEffect(() => {
    if (isNeeded) setOpen(true);
  }, [isNeeded]);
  return (
    <details class="option-group" open={isSought || isOpen} onToggle={(event) => !isSought && setOpen(event.currentTarget.open)}>
      <summary>
        {title} <span class="soft">{count}</span>
      </summary>
      {children}
    </details>
  );
}

const searched = ({ name, what, explanation, ...rest }: Option): string =>
  [name, what, explanation, ...(rest.kind === "choice" ? rest.choices.map((one) => `${one.name} ${one.what}`) : [])]
    .join(" ")
    .toLowerCase();

const Fields = ({ options, typed, plan, wrong }: OptionListProps) => (
  <div class="options">
    {options.map((option) => (
      <Field
        key={option.name}
        option={option}
        typed={typed[option.name]}
        plan={plan}
        wrong={wrong?.path === option.name ? wrong.message : undefined}
      />
    ))}
  </div>
);

interface FieldProps {
  readonly option: Option;
  readonly typed: string | undefined;
  readonly plan: TrainingPlan | undefined;
  readonly wrong: string | undefined;
}

function Field({ option, typed = "", plan, wrong }: FieldProps) {
  const { name, explanation, usual: fixed, chosen } = option;
  const id = `option-${name}`;
  const usual = usualValue(name, plan) || (fixed === undefined ? "" : `${fixed}`);
  const choose = (next: string) => put({ [`set.${name}`]: next });
  const described = wrong === undefined ? `${id}-what` : `${id}-what ${id}-wrong`;
  const choices = choicesOf(option);
  const current = choices?.find((one) => one.name === (typed || usual));
  return (
    <div class="option" data-set={typed !== ""} data-wrong={wrong !== undefined}>
      <label for={id}>{name.replace(/^model\./, "")}</label>
      {choices ? (
        <select id={id} class="value" value={typed} aria-describedby={described} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">{typed === "" && usual !== "" ? shownChoice(usual) : "as usual"}</option>
          {choices.map((one) => (
            <option key={one.name} value={one.name}>
              {shownChoice(one.name)}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          class="value"
          type="text"
          inputMode={option.kind === "number" ? "decimal" : undefined}
          autocomplete="off"
          spellcheck={false}
          placeholder={usual}
          value={typed}
          aria-describedby={described}
          aria-invalid={wrong !== undefined}
          onInput={(event) => choose(event.currentTarget.value)}
        />
      )}
      <small id={`${id}-what`}>
        {explanation}
        {current?.what && ` ${shownChoice(current.name)}: ${current.what}.`}
        {usual === "" && chosen && ` Left out: ${chosen}.`}
      </small>
      {wrong !== undefined && (
        <small id={`${id}-wrong`} class="wrong" role="alert">
          {wrong}
        </small>
      )}
    </div>
  );
}

function choicesOf(option: Option): readonly { readonly name: string; readonly what: string }[] | undefined {
  if (option.kind === "choice") return option.choices;
  if (option.kind === "switch") return ["true", "false"].map((name) => ({ name, what: "" }));
  if (option.name === "from") return openable.value.map(({ run, task }) => ({ name: nameOf(run), what: task }));
  return undefined;
}

const shownChoice = (value: string): string => ({ true: "yes", false: "no" })[value] ?? value;
