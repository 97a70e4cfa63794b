import { useEffect, useRef } from "preact/hooks";
import type { Lens } from "../../../src/inspection/lens.ts";
import type { Activation } from "../../../src/inspection/observe.ts";
import { percent } from "../../parts/numbers.ts";
import { tokenName } from "../token-name.ts";
import { type Column, type Group, labels, type Place, type Row, walkOf } from "./places.ts";
import { Thumbnail } from "./thumbnail.tsx";

// The model as a map: what is chosen is opened beside it. Arrow keys walk from place to place, as a token does.

export interface MapProps {
  readonly columns: readonly Column[];
  readonly chosen: string | undefined;
  readonly choose: (place: Place, head?: number) => void;
  /** Where an arrow key leads; it opens the place, if left out. */
  readonly step?: (place: Place) => void;
  /** Heads that are silenced. */
  readonly silent?: (place: Place, head: number) => boolean;
  /** By tap: where heads look. */
  readonly patterns: ReadonlyMap<string, Activation> | undefined;
  readonly head: number;
  /** What the followed token would be answered with after each layer. */
  readonly lens?: Lens;
  readonly at: number | undefined;
  /** The tokens of each side, for the chain of a recurrent layer. */
  readonly tokens: { readonly source: readonly string[]; readonly own: readonly string[] };
  /** Whether something is changed there. */
  readonly isChanged: (place: Place) => boolean;
}

const rowNames = { attention: "attention", cross: "cross-attention ← encoder", feedforward: "feed-forward" } as const;

export function ModelMap(props: MapProps) {
  const { columns, chosen, choose } = props;
  const box = useRef<HTMLElement>(null);
  const walk = walkOf(columns);
  const step = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -walk.length, End: walk.length }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const now = walk.findIndex(({ key }) => key === chosen);
    (props.step ?? choose)(walk[Math.min(walk.length - 1, Math.max(0, now + by))]);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('[aria-current="step"]')?.focus({ preventScroll: true }));
  };
  useEffect(() => {
    const place = box.current?.querySelector('[aria-current="step"]');
    const [inner, outer] = [place?.getBoundingClientRect(), box.current?.getBoundingClientRect()];
    if (!inner || !outer || !box.current) return;
    // The map moves, the page does not.
    if (inner.top < outer.top) box.current.scrollTop -= outer.top - inner.top + 48;
    else if (inner.bottom > outer.bottom) box.current.scrollTop += inner.bottom - outer.bottom + 48;
  }, [chosen, props.patterns]);
  return (
    <nav class="map" aria-label="The model, place by place. Arrow keys walk the way of a token." ref={box} onKeyDown={step}>
      {columns.length === 1 && <h2 class="visually-hidden">The model</h2>}
      {columns.map((column) => (
        <div key={column.side} class="map-column">
          {column.label && <h2>{column.label}</h2>}
          {column.groups.map((group) => (
            <GroupBox key={group.key} group={group} {...props} />
          ))}
        </div>
      ))}
    </nav>
  );
}

const GroupBox = ({ group, ...props }: { readonly group: Group } & MapProps) => (
  <div class="map-group">
    <h3>{group.label}</h3>
    {group.rows.map((row) => (
      <RowBox key={row.places[0].key} row={row} {...props} />
    ))}
  </div>
);

function RowBox({ row: { sublayer, places }, ...props }: { readonly row: Row } & MapProps) {
  const pattern = places.find(({ kind }) => kind === "pattern");
  const activation = pattern?.tap === undefined ? undefined : props.patterns?.get(pattern.tap);
  return (
    <div class={sublayer ? "map-sublayer" : "map-line"}>
      {sublayer && <small>{rowNames[sublayer]}</small>}
      <div class="map-places">
        {places.map((place) => (
          <PlaceButton key={place.key} place={place} {...props} />
        ))}
      </div>
      {places[0].kind === "recurrent" && (
        <Chain tokens={props.tokens[places[0].side]} at={places[0].side === "own" ? props.at : undefined} />
      )}
      {pattern && activation && (
        <div class="map-heads">
          {Array.from({ length: activation.shape[0] }, (_, head) => (
            <button
              key={head}
              type="button"
              class="thumbnail"
              tabIndex={-1}
              aria-label={`head ${head}`}
              aria-pressed={props.silent ? props.silent(pattern, head) : props.chosen === pattern.key && props.head === head}
              onClick={() => props.choose(pattern, head)}
            >
              <Thumbnail pattern={activation} head={head} />
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

const mostCells = 24;

/** An RNN is a chain: each state waits for the one before it. */
const Chain = ({ tokens, at }: { readonly tokens: readonly string[]; readonly at: number | undefined }) => (
  <ol class="map-chain" aria-label="One state after the other">
    {tokens.slice(0, mostCells).map((token, i) => (
      <li key={i}>
        <span class={i === at ? "cell marked" : "cell"}>{tokenName(token)}</span>
      </li>
    ))}
    {tokens.length > mostCells && <li>…</li>}
  </ol>
);

function PlaceButton({ place, chosen, choose, lens, at, isChanged }: { readonly place: Place } & MapProps) {
  const isChosen = place.key === chosen;
  const isStream = place.kind === "output" && place.layer !== undefined && place.side === "own";
  const said = isStream ? lens?.layers[place.layer ?? 0]?.positions : undefined;
  const best = said?.[Math.min(at ?? said.length - 1, said.length - 1)]?.top[0];
  const changed = isChanged(place);
  return (
    <>
      <button
        type="button"
        class={changed ? "map-place changed" : "map-place"}
        aria-current={isChosen ? "step" : undefined}
        tabIndex={isChosen ? 0 : -1}
        onClick={() => choose(place)}
      >
        {place.kind === "other" ? place.label : place.label || labels[place.kind]}
        {changed && <span class="visually-hidden"> (changed)</span>}
      </button>
      {best && (
        <span class="map-lens" title="The logit lens: what the model would say if it ended after this block">
          <span class="mono">{tokenName(best.token)}</span> {percent(best.probability)}
        </span>
      )}
    </>
  );
}
