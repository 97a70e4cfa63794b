import { useEffect, useState } from "preact/hooks";
import { put } from "../address.ts";
import { computer } from "../compute/place.ts";
import { Slider } from "../parts/slider.tsx";
import type { Live } from "../stores/live.ts";
import { useAnswer } from "../stores/models.ts";
import { promptSet, setPrompt } from "../stores/sample-text.ts";
import { chosenSnapshot } from "./chosen.ts";

// What it says now: the same beginning every so many steps. The slider leads back to what it said before; the heads beside it follow.

const titles: Readonly<Record<string, string>> = {
  lm: "What it writes",
  classify: "What it says of a text",
  tag: "How it tags a text",
  translate: "How it translates",
  mlm: "What it fills in",
};

export function Writing({ live }: { readonly live: Live }) {
  const all = live.snapshots.value;
  const { at, snapshot } = chosenSnapshot(live);
  return (
    <section class="panel writing" aria-labelledby="writing-title">
      <header>
        <h2 id="writing-title">{titles[live.task] ?? titles.lm}</h2>
        {snapshot && <span class="soft">after step {snapshot.step.toLocaleString("en")}</span>}
      </header>
      <div class="learn-back">
        {all.length > 1 && (
          <Slider
            label="Back"
            min={0}
            max={all.length - 1}
            value={at}
            shown={(place) => (place === all.length - 1 ? "newest" : `${all[place]?.step.toLocaleString("en")}`)}
            choose={(place) => put({ at: place === all.length - 1 ? undefined : all[place].step })}
            help="What it wrote after earlier steps"
          />
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section class="learn-said" tabIndex={0} aria-label="What the model said">
        {snapshot ? (
          <Said prompt={snapshot.prompt} text={snapshot.text ?? ""} goesOn={live.task === "lm"} />
        ) : (
          <span class="soft">{live.isOver ? "" : "It will write here as soon as it was saved for the first time."}</span>
        )}
      </section>
      {all.length <= 1 && live.isOver && <Earlier key={live.run} live={live} />}
      <Prompt live={live} />
    </section>
  );
}

const Said = ({ prompt, text, goesOn }: { readonly prompt: string; readonly text: string; readonly goesOn: boolean }) =>
  goesOn ? (
    <p class="said-words" dir="auto">
      <span class="soft">{prompt}</span>
      {text}
    </p>
  ) : (
    <>
      <p class="said-words soft" dir="auto">
        {prompt}
      </p>
      <p class="said-words" dir="auto">
        → {text}
      </p>
    </>
  );

const earlierSteps = 8;

/** Of a small model the newest step is opened without being asked. */
const smallModel = 3e6;

/** Of a run that was not watched: its checkpoints are opened, one after the other. */
function Earlier({ live }: { readonly live: Live }) {
  const [asked, setAsked] = useState(false);
  const found = useAnswer(() => computer().checkpoints({ run: live.run }), [live.run]);
  const steps = found.state === "ready" ? found.answer : [];
  const last = steps.at(-1);
  useEffect(() => {
    if (last !== undefined && live.snapshots.value.length === 0 && live.parameters <= smallModel) live.recall([last]);
  }, [last]);
  if (steps.length < 2) return null;
  const chosen = spread(steps, earlierSteps).toReversed();
  return (
    <p>
      <button
        type="button"
        disabled={asked}
        onClick={() => {
          setAsked(true);
          live.recall(chosen);
        }}
      >
        {asked ? "Its saved steps are being opened" : "Show what it said before"}
      </button>
    </p>
  );
}

/** So many of a list, the first and the last among them. */
export function spread<One>(all: readonly One[], most: number): readonly One[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => all[Math.round((i * (all.length - 1)) / (most - 1))]);
}

const restMs = 800;

function Prompt({ live }: { readonly live: Live }) {
  const known = live.snapshots.value.at(-1)?.prompt ?? promptSet(live.run) ?? "";
  const [typed, setTyped] = useState<string>();
  useEffect(() => {
    if (typed === undefined) return;
    const timer = setTimeout(() => {
      setPrompt(live.run, typed);
      put({ at: undefined });
      live.again();
      setTyped(undefined);
    }, restMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <label class="stack">
      <small>{live.task === "lm" ? "It goes on from" : "It reads"}</small>
      <input type="text" class="prompt" dir="auto" value={typed ?? known} onInput={(event) => setTyped(event.currentTarget.value)} />
    </label>
  );
}
