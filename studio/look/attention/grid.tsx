import { useEffect, useRef, useState } from "preact/hooks";
import type { PackedAttention, PackedHead } from "../../../src/views/packed.ts";
import type { HeadChoice } from "./choice.ts";
import { patternOf } from "./patterns.ts";
import { details, inWords, measured, type Order, type PlacedHead, sorted } from "./summaries.ts";
import { Thumbnails } from "./thumbnails.ts";

// All heads as small maps: layers down and heads across, or in the order of what they do. Arrow keys walk, Enter opens.

export interface GridProps {
  readonly look: PackedAttention;
  readonly layer: number;
  readonly head: HeadChoice;
  readonly order: Order;
  readonly open: (layer: number, head: number) => void;
}

export function Grid({ look, layer, head, order, open }: GridProps) {
  const [thumbnails] = useState(() => new Thumbnails());
  useEffect(() => () => thumbnails.end(), []);
  const [told, setTold] = useState<readonly [layer: number, head: number]>();
  const shownHead = typeof head === "number" ? head : -1;
  const thumb = (place: PlacedHead, label?: string) => (
    <Thumb
      key={`${place.layer} ${place.head.head}`}
      look={look}
      {...place}
      thumbnails={thumbnails}
      isShown={place.layer === layer && place.head.head === shownHead}
      isFirst={place.layer === layer && place.head.head === Math.max(0, shownHead)}
      {...(label !== undefined && { label })}
      open={open}
      tell={setTold}
    />
  );
  const across = Math.max(...look.layers.map(({ heads }) => heads.length));
  const [tellLayer, tellHead] = told ?? [layer, shownHead];
  const subject = look.layers.find((one) => one.layer === tellLayer)?.heads.find((one) => one.head === tellHead);
  return (
    <div class="stack">
      <div class="all-heads scroll" role="toolbar" aria-label="Heads" onKeyDown={walk} onPointerLeave={() => setTold(undefined)}>
        {order === "place" ? (
          <table style={{ "--across": `${across}` }}>
            <caption class="visually-hidden">All heads: layers down, heads across</caption>
            <thead>
              <tr>
                <td />
                {Array.from({ length: across }, (_, i) => (
                  <th scope="col" key={i}>
                    {i}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {look.layers.map(({ layer: number, heads }) => (
                <tr key={number}>
                  <th scope="row">{number}</th>
                  {heads.map((own) => (
                    <td key={own.head}>{thumb({ layer: number, head: own })}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        ) : (
          <ol class="ordered" aria-label="Heads in order">
            {sorted(look, order).map((place) => (
              <li key={`${place.layer} ${place.head.head}`}>{thumb(place, measured(place.head.summary, order))}</li>
            ))}
          </ol>
        )}
      </div>
      <p class="of-head">
        {subject ? (
          <>
            <strong>
              Layer {tellLayer}, head {tellHead}
            </strong>{" "}
            {inWords(subject.summary)}
            <br />
            <small>{details(subject.summary)}</small>
          </>
        ) : (
          <small>Point at a head to read what it does; click or press Enter to open it.</small>
        )}
      </p>
    </div>
  );
}

interface ThumbProps extends PlacedHead {
  readonly look: PackedAttention;
  readonly thumbnails: Thumbnails;
  readonly isShown: boolean;
  /** Whether Tab leads here. */
  readonly isFirst: boolean;
  readonly label?: string;
  readonly open: (layer: number, head: number) => void;
  readonly tell: (place: readonly [layer: number, head: number]) => void;
}

function Thumb({ look, layer, head, thumbnails, isShown, isFirst, label, open, tell }: ThumbProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useDrawn(canvas, look, head, thumbnails);
  return (
    <button
      type="button"
      aria-pressed={isShown}
      tabIndex={isFirst ? 0 : -1}
      aria-label={`${label === undefined ? "" : `${layer}·${head.head} ${label}, `}layer ${layer}, head ${head.head}: ${inWords(head.summary)}`}
      onClick={() => open(layer, head.head)}
      onPointerEnter={() => tell([layer, head.head])}
      onFocus={() => tell([layer, head.head])}
    >
      <canvas ref={canvas} width={1} height={1} />
      {label !== undefined && (
        <small>
          {layer}·{head.head} <b>{label}</b>
        </small>
      )}
    </button>
  );
}

function useDrawn(canvas: { readonly current: HTMLCanvasElement | null }, look: PackedAttention, head: PackedHead, thumbnails: Thumbnails) {
  useEffect(() => {
    if (canvas.current) thumbnails.show(canvas.current, () => patternOf(look, head));
  }, [head]);
  useEffect(() => {
    const { current } = canvas;
    return () => {
      if (current) thumbnails.leave(current);
    };
  }, []);
}

/** To the head beside, above or below: by where they stand, so that it is right in any order. */
function walk(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
  if (!step || !(event.target instanceof HTMLButtonElement)) return;
  event.preventDefault();
  const all = [...event.currentTarget.querySelectorAll("button")];
  const at = all.indexOf(event.target);
  const { left, top } = event.target.getBoundingClientRect();
  if (step[0] !== 0) {
    all[at + step[0]]?.focus();
    return;
  }
  const rows = all.filter((other) => Math.sign(Math.round(other.getBoundingClientRect().top - top)) === step[1]);
  const nearest = step[1] > 0 ? rows[0] : rows.at(-1);
  const row = nearest?.getBoundingClientRect().top;
  rows
    .filter((other) => Math.abs(other.getBoundingClientRect().top - (row ?? 0)) < 1)
    .toSorted((a, b) => Math.abs(a.getBoundingClientRect().left - left) - Math.abs(b.getBoundingClientRect().left - left))[0]
    ?.focus();
}
