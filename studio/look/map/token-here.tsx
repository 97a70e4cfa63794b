import type { Activation } from "../../../src/inspection/observe.ts";
import { scaleOf } from "../../../src/pictures/scale.ts";
import { digits, percent } from "../../parts/numbers.ts";
import { Bars } from "./bars.tsx";
import { Heat } from "./heat.tsx";
import { farthest, type Plane, planeOf, rowOf, summaryOf } from "./numbers.ts";
import type { Place } from "./places.ts";

// What the followed token is at this place: its row of numbers, or whom it looks at.

export interface TokenHereProps {
  readonly place: Place;
  readonly plane: Plane;
  readonly at: number;
  readonly token: string;
  readonly keyNames: readonly string[] | undefined;
  readonly isHidden?: (row: number, column: number) => boolean;
  /** What is added, at a sum: what was there, and what the layer gave. */
  readonly summands?: readonly { readonly name: string; readonly activation: Activation }[];
}

const mostKeys = 24;
const mostUnits = 10;

export function TokenHere({ place: { kind }, plane, at, token, keyNames, isHidden, summands }: TokenHereProps) {
  if (at >= plane.rows) return null;
  const row = rowOf(plane, at);
  const name = token;
  if (plane.columnAxis === "key" && keyNames) {
    const all = [...row].map((value, key) => ({ key, value, name: `${keyNames[key]}`, hidden: isHidden?.(at, key) ?? false }));
    const seen = all.filter(({ hidden }) => !hidden);
    const some = seen.length > mostKeys ? seen.toSorted((a, b) => b.value - a.value).slice(0, mostKeys) : seen;
    const isShare = kind === "pattern";
    return (
      <section class="stack">
        <h3>
          {name} (query {at}) {isShare ? "looks at" : "against each key"}
          {all.length > seen.length && `, of ${seen.length} of ${all.length} keys that it may see`}
          {seen.length > some.length && `; the ${some.length} strongest`}
        </h3>
        <Bars
          bars={some.map(({ key, value, name: of }) => ({ name: of, place: key, value }))}
          label={`${name} and each key`}
          shown={isShare ? percent : digits}
          {...(isShare && { most: 1 })}
        />
      </section>
    );
  }
  const { norm } = summaryOf(row);
  const reach = Math.max(...row.map(Math.abs)) || 1;
  const units = farthest(row, mostUnits);
  return (
    <section class="stack">
      <h3>
        {name} ({plane.rowAxis} {at}): {row.length} numbers, length {digits(norm)}
      </h3>
      <Heat
        plane={{ ...plane, rows: 1, rowAxis: "", data: row }}
        scale={scaleOf("diverging", -reach, reach)}
        label={`The numbers of ${name}`}
      />
      {summands && <Sum summands={summands} at={at} whole={norm} />}
      {kind === "hidden" && (
        <>
          <h3>The units that fire most</h3>
          <Bars bars={units.map((unit) => ({ name: "unit", place: unit, value: row[unit] }))} label="Units that fire most" shown={digits} />
        </>
      )}
      {kind !== "hidden" && (
        <small>
          farthest from 0:{" "}
          {units
            .slice(0, 5)
            .map((unit) => `${unit} (${digits(row[unit])})`)
            .join(", ")}
        </small>
      )}
    </section>
  );
}

/** How long each summand is for this token: who changes the stream, and by how much. */
function Sum({
  summands,
  at,
  whole,
}: {
  readonly summands: NonNullable<TokenHereProps["summands"]>;
  readonly at: number;
  readonly whole: number;
}) {
  const lengths = summands.map(({ name, activation }) => ({ name, value: summaryOf(rowOf(planeOf(activation, 0), at)).norm }));
  return <Bars bars={[...lengths, { name: "sum", value: whole }]} label="How long the summands are" shown={digits} />;
}
