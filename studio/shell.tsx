import type { ComponentType } from "preact";
import { address, link, type PlaceName, places, written } from "./address.ts";
import { Ask } from "./ask/ask.tsx";
import { Compare } from "./compare/compare.tsx";
import { badge, standing } from "./compute/place.ts";
import { Learn } from "./learn/learn.tsx";
import { Look } from "./look/look.tsx";
import { Guard } from "./parts/guard.tsx";
import { Failed, Loading } from "./parts/states.tsx";
import { choose, theme } from "./parts/theme.ts";
import { lives } from "./stores/live.ts";

// The frame: four places, named by what a person wants.

const rooms: Readonly<Record<PlaceName, { readonly label: string; readonly room: ComponentType }>> = {
  learn: { label: "Learn", room: Learn },
  look: { label: "Look", room: Look },
  ask: { label: "Ask", room: Ask },
  compare: { label: "Compare", room: Compare },
};

export function Shell() {
  const { place, params } = address.value;
  const { room: Room, label } = rooms[place];
  document.title = `${params.run ? `${params.run} · ` : ""}${label} · qkv studio`;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        To the content
      </button>
      <header class="bar">
        <a class="name" href={link("learn")}>
          qkv studio
        </a>
        <nav aria-label="Places">
          <ul>
            {places.map((name) => (
              <li key={name}>
                <a href={link(name, { run: params.run })} aria-current={name === place ? "page" : undefined}>
                  {rooms[name].label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <span class="space" />
        <Under />
        <Where />
        <button type="button" class="plain" onClick={() => choose(theme.value === "dark" ? "light" : "dark")}>
          {theme.value === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      <main id="main" class={`place-${place}`} tabIndex={-1}>
        <Connected />
        {standing.value.state !== "failed" && (
          <Guard of={written(address.value)}>
            <Room />
          </Guard>
        )}
      </main>
    </>
  );
}

function Connected() {
  const { value } = standing;
  if (value.state === "connecting") return <Loading what="Looking for what computes." />;
  if (value.state === "ready") return null;
  return (
    <Failed message={value.message}>
      {value.state === "lost" ? <p>What was saved is there. This page goes on as soon as it is answered again.</p> : <Reload />}
    </Failed>
  );
}

const Reload = () => (
  <p>
    <button type="button" onClick={() => location.reload()}>
      Try again
    </button>
  </p>
);

function Where() {
  const { short, long } = badge();
  return (
    <span class="badge" data-state={standing.value.state} title={long} role="status">
      {short}
    </span>
  );
}

/** Trainings that go on are seen from everywhere. */
function Under() {
  const under = [...lives.value.values()].filter((live) => !live.isOver);
  if (under.length === 0) return null;
  return (
    <span class="row">
      {under.map((live) => (
        <a key={live.name} class="badge" href={link("learn", { run: live.name })}>
          {live.name}: {live.version.value >= 0 && `${live.step.toLocaleString("en")} of ${live.steps.toLocaleString("en")}`}
        </a>
      ))}
    </span>
  );
}
