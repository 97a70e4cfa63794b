import { useEffect, useState } from "preact/hooks";
import { link } from "../address.ts";
import { standing } from "../compute/place.ts";
import { amount, digits, duration } from "../parts/numbers.ts";
import { Failed, Loading } from "../parts/states.tsx";
import { Warnings } from "../parts/warnings.tsx";
import { type Live, lives, recalled } from "../stores/live.ts";
import { messageOf } from "../stores/models.ts";
import { runNamed, runs } from "../stores/runs.ts";
import { Controls } from "./controls.tsx";
import { Curves } from "./curves.tsx";
import { firstName } from "./first.ts";
import { Heads } from "./heads.tsx";
import { Layers } from "./layers.tsx";
import { Spent } from "./spent.tsx";
import { stateWords } from "./words.ts";
import { Writing } from "./writing.tsx";

// One run, as it learns or as it went.

export function Watch({ name }: { readonly name: string }) {
  const live = lives.value.get(name);
  const facts = runNamed(name);
  const [failed, setFailed] = useState<string>();
  const [modified, over] = [facts?.modified, live?.isOver ?? true];
  useEffect(() => {
    if (!facts || standing.value.state !== "ready" || (live && !live.isOver)) return;
    if (live && live.step >= facts.step) return; // all of it is known
    recalled(facts).then(
      () => setFailed(undefined),
      (error) => setFailed(messageOf(error)),
    );
  }, [modified, over, live === undefined, standing.value.state]);
  if (live) return <Sight live={live} />;
  if (failed !== undefined) return <Failed message={failed} />;
  if (runs.value && !facts) return <Failed message={`There is no run called ${name} here; it may have been removed.`} />;
  return <Loading what={`Reading how ${name} went.`} />;
}

function Sight({ live }: { readonly live: Live }) {
  return (
    <>
      <Head live={live} />
      {live.name === firstName && <FirstWords />}
      {live.state.value === "failed" && <Failed message={live.message.value ?? "The training ended."} />}
      {live.state.value === "interrupted" && standing.value.state === "ready" && (
        <Failed message={live.message.value ?? "The training was interrupted."}>
          <p>Load this page again: it goes on where it was saved.</p>
        </Failed>
      )}
      <Warnings sentences={live.warnings.value} />
      <Numbers live={live} />
      <div class="learn-grid">
        <Curves live={live} />
        <Writing live={live} />
        <Heads live={live} />
        <div class="learn-side">
          <Layers live={live} />
          <Spent live={live} />
        </div>
      </div>
    </>
  );
}

function Head({ live }: { readonly live: Live }) {
  const facts = runNamed(live.name);
  const opens = facts?.opens || live.saved.value !== undefined;
  return (
    <header class="learn-head row">
      <h1>{live.name}</h1>
      <span class="badge" data-state={live.state.value}>
        {stateWords(live, facts)}
      </span>
      <Controls live={live} />
      <span class="space" />
      {opens && (
        <span class="row">
          <a href={link("look", { run: live.name })}>Look inside</a>
          <a href={link("ask", { run: live.name })}>Ask it</a>
        </span>
      )}
    </header>
  );
}

/** For somebody who sees this for the first time. */
const FirstWords = () => (
  <p class="first-sight">
    A small Transformer reads the beginning of Moby-Dick and learns to guess the next character. The curve is its loss, how much the next
    character surprises it, and falls as it learns. Beside it you see what it writes now, from the same words each time: first letters, then
    words; and below, where its heads look while it reads them. <span class="soft">Page 4 of the tour explains training.</span>
  </p>
);

function Numbers({ live }: { readonly live: Live }) {
  void live.version.value; // what is read below changes with it
  const { left } = live;
  const speed = mean(live.speed.values.slice(-30));
  const facts: readonly (readonly [name: string, value: string])[] = [
    ["step", `${live.step.toLocaleString("en")} of ${live.steps ? live.steps.toLocaleString("en") : "…"}`],
    ["loss", told(mean(live.loss.values.slice(-20)))],
    ["validation", told(live.validation.last)],
    ["tokens a second", speed === undefined ? "–" : amount(speed)],
    ["time left", live.isOver ? "–" : left === undefined ? "…" : duration(left)],
    ["parameters", live.parameters ? amount(live.parameters) : "…"],
  ];
  return (
    <div class="stack">
      <progress max={Math.max(1, live.steps)} value={live.step} aria-label="Steps taken" />
      <dl class="numbers">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

const told = (value: number | undefined): string => (value === undefined ? "–" : digits(Number(value.toPrecision(4))));

const mean = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, one) => sum + one, 0) / values.length;
