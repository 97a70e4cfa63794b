import { useState } from "preact/hooks";
import { put } from "../address.ts";
import { computer } from "../compute/place.ts";
import { resumeTraining } from "../stores/going.ts";
import { forgetLive, type Live } from "../stores/live.ts";
import { closeRun, messageOf } from "../stores/models.ts";
import { refreshRuns, runNamed, runs } from "../stores/runs.ts";
import { setPrompt } from "../stores/sample-text.ts";
import { unwish } from "../stores/wishes.ts";
import { firstVisitIsOver } from "./first.ts";

// Pause, go on, stop, go on with what was stopped, remove.

export function Controls({ live }: { readonly live: Live }) {
  const [asked, setAsked] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string>();
  const state = live.state.value;
  const facts = runNamed(live.name);
  const attempt = (work: () => Promise<unknown>) => {
    setFailed(undefined);
    setBusy(true); // a second click would begin it twice
    work()
      .catch((error) => setFailed(messageOf(error)))
      .finally(() => setBusy(false));
  };
  const remove = async () => {
    setAsked(false);
    unwish(live.name);
    await computer().remove({ run: live.run });
    closeRun(live.name);
    setPrompt(live.run, undefined);
    if ((runs.value?.length ?? 0) <= 1) firstVisitIsOver();
    forgetLive(live.name);
    await refreshRuns();
    put({ run: undefined, at: undefined });
  };
  if (asked)
    return (
      <span class="row">
        Remove it with everything that it saved?
        <button type="button" onClick={() => attempt(remove)}>
          Remove
        </button>
        <button type="button" ref={(button) => button?.focus()} onClick={() => setAsked(false)}>
          Keep
        </button>
      </span>
    );
  return (
    <span class="row">
      {state === "training" && (
        <button type="button" onClick={() => live.pause()}>
          Pause
        </button>
      )}
      {state === "paused" && (
        <button type="button" class="first" onClick={() => live.go()}>
          Go on
        </button>
      )}
      {(state === "training" || state === "paused" || state === "starting") && (
        <button type="button" onClick={() => attempt(() => live.stop())}>
          Stop
        </button>
      )}
      {live.isOver && facts && facts.step < facts.steps && !facts.training && (
        <button type="button" class="first" disabled={isBusy} onClick={() => attempt(() => resumeTraining(live.name))}>
          Go on from step {facts.step.toLocaleString("en")}
        </button>
      )}
      {live.isOver && facts && facts.step >= facts.steps && (
        <MoreSteps steps={facts.steps} isBusy={isBusy} go={(steps) => attempt(() => resumeTraining(live.name, steps))} />
      )}
      {live.isOver && facts && (
        <button type="button" disabled={isBusy} onClick={() => setAsked(true)}>
          Remove
        </button>
      )}
      {failed !== undefined && <small role="alert">{failed}</small>}
    </span>
  );
}

/** What is done can go on to more steps. */
function MoreSteps({ steps, isBusy, go }: { readonly steps: number; readonly isBusy: boolean; readonly go: (steps: number) => void }) {
  const [typed, setTyped] = useState<string>();
  const wanted = Number(typed ?? 2 * steps);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (wanted > steps) go(wanted);
      }}
    >
      <button type="submit" disabled={isBusy}>
        Go on to step
      </button>
      <input
        type="number"
        class="short-number"
        aria-label="The step to go on to"
        min={steps + 1}
        required
        value={typed ?? 2 * steps}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </form>
  );
}
