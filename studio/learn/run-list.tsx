import { useEffect, useRef } from "preact/hooks";
import type { RunFacts } from "../../src/worker/found.ts";
import { link } from "../address.ts";
import { Sparkline } from "../charts/sparkline.tsx";
import { kind } from "../compute/place.ts";
import { digits } from "../parts/numbers.ts";
import { type Live, lives } from "../stores/live.ts";
import { nameOf, refreshRuns, runs } from "../stores/runs.ts";
import { curveOf, stateWords } from "./words.ts";

/** Others may train in the same folder: by the command line, or in another tab. */
const pollMs = 15_000;

/** All runs, the newest first, with their state. */
export function RunList({ chosen }: { readonly chosen: string | undefined }) {
  useEffect(() => {
    if (kind !== "house") return;
    const timer = setInterval(() => document.visibilityState === "visible" && void refreshRuns(), pollMs);
    return () => clearInterval(timer);
  }, []);
  const kept = new Map((runs.value ?? []).map((facts) => [nameOf(facts.run), facts]));
  const fresh = [...lives.value.keys()].filter((name) => !kept.has(name)).toReversed(); // just begun: nothing is saved of them yet
  const names = [...fresh, ...[...kept].sort(([, a], [, b]) => b.modified - a.modified).map(([name]) => name)];
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const strip = list.current;
    const one = strip?.querySelector('[aria-current="page"]')?.closest("li");
    if (strip && one) strip.scrollLeft = one.offsetLeft - strip.offsetLeft; // where there is room for a strip only, the chosen one is in sight
  }, [chosen, names.join()]);
  return (
    <nav class="run-list" aria-label="Runs">
      <a class="button first" href={link("learn", { new: 1 })} aria-current={chosen === undefined && names.length > 0 ? "page" : undefined}>
        New training
      </a>
      <ul ref={list}>
        {names.map((name) => (
          <li key={name}>
            <Entry name={name} facts={kept.get(name)} live={lives.value.get(name)} isChosen={name === chosen} />
          </li>
        ))}
      </ul>
    </nav>
  );
}

interface EntryProps {
  readonly name: string;
  readonly facts: RunFacts | undefined;
  readonly live: Live | undefined;
  readonly isChosen: boolean;
}

function Entry({ name, facts, live, isChosen }: EntryProps) {
  void live?.version.value; // what is read below changes with it
  const [step, steps] = [live?.step ?? facts?.step ?? 0, live?.steps || (facts?.steps ?? 0)];
  const loss = live?.loss.last ?? facts?.loss ?? undefined;
  return (
    <a href={link("learn", { run: name })} aria-current={isChosen ? "page" : undefined}>
      <b>{name}</b>
      <Sparkline points={live ? curveOf(live.loss) : (facts?.curve ?? [])} label={`Loss of ${name}`} />
      <small>
        {facts ? `${facts.model}, ${facts.task}` : "new"}
        <br />
        {stateWords(live, facts)} · {step.toLocaleString("en")}/{steps.toLocaleString("en")}
      </small>
      <small class="number">{loss === undefined ? "" : digits(Number(loss.toPrecision(3)))}</small>
    </a>
  );
}
