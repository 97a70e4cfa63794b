import { troubled } from "../../../src/metrics/confused.ts";
import type { HeldOutExamples } from "../../../src/worker/found.ts";
import type { Run } from "../../../src/worker/run.ts";
import { address, put } from "../../address.ts";
import { computer } from "../../compute/place.ts";
import { Answered } from "../../parts/states.tsx";
import { Warnings } from "../../parts/warnings.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { folderOf } from "../../stores/runs.ts";
import type { Asked } from "../asked.ts";
import { Switch } from "../switch.tsx";
import { Calibration } from "./calibration.tsx";
import { Confusion, mostShown } from "./confusion.tsx";
import { type Crossing, calibrationOf, crossedLabels, crossedPresence, crossedTags } from "./crossing.ts";
import { ExampleList } from "./examples.tsx";
import { ClassTable, MeasureList } from "./measures.tsx";

// Measuring: how good a model is on what was held out of its data, and the examples behind every number.

const mostExamples = 1000;

export function MeasuringRoom({ asked }: { readonly asked: Asked }) {
  const { name, step, facts } = asked;
  const measured = useAnswer((signal) => withModel(name, step, (model) => evaluated(model, signal)), [name, step]);
  const hasExamples = facts.task === "classify" || facts.task === "tag" || facts.task === "translate";
  const settings = { most: mostExamples, ...(step !== undefined && { step }) };
  const examples = useAnswer(hasExamples ? (signal) => computer().examples({ run: folderOf(name) }, { ...settings, signal }) : undefined, [
    name,
    step,
  ]);
  return (
    <div class="stack">
      <section class="panel bare">
        <h2>On what was held out of its data</h2>
        <Answered waited={measured} what="It answers everything that was held out. This may take a while.">
          {({ measures, warnings }) => (
            <>
              <Warnings sentences={warnings} />
              <MeasureList measures={measures} />
              <ClassTable measures={measures} />
            </>
          )}
        </Answered>
      </section>
      <Answered waited={examples} what="Its answers are being collected.">
        {(found) => (facts.task === "translate" ? <Translations asked={asked} found={found} /> : <Labels asked={asked} found={found} />)}
      </Answered>
    </div>
  );
}

/** With what is said of its data: if that has changed, some of it may have been trained on. */
async function evaluated(model: Run, signal: AbortSignal) {
  const warnings: string[] = [];
  return { measures: await model.evaluate([], { warn: (sentence) => void warnings.push(sentence), signal }), warnings };
}

const some = ({ rows, all }: HeldOutExamples): string =>
  rows.length < all ? ` (${rows.length.toLocaleString("en")} of ${all.toLocaleString("en")}, evenly from all)` : "";

/** Of several labels each has a probability of its own, so an answer has none. */
const areSeveral = ({ rows, task }: HeldOutExamples): boolean =>
  task === "classify" && rows.every(({ probability }) => probability === null);

function Labels({ asked, found }: { readonly asked: Asked; readonly found: HeldOutExamples }) {
  const { params } = address.value;
  const { labels, rows, task } = found;
  const isSeveral = areSeveral(found);
  const label = labels.find((one) => one === params.label) ?? labels[0];
  const crossing: Crossing = isSeveral
    ? crossedPresence(label, labels, rows)
    : task === "tag"
      ? crossedTags(labels, rows)
      : crossedLabels(labels, rows);
  const shown = crossing.rows === crossing.columns ? troubled(crossing.counts, mostShown) : [...crossing.rows.keys()];
  const [row, column] = [crossing.rows.indexOf(params.wanted ?? ""), crossing.columns.indexOf(params.said ?? "")];
  const chosen = row >= 0 && column >= 0 ? { row, column } : undefined;
  const behind = chosen ? crossing.behind(row, column) : rows.filter(({ correct }) => !correct);
  return (
    <>
      <section class="panel">
        <h2>What was taken for what{some(found)}</h2>
        {isSeveral && (
          <Switch
            label="Label"
            ways={Object.fromEntries(labels.map((one) => [one, one]))}
            chosen={label}
            choose={(one) => put({ label: one, wanted: undefined, said: undefined, example: undefined })}
          />
        )}
        {shown.length < labels.length && !isSeveral && (
          <p class="soft">
            The {shown.length} of {labels.length} labels with the most mistakes.
          </p>
        )}
        <Confusion
          name={asked.name}
          crossing={crossing}
          shown={shown}
          chosen={chosen}
          choose={(cell) => put({ wanted: crossing.rows[cell.row], said: crossing.columns[cell.column], example: undefined }, "push")}
        />
      </section>
      <ExampleList
        key={`${params.label},${params.wanted},${params.said}`}
        asked={asked}
        rows={behind}
        heading={
          chosen
            ? `${cellName(isSeveral, label, crossing.rows[row], crossing.columns[column])}: ${behind.length.toLocaleString("en")} ${behind.length === 1 ? "example" : "examples"}`
            : `Mistakes: ${behind.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`
        }
      />
      {task === "classify" && !isSeveral && <Calibration bins={calibrationOf(rows)} />}
    </>
  );
}

function cellName(isSeveral: boolean, label: string, wanted: string, said: string): string {
  if (isSeveral) return `“${label}” is ${wanted} and was ${said}`;
  return wanted === said ? `“${wanted}”, found` : `“${wanted}”, taken for “${said}”`;
}

const orders = { data: "In the order of the data", worst: "The worst first" };

function Translations({ asked, found }: { readonly asked: Asked; readonly found: HeldOutExamples }) {
  const order = address.value.params.order === "worst" ? "worst" : "data";
  const rows = order === "worst" ? [...found.rows].sort((a, b) => (a.score ?? 0) - (b.score ?? 0)) : found.rows;
  return (
    <>
      <Switch
        label="Order"
        ways={orders}
        chosen={order}
        choose={(one) => put({ order: one === "worst" ? one : undefined, example: undefined })}
      />
      <ExampleList key={order} asked={asked} rows={rows} heading={`Examples${some(found)}`} />
    </>
  );
}
