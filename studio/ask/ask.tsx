import { address, count, put } from "../address.ts";
import { RunPicker } from "../parts/run-picker.tsx";
import { Answered, Empty, Unsaved } from "../parts/states.tsx";
import { type Tab, Tabs } from "../parts/tabs.tsx";
import { canBeOpened } from "../stores/live.ts";
import { useAnswer, withModel } from "../stores/models.ts";
import { folderOf, nameOf, openable } from "../stores/runs.ts";
import { promptOf } from "../stores/sample-text.ts";
import type { Asked } from "./asked.ts";
import { ClassifyingRoom } from "./classifying/room.tsx";
import { FillingRoom } from "./filling/room.tsx";
import { VectorRoom } from "./filling/vectors.tsx";
import { MeasuringRoom } from "./measuring/room.tsx";
import { TaggingRoom } from "./tagging/room.tsx";
import { TranslatingRoom } from "./translating/room.tsx";
import { BeamRoom } from "./writing/beam-room.tsx";
import { WritingRoom } from "./writing/room.tsx";

// Ask: what a model was made for. It writes, translates, gives labels or tags, and can be measured.

export function Ask() {
  const { params } = address.value;
  const name = params.run ?? (openable.value[0] && nameOf(openable.value[0].run));
  if (name === undefined)
    return (
      <Empty>
        <p>There is no model to ask yet. Train one under Learn: it can be asked as soon as it was saved for the first time.</p>
      </Empty>
    );
  const step = count("step");
  return (
    <div class="stack ask">
      <h1 class="visually-hidden">Ask {name}</h1>
      <div class="row">
        <RunPicker label="Model" chosen={name} choose={chooseRun} />
        {step !== undefined && (
          <span class="row">
            <span class="soft">as it was after step {step.toLocaleString("en")}</span>
            <button type="button" onClick={() => put({ step: undefined }, "push")}>
              The best weights
            </button>
          </span>
        )}
      </div>
      <Model key={`${name}@${step ?? ""}`} name={name} step={step} />
    </div>
  );
}

/** Another model: what was asked stays where it can be read there too. */
function chooseRun(run: string): void {
  const left = ["step", "tree", "at", "pin", "of", "chat", "label", "wanted", "said", "example", "text", "view"];
  put({ ...Object.fromEntries(left.map((name) => [name, undefined])), run }, "push");
}

function Model({ name, step }: { readonly name: string; readonly step: number | undefined }) {
  const isThere = canBeOpened(name, step);
  const waited = useAnswer(
    isThere ? () => withModel(name, step, async (model) => ({ facts: model.facts, example: await exampleOf(model) })) : undefined,
    [name, step, isThere],
  );
  if (!isThere) return <Unsaved name={name} />;
  return (
    <Answered waited={waited} what="The model is being opened.">
      {(found) => <Rooms asked={{ name, step, ...found }} />}
    </Answered>
  );

  async function exampleOf(model: Parameters<typeof promptOf>[0]): Promise<string> {
    return (await promptOf(model, folderOf(name))) || "The ";
  }
}

type RoomName = "ask" | "beams" | "measure";

const askingLabels: Readonly<Record<string, string>> = {
  lm: "Write",
  translate: "Translate",
  classify: "Classify",
  tag: "Tag",
  mlm: "Fill in",
  embed: "Compare texts",
};

function tabsOf({ facts: { task, writes } }: Asked): readonly Tab<RoomName>[] {
  const all: readonly (Tab<RoomName> & { readonly isThere: boolean })[] = [
    { name: "ask", label: askingLabels[task] ?? "Ask", isThere: true },
    { name: "beams", label: "Beams", isThere: writes },
    { name: "measure", label: "Measure", isThere: task !== "embed" },
  ];
  return all.filter(({ isThere }) => isThere);
}

function Rooms({ asked }: { readonly asked: Asked }) {
  const tabs = tabsOf(asked);
  const view = tabs.find(({ name }) => name === address.value.params.view)?.name ?? "ask";
  return (
    <Tabs label="Ways to ask" tabs={tabs} chosen={view} choose={(name) => put({ view: name === "ask" ? undefined : name }, "push")}>
      {view === "ask" && <AskRoom asked={asked} />}
      {view === "measure" && <MeasuringRoom asked={asked} />}
      {view === "beams" && <BeamRoom asked={asked} />}
    </Tabs>
  );
}

function AskRoom({ asked }: { readonly asked: Asked }) {
  switch (asked.facts.task) {
    case "lm":
      return <WritingRoom asked={asked} />;
    case "translate":
      return <TranslatingRoom asked={asked} />;
    case "classify":
      return <ClassifyingRoom asked={asked} />;
    case "tag":
      return <TaggingRoom asked={asked} />;
    case "mlm":
      return <FillingRoom asked={asked} />;
    case "embed":
      return <VectorRoom asked={asked} />;
  }
}
