import { useEffect, useRef, useState } from "preact/hooks";
import { AskError } from "../../../src/entries/web.ts";
import type { TrainingPlan } from "../../../src/worker/found.ts";
import { address, go, put } from "../../address.ts";
import { computer } from "../../compute/place.ts";
import { Failed } from "../../parts/states.tsx";
import { beginTraining, keepRuns } from "../../stores/going.ts";
import { lives } from "../../stores/live.ts";
import { messageOf, useAnswer } from "../../stores/models.ts";
import { freeName } from "../../stores/runs.ts";
import { DataField, takeReady } from "./data-field.tsx";
import { promptOf } from "./found.ts";
import { type GivenData, given, givenValid } from "./given.ts";
import { OptionList, type Wrong } from "./option-list.tsx";
import { optionsFor } from "./options.ts";
import { PlanPanel } from "./plan-panel.tsx";
import { optionAt, settingsOf, type Typed } from "./settings.ts";
import { starts } from "./starts.ts";

// A training of one's own: data, a start, settings, and what it will cost, as it is typed.

const prefix = "set.";

export function NewTraining() {
  const { params } = address.value;
  const typed: Typed = Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [])),
  );
  const [failed, setFailed] = useState<string>();
  useEffect(() => {
    if (params.data !== undefined && !given.value) takeReady(params.data).catch((error) => setFailed(messageOf(error)));
  }, [params.data]);
  const data = given.value;
  const { plan, isNew, wrong } = usePlan(data, typed);
  const options = optionsFor(plan, typed);
  const place = optionAt(wrong?.path, options);
  return (
    <>
      <h1>New training</h1>
      {failed !== undefined && <Failed message={failed} />}
      <div class="begin">
        <div class="stack begin-settings">
          <DataField />
          <Starts task={plan?.task} />
          <OptionList
            options={options}
            typed={typed}
            plan={plan}
            wrong={wrong && place !== undefined ? { ...wrong, path: place } : undefined}
          />
        </div>
        <aside class="begin-plan stack" aria-label="What it will be">
          <Begin data={data} plan={plan} typed={typed} wrong={wrong} />
          {wrong &&
            (place === undefined ? <p class="wrong">{wrong.message}</p> : <p class="wrong">There is something wrong with {place}.</p>)}
          {plan && <PlanPanel plan={plan} isNew={isNew && !wrong} />}
          {!data && <p class="soft">Parameters, arithmetic and memory are counted here as soon as there is data.</p>}
        </aside>
      </div>
    </>
  );
}

const restMs = 250;

/** What rests for a moment: whoever types is not answered letter by letter. */
function useRested(value: string): string {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), restMs);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}

interface Planned {
  readonly plan: TrainingPlan | undefined;
  readonly isNew: boolean;
  readonly wrong: Wrong | undefined;
}

/** Asks what the training would be; the last plan stays while something is wrong. */
function usePlan(data: GivenData | undefined, typed: Typed): Planned {
  const rested = useRested(JSON.stringify(typed));
  const last = useRef<TrainingPlan | undefined>(undefined);
  const valid = givenValid.value;
  const usable = data && data.found.kind !== "wrong" ? data : undefined;
  const waited = useAnswer(
    usable &&
      (async (signal): Promise<{ readonly plan: TrainingPlan } | { readonly wrong: Wrong }> => {
        const settings: Typed = JSON.parse(rested);
        try {
          return {
            plan: await computer().plan(usable.files, {
              ...settingsOf(settings, optionsFor(last.current, settings)),
              ...(valid && { valid }),
              signal,
            }),
          };
        } catch (error) {
          if (!(error instanceof AskError)) throw error;
          return {
            wrong: { message: error.message.replace(/^at [\w.-]+: /, ""), ...(error.told.path !== undefined && { path: error.told.path }) },
          };
        }
      }),
    [usable, valid, rested],
  );
  const found = waited.state === "ready" ? waited.answer : "before" in waited ? waited.before : undefined;
  if (!usable) last.current = undefined;
  if (found && "plan" in found) last.current = found.plan;
  const wrong = waited.state === "failed" ? { message: waited.message } : found && "wrong" in found ? found.wrong : undefined;
  return { plan: last.current, isNew: waited.state === "ready", wrong };
}

/** Small sets of settings to begin with. */
function Starts({ task }: { readonly task: string | undefined }) {
  const { params } = address.value;
  const choose = (name: string, settings: Readonly<Record<string, string>>) => {
    const cleared = Object.fromEntries(Object.keys(params).flatMap((key) => (key.startsWith(prefix) ? [[key, undefined]] : [])));
    const set = Object.fromEntries(Object.entries(settings).map(([path, value]) => [`${prefix}${path}`, value]));
    put({ ...cleared, ...set, start: name === "usual" ? undefined : name });
  };
  return (
    <section class="panel" aria-labelledby="starts-title">
      <header>
        <h2 id="starts-title">2. A start</h2>
        <span class="soft">settings to begin with; each can be changed below</span>
      </header>
      <ul class="cards" aria-label="Starts">
        {starts
          .filter(({ tasks }) => !tasks || task === undefined || tasks.includes(task))
          .map(({ name, label, what, settings }) => (
            <li key={name}>
              <button type="button" class="card" aria-pressed={(params.start ?? "usual") === name} onClick={() => choose(name, settings)}>
                <b>{label}</b>
                <small>{what}</small>
              </button>
            </li>
          ))}
      </ul>
    </section>
  );
}

interface BeginProps {
  readonly data: GivenData | undefined;
  readonly plan: TrainingPlan | undefined;
  readonly typed: Typed;
  readonly wrong: Wrong | undefined;
}

/** Checkpoints beyond this are not saved so often: they take time, and room. */
const smallModel = 3e6;

function Begin({ data, plan, typed, wrong }: BeginProps) {
  const [name, setName] = useState<string>();
  const [failed, setFailed] = useState<string>();
  const begun = lives.value.keys(); // nothing may be saved of them yet
  const usual = data ? freeName(data.name.replace(/\.[^.]*$/, ""), begun) : "";
  const chosen = name === undefined ? usual : freeName(name, lives.value.keys());
  const begin = () => {
    if (!data || !plan) return;
    const { steps, minutes } = plan.training;
    const saved = plan.parameters <= smallModel ? { saveEvery: Math.max(10, Math.round(steps / 40)), keep: 60 } : {};
    // How many steps fit into minutes is found out later, and how often to look and save with it.
    const often = minutes === undefined ? { evalEvery: Math.max(10, Math.round(steps / 20)), ...saved } : {};
    const settings = settingsOf(typed, optionsFor(plan, typed));
    const prompt = promptOf(data.found, data.text);
    try {
      beginTraining({
        name: chosen,
        data: data.files,
        settings: {
          ...often,
          ...(givenValid.value && { valid: givenValid.value }),
          ...settings,
        },
        ...(prompt !== undefined && { prompt }),
      });
      keepRuns();
      go("learn", { run: chosen });
    } catch (error) {
      setFailed(messageOf(error));
    }
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        begin();
      }}
    >
      <label class="stack">
        <small>Name of the run</small>
        <input type="text" value={name ?? usual} disabled={!data} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      {name !== undefined && chosen !== name && <small>It will be called {chosen}.</small>}
      <button type="submit" class="first" disabled={!data || !plan || wrong !== undefined}>
        Begin to learn
      </button>
      {failed !== undefined && (
        <p class="wrong" role="alert">
          {failed}
        </p>
      )}
    </form>
  );
}
