import { useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { perFrame, sharp } from "../../../page/dom.ts";
import { drawLines, rowHeight, type Side } from "../../../page/lines.ts";
import type { Pattern } from "../../../page/pattern.ts";
import { colourOf, theme } from "../../parts/theme.ts";
import { TokenText } from "../../parts/token-strip.tsx";
import type { Spots } from "./spots.ts";

// A head as lines: queries on the left, keys on the right. Tokens are elements, so that they can be read and found; they are made once for a
// text, and what is pointed at changes only the few that it concerns. Lines are drawn on one canvas, where they can be seen.

export interface HeadProps {
  readonly pattern: Pattern;
  readonly tokens: readonly string[];
  readonly targetTokens: readonly string[];
  readonly spots: Spots;
}

const sides = ["query", "key"] as const;

export function Lines({ pattern, tokens, targetTokens, spots }: HeadProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const lists = { query: useRef<HTMLDivElement>(null), key: useRef<HTMLDivElement>(null) };
  const shown = useRef({ pattern, spots });
  shown.current = { pattern, spots };
  const redraw = useMemo(
    () =>
      perFrame(() => {
        const [frame, paper, left, right] = [scroller.current, canvas.current, lists.query.current, lists.key.current];
        if (frame && paper && left && right) draw(frame, paper, left, right, shown.current);
      }),
    [],
  );
  useEffect(redraw, [pattern, theme.value]);
  useEffect(() => {
    if (!scroller.current) return;
    const observer = new ResizeObserver(redraw);
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useSignalEffect(() => {
    const { spot, pinned } = shown.current.spots;
    for (const side of sides) mark(lists[side].current, spot.value[side], pinned.value[side]);
    redraw();
  });
  useEffect(() => {
    for (const side of sides) mark(lists[side].current, spots.spot.value[side], spots.pinned.value[side]);
    redraw();
  }, [spots]);
  const column = (side: Side, names: readonly string[], label: string) => {
    const index = ({ target }: Event) =>
      target instanceof Element ? Number(target.closest("[data-index]")?.getAttribute("data-index") ?? Number.NaN) : Number.NaN;
    const at = (event: Event, then: (place: number) => void) => {
      const place = index(event);
      if (!Number.isNaN(place)) then(place);
    };
    return (
      <div
        ref={lists[side]}
        class={`names ${side}-names`}
        role="listbox"
        tabIndex={0}
        aria-label={label}
        onPointerOver={(event) => at(event, (place) => shown.current.spots.hover({ [side]: place }))}
        onPointerLeave={() => shown.current.spots.hover(undefined)}
        onBlur={() => shown.current.spots.hover(undefined)}
        onClick={(event) => at(event, (place) => shown.current.spots.pin({ [side]: place }))}
        onKeyDown={(event) => walk(event, side, lists, shown.current.spots)}
      >
        {names.map((name, place) => (
          <div role="option" tabIndex={-1} key={place} id={`${side}-${place}`} data-index={place} aria-selected={false}>
            <bdi>
              <TokenText token={name} />
            </bdi>
          </div>
        ))}
      </div>
    );
  };
  const queries = useMemo(() => column("query", targetTokens, "Queries: where does each look?"), [targetTokens]);
  const keys = useMemo(() => column("key", tokens, "Keys: who looks at each?"), [tokens]);
  return (
    <div class="head-lines">
      <div class="row between">
        <small>queries look</small>
        <small>at keys</small>
      </div>
      <div class="frame">
        <canvas class="lines" ref={canvas} />
        <div class="scroller" ref={scroller} onScroll={redraw}>
          {queries}
          {keys}
        </div>
      </div>
    </div>
  );
}

function draw(
  frame: HTMLElement,
  canvas: HTMLCanvasElement,
  left: HTMLElement,
  right: HTMLElement,
  { pattern, spots }: Pick<HeadProps, "pattern" | "spots">,
) {
  const { clientWidth: width, clientHeight: height, scrollTop: top } = frame;
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const context = sharp(canvas, width, height);
  const colours = { line: colourOf("series-1"), below: colourOf("below-zero") };
  const { query, key } = spots.spot.peek();
  const spot = {
    ...(query !== undefined && query < pattern.queries && { query }),
    ...(key !== undefined && key < pattern.keys && { key }),
  };
  drawLines({ context, width, height, top, left: left.offsetLeft + left.offsetWidth, right: right.offsetLeft, colours }, pattern, spot);
}

/** Only what changed is touched. */
function mark(list: HTMLElement | null, lit: number | undefined, pinned: number | undefined): void {
  if (!list) return;
  for (const before of list.querySelectorAll('[aria-selected="true"]')) {
    before.setAttribute("aria-selected", "false");
    before.classList.remove("is-pinned");
  }
  const option = lit === undefined ? undefined : list.children[lit];
  option?.setAttribute("aria-selected", "true");
  if (pinned !== undefined && pinned === lit) option?.classList.add("is-pinned");
  if (option) list.setAttribute("aria-activedescendant", option.id);
  else list.removeAttribute("aria-activedescendant");
}

type Lists = Readonly<Record<Side, { readonly current: HTMLElement | null }>>;

function walk(event: KeyboardEvent, side: Side, lists: Lists, spots: Spots): void {
  const list = lists[side].current;
  if (!list) return;
  const now = spots.spot.peek()[side] ?? 0;
  const page = Math.max(1, Math.floor((list.parentElement?.clientHeight ?? 0) / rowHeight) - 1);
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: now + 1,
    ArrowUp: now - 1,
    PageDown: now + page,
    PageUp: now - page,
    Home: 0,
    End: list.children.length - 1,
  };
  if (event.key in steps) {
    const next = Math.min(list.children.length - 1, Math.max(0, steps[event.key]));
    spots.hover({ [side]: next });
    list.children[next]?.scrollIntoView({ block: "nearest" });
  } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    const other = event.key === "ArrowLeft" ? "query" : "key";
    const place = Math.min(now, (lists[other].current?.children.length ?? 1) - 1);
    lists[other].current?.focus();
    spots.hover({ [other]: place });
  } else if (event.key === "Enter" || event.key === " ") spots.pin({ [side]: now });
  else if (event.key === "Escape") {
    spots.hover(undefined);
    spots.pin({});
  } else return;
  event.preventDefault();
}
