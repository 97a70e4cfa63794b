import { useEffect, useState } from "preact/hooks";
import { address, count, put } from "../address.ts";
import { computer } from "../compute/place.ts";
import { RunPicker } from "../parts/run-picker.tsx";
import { Slider } from "../parts/slider.tsx";
import { Answered, Empty, Unsaved } from "../parts/states.tsx";
import { type Tab, Tabs } from "../parts/tabs.tsx";
import { TextField } from "../parts/text-field.tsx";
import { pointedSource, TokenStrip } from "../parts/token-strip.tsx";
import { canBeOpened, lives } from "../stores/live.ts";
import { shown, useAnswer, withModel } from "../stores/models.ts";
import { folderOf, nameOf, openable } from "../stores/runs.ts";
import { promptOf } from "../stores/sample-text.ts";
import { AttentionRoom } from "./attention/room.tsx";
import { CausesRoom } from "./causes/room.tsx";
import { MapRoom } from "./map/room.tsx";
import type { Sight } from "./sight.ts";

// Look: a model, a text, and three ways to see what happens between the two.

type ViewName = "map" | "attention" | "causes";
const views: readonly Tab<ViewName>[] = [
  { name: "map", label: "The way of a token" },
  { name: "attention", label: "Attention" },
  { name: "causes", label: "Causes" },
];

/** What an address says of one model and its text, and of no other. */
const ofRun = ["step", "text", "target", "pin", "key", "source", "other", "changes", "answer", "label"];

export function Look() {
  const { params } = address.value;
  const name = params.run ?? (openable.value[0] && nameOf(openable.value[0].run));
  if (name === undefined)
    return (
      <Empty>
        <p>There is no model to look into yet. Train one under Learn: it can be looked at as soon as it was saved for the first time.</p>
      </Empty>
    );
  return (
    <div class="stack">
      <h1 class="visually-hidden">Look inside {name}</h1>
      <div class="row">
        <RunPicker
          label="Model"
          chosen={name}
          choose={(run) => put({ ...Object.fromEntries(ofRun.map((one) => [one, undefined])), run }, "push")}
        />
        <Steps name={name} />
      </div>
      <Model key={name} name={name} step={count("step")} />
    </div>
  );
}

/** Back to any step that was saved. */
function Steps({ name }: { readonly name: string }) {
  const live = lives.value.get(name);
  const found = useAnswer(() => computer().checkpoints({ run: folderOf(name) }), [name, live?.saved.value]);
  const steps = found.state === "ready" ? found.answer : "before" in found ? (found.before ?? []) : [];
  if (steps.length < 2) return null;
  const step = count("step");
  const at = step === undefined ? steps.length : Math.max(0, steps.indexOf(step));
  return (
    <Slider
      label="As it was after"
      min={0}
      max={steps.length}
      value={at}
      shown={(place) => (place >= steps.length ? "the best weights" : `step ${steps[place].toLocaleString("en")}`)}
      choose={(place) => put({ step: steps[place] })}
      help="The model as it was when this step was saved"
    />
  );
}

function Model({ name, step: wanted }: { readonly name: string; readonly step: number | undefined }) {
  const [step, setStep] = useState(wanted);
  const { text: givenText, target: givenTarget } = address.value.params;
  const isThere = canBeOpened(name, step);
  const waited = useAnswer(
    isThere
      ? () =>
          withModel(name, step, async (model) => {
            const text = givenText ?? ((await promptOf(model, folderOf(name))) || "To be or not to be");
            const { facts } = model;
            const target =
              facts.readsSource && facts.writes
                ? (givenTarget ?? (await model.translate([text], { warn: () => {} }))[0].target)
                : undefined;
            const asked = { ...(target !== undefined && { target }), warn: () => {} };
            const { tokens, targetTokens, ...inside } = await model.taps(text, [], asked);
            return { facts, text, target, tokens, targetTokens, inside };
          })
      : undefined,
    [name, step, givenText, givenTarget, isThere],
  );
  // Whoever slides over many steps waits for the one that is being opened and then for the last, and not for all between them.
  useEffect(() => {
    if (waited.state !== "loading" && step !== wanted) setStep(wanted);
  }, [waited.state, step, wanted]);
  const pinned = count("pin");
  const last = shown(waited); // its words stand until the next are there
  if (!isThere) return <Unsaved name={name} />;
  return (
    <>
      <Texts text={givenText ?? last?.text ?? ""} target={givenTarget ?? last?.target} />
      <Answered waited={waited} what="The model is being opened.">
        {(found) => (
          <Views
            sight={{
              name,
              step,
              ...found,
              pinned: pinned !== undefined && pinned < (found.targetTokens ?? found.tokens).length ? pinned : undefined,
              pin: (place) => put({ pin: place }),
            }}
          />
        )}
      </Answered>
    </>
  );
}

const field = { rows: 2, rest: 400 };

/** What the model reads; it reads it when the typing rests. */
function Texts({ text, target }: { readonly text: string; readonly target: string | undefined }) {
  return (
    <div class="stack">
      <TextField
        {...field}
        label="Text"
        value={text}
        change={(value) => put({ text: value, pin: undefined, key: undefined, source: undefined, target: undefined })}
      />
      {target !== undefined && (
        <TextField
          {...field}
          label="Target"
          value={target}
          change={(value) => put({ target: value, pin: undefined, key: undefined, source: undefined })}
        />
      )}
    </div>
  );
}

function Views({ sight }: { readonly sight: Sight }) {
  const view = views.find(({ name }) => name === address.value.params.view)?.name ?? "map";
  const written = sight.targetTokens ?? sight.tokens;
  return (
    <>
      <div class="look-strips">
        {sight.targetTokens && <TokenStrip tokens={sight.tokens} label="Tokens of the source" hover={pointedSource} />}
        <TokenStrip
          tokens={written}
          label={sight.targetTokens ? "Tokens of the target" : "Tokens of the text"}
          pinned={sight.pinned}
          pin={sight.pin}
        />
      </div>
      <Tabs label="Ways to look" tabs={views} chosen={view} choose={(name) => put({ view: name }, "push")}>
        {view === "map" && <MapRoom sight={sight} />}
        {view === "attention" && <AttentionRoom sight={sight} />}
        {view === "causes" && <CausesRoom sight={sight} />}
      </Tabs>
    </>
  );
}
