import { useEffect, useState } from "preact/hooks";
import type { Swept } from "../../../src/inspection/sweep.ts";
import { scaleOf } from "../../../src/pictures/scale.ts";
import { address, put } from "../../address.ts";
import { digits, percent } from "../../parts/numbers.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Empty, Failed } from "../../parts/states.tsx";
import { messageOf, shown, useAnswer, withModel } from "../../stores/models.ts";
import { Heat } from "../map/heat.tsx";
import { planePicture } from "../map/picture.ts";
import { answerAt, askedWith, keyOf, ownTokens, type Sight } from "../sight.ts";
import { tokenName } from "../token-name.ts";
import { answerOf, BeforeAfter, changesNow, otherText, setChanges } from "./answers.tsx";
import { type Change, has, toggled } from "./changes.ts";
import { Listed } from "./changes-room.tsx";
import { type Measure, measured, measures, type SweepKind, sweepsOf } from "./sweeps.ts";

// One place after the other is changed, and the same answer asked for each time: where the answer comes from.

const measureWords: Readonly<Record<Measure, string>> = {
  probability: "change of its probability",
  loss: "fall of its loss (−log p)",
  share: "share of the way to the other text's",
};

export function Sweep({ sight }: { readonly sight: Sight }) {
  const { params } = address.value;
  const kinds = sweepsOf(sight.inside.taps, sight.facts.readsSource);
  const kind = kinds.find(({ key }) => key === params.sweep) ?? kinds[0];
  const answers = useAnswers(sight);
  if (sight.facts.task === "embed") return <Empty>This model gives vectors of texts, and no answer whose probability could change.</Empty>;
  if (!kind) return <Empty>None of this model's places is known by its name here, so there is nothing to go over.</Empty>;
  const answer = params.answer === undefined ? undefined : Number(params.answer);
  const changes = changesNow();
  const able = measures.filter((one) => one !== "share" || (otherText() !== undefined && kind.over === "position"));
  const measure = able.find((one) => one === params.measure) ?? "probability";
  return (
    <div class="stack">
      <div class="row">
        <label class="row">
          Go over
          <select value={kind.key} onChange={(event) => put({ sweep: event.currentTarget.value })}>
            {kinds.map(({ key, label }) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="row">
          Answer
          <select value={params.answer ?? ""} onChange={(event) => put({ answer: event.currentTarget.value || undefined })}>
            <option value="">the likeliest</option>
            {answers.map(({ id, name, probability }) => (
              <option key={id} value={id}>
                {tokenName(name)} ({percent(probability)})
              </option>
            ))}
          </select>
        </label>
        <label class="row">
          Show
          <select value={measure} onChange={(event) => put({ measure: event.currentTarget.value })}>
            {able.map((one) => (
              <option key={one} value={one}>
                {measureWords[one]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Layers key={keyOf(sight)} sight={sight} kind={kind} answer={answer} measure={measure} />
      {changes.length > 0 && (
        <>
          <Listed sight={sight} changes={changes} />
          <BeforeAfter sight={sight} />
        </>
      )}
    </div>
  );
}

/** What could be asked for: what is likely for this text, or for the other. */
function useAnswers(sight: Sight): readonly { readonly id: number; readonly name: string; readonly probability: number }[] {
  const other = otherText();
  const position = answerAt(sight);
  const asked = (text: string, signal: AbortSignal) =>
    withModel(sight.name, sight.step, (model) =>
      model.patch(text, [], { ...askedWith(sight, signal), ...(position !== undefined && { position }), top: 8 }),
    );
  const found = useAnswer(
    async (signal) => {
      const own = (await asked(sight.text, signal)).candidates ?? [];
      const others = other === undefined ? [] : ((await asked(other, signal).catch(() => undefined))?.candidates ?? []);
      const known = new Set(own.map(({ id }) => id));
      return [...own, ...others.filter(({ id }) => !known.has(id))].map(({ id, name, before }) => ({ id, name, probability: before }));
    },
    [keyOf(sight), other, position],
  );
  return shown(found) ?? [];
}

interface Progress {
  readonly rows: readonly Swept[];
  readonly state: "going" | "done" | "stopped" | { readonly failed: string };
}

interface SweptProps {
  readonly sight: Sight;
  readonly kind: SweepKind;
  readonly answer: number | undefined;
  readonly measure: Measure;
}

function Layers({ sight, kind, answer, measure }: SweptProps) {
  const other = kind.over === "position" ? otherText() : undefined;
  const position = answerAt(sight);
  const [progress, setProgress] = useState<Progress>({ rows: [], state: "going" });
  const [round, setRound] = useState(0);
  const [stop, setStop] = useState<AbortController>();
  useEffect(() => {
    const control = new AbortController();
    setStop(control);
    const go = async () => {
      const rows: Swept[] = [];
      setProgress({ rows, state: "going" });
      for (const tap of kind.taps) {
        const asked = {
          tap,
          over: kind.over,
          ...(other !== undefined && { from: other }),
          ...(sight.target !== undefined && { target: sight.target }),
          ...(answer !== undefined && { answer }),
          ...(position !== undefined && { position }),
        };
        rows.push(
          await withModel(sight.name, sight.step, (model) => model.sweep(sight.text, asked, { signal: control.signal, warn: () => {} })),
        );
        if (control.signal.aborted) return; // it was answered before it could be stopped
        setProgress({ rows: [...rows], state: "going" });
      }
      setProgress({ rows, state: "done" });
    };
    go().catch((error) => !control.signal.aborted && setProgress(({ rows }) => ({ rows, state: { failed: messageOf(error) } })));
    return () => control.abort();
  }, [keyOf(sight), kind.key, other, answer, position, round]);
  const { rows, state } = progress;
  const first = rows[0];
  return (
    <section class="stack">
      <p class="soft">
        {kind.over === "head"
          ? "Each head is silenced in turn."
          : other === undefined
            ? "Each place is left out in turn. Give another text above, and its numbers are put there instead."
            : "Each place gets the numbers that it has in the other text, in turn."}{" "}
        Asked for: {answerOf(sight)}
        {first &&
          `, “${tokenName(first.answer.name)}”, with ${percent(first.before)} as it is${first.other === undefined ? "" : ` and ${percent(first.other)} in the other text`}`}
        . A click on a cell puts its change into the list.
      </p>
      <div class="row">
        <small role="status">
          {typeof state === "object"
            ? ""
            : state === "done"
              ? `All ${kind.taps.length} layers are done.`
              : `${rows.length} of ${kind.taps.length} layers${state === "stopped" ? ", stopped" : ""}`}
        </small>
        {state === "going" ? (
          <button
            type="button"
            onClick={() => {
              stop?.abort();
              setProgress((last) => ({ ...last, state: "stopped" }));
            }}
          >
            Stop
          </button>
        ) : (
          state !== "done" && (
            <button type="button" onClick={() => setRound(round + 1)}>
              Again
            </button>
          )
        )}
      </div>
      {typeof state === "object" && <Failed message={state.failed} />}
      {rows.length > 0 && <Cells sight={sight} kind={kind} rows={rows} measure={measure} other={other} />}
    </section>
  );
}

function Cells({
  sight,
  kind,
  rows,
  measure,
  other,
}: {
  readonly sight: Sight;
  readonly kind: SweepKind;
  readonly rows: readonly Swept[];
  readonly measure: Measure;
  readonly other: string | undefined;
}) {
  const columns = rows[0].after.length;
  const data = new Float32Array(kind.taps.length * columns);
  for (const [i, row] of rows.entries())
    for (const [j, after] of row.after.entries()) data[i * columns + j] = measured(measure, row, after);
  const reach = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const scale = scaleOf("diverging", -reach, reach);
  const plane = { rows: kind.taps.length, columns, rowAxis: "layer", columnAxis: kind.over, data };
  const tokens = (kind.side === "source" ? sight.tokens : ownTokens(sight)).map(tokenName);
  const columnNames = kind.over === "head" ? Array.from({ length: columns }, (_, i) => `${i}`) : tokens;
  const rowNames = kind.taps.map((tap) => /(block|layer)\.\d+/.exec(tap)?.[0] ?? tap.split("/").at(-1) ?? tap);
  const changeAt = (row: number, column: number): Change => {
    const tap = kind.taps[row];
    if (kind.over === "position") return { kind: other === undefined ? "zero" : "swap", tap, positions: [column] };
    const attention = tap.includes("/cross/") ? "cross" : kind.side === "source" ? "encoder" : "self";
    return { kind: "head", attention, layer: row, head: column };
  };
  const title = `Sweep: ${kind.label}, ${measureWords[measure]}`;
  return (
    <div class="stack">
      <Heat
        plane={plane}
        scale={scale}
        label={title}
        rowNames={rowNames}
        columnNames={columnNames}
        shown={(value) => (measure === "loss" ? digits(value) : `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)} %`)}
        hidden={(row) => row >= rows.length}
        framed={(row, column) => has(changesNow(), changeAt(row, column))}
        choose={(row, column) => setChanges(toggled(changesNow(), changeAt(row, column)))}
      />
      <div class="row">
        <SaveMenu
          name={`sweep-${kind.key}`}
          svg={() => planePicture({ plane, scale, title, rowNames, columnNames, unit: measureWords[measure] })}
          json={() => ({ kind: kind.key, taps: kind.taps, rows })}
        />
      </div>
    </div>
  );
}
