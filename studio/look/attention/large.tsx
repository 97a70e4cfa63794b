import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Pattern } from "../../../page/pattern.ts";
import { sentence } from "../../../page/words.ts";
import { alignment, attentionMap } from "../../../src/pictures/attention-map.ts";
import type { PackedAttention } from "../../../src/views/packed.ts";
import { put } from "../../address.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { shown, useAnswer, withModel } from "../../stores/models.ts";
import { keyOf, type Sight } from "../sight.ts";
import { isInOverview, largeKey, largeOf } from "./ask.ts";
import { type Choice, kindWords, mixturesOf, nameOf, type Shape } from "./choice.ts";
import { labelOf } from "./labels.ts";
import { WeightLegend } from "./legend.tsx";
import { Lines } from "./lines.tsx";
import { WeightMap } from "./map.tsx";
import { Neurons, vectorsOf } from "./neurons.tsx";
import { meanOf, patternOf, rowsOf } from "./patterns.ts";
import { type Spots, sameSpot, spotsOf } from "./spots.ts";

// One head large: as lines, as a map, or dimension by dimension. Until its weights are there, those of the head before stand there.

interface LargeProps {
  readonly sight: Sight;
  readonly look: PackedAttention;
  readonly choice: Choice;
}

export function Large({ sight, look, choice }: LargeProps) {
  const isHere = isInOverview(choice, look);
  const key = isHere ? "" : largeKey(choice, look);
  const waited = useAnswer(isHere ? undefined : (signal) => largeOf(sight, choice, look, signal), [keyOf(sight), key]);
  const answer = shown(waited);
  const found = isHere ? look : answer?.key === key ? answer.look : undefined;
  const view = useMemo(() => viewOf(found, choice), [found, choice.layer, choice.head, choice.kind]);
  const [last, setLast] = useState(view);
  if (view && view !== last) setLast(view);
  const drawn = view ?? last;
  const { readsSource } = sight.facts;
  const spots = useMemo(
    () => drawn && spotsOf(drawn.look.kind, readsSource, drawn.pattern.queries, drawn.pattern.keys),
    [drawn?.look.kind, readsSource, drawn?.pattern.queries, drawn?.pattern.keys],
  );
  return (
    <section class="panel one-head" aria-labelledby="large-title" aria-busy={waited.state === "loading"}>
      <header>
        <h2 id="large-title">{titleOf(choice, look, sight)}</h2>
        {drawn && <SaveHead sight={sight} drawn={drawn} choice={choice} />}
      </header>
      <Choices look={look} choice={choice} />
      {waited.state === "failed" && <Failed message={waited.message} />}
      {drawn && spots ? (
        <Drawn drawn={drawn} spots={spots} shape={choice.shape} />
      ) : (
        waited.state !== "failed" && <Loading what="The weights are on their way." />
      )}
    </section>
  );
}

interface View {
  readonly look: PackedAttention;
  readonly pattern: Pattern;
  readonly title: string;
  readonly vectors: ReturnType<typeof vectorsOf> | undefined;
  readonly note: string | undefined;
}

/** What is chosen, if it is in what was answered; else it is still on its way. */
function viewOf(look: PackedAttention | undefined, choice: Choice): View | undefined {
  if (!look) return undefined;
  const { heads } = look.layers.find(({ layer }) => layer === choice.layer) ?? look.layers[0];
  const own = typeof choice.head === "number" ? heads.find(({ head }) => head === choice.head) : undefined;
  if (typeof choice.head === "number" && !own) return undefined;
  const vectors = look.vectors && "q" in look.vectors ? vectorsOf(look.vectors) : undefined;
  return {
    look,
    pattern: own ? patternOf(look, own) : meanOf(look, heads),
    title: nameOf(choice, look),
    vectors,
    note: look.vectors?.note,
  };
}

const shapeWords = (kind: PackedAttention["kind"]): readonly (readonly [name: Shape, label: string])[] => [
  ["lines", "Lines"],
  ["map", kind === "cross" ? "Alignment" : "Map"],
  ["neurons", "Query · key"],
];

const mixtureWords = { mean: "mean of the layer", all: "mean of all layers", rollout: "rollout to the layer" } as const;

function Choices({ look, choice: { layer, head, shape } }: Omit<LargeProps, "sight">) {
  const { layers, heads } = look.sizes;
  const mixtures = mixturesOf(look);
  return (
    <div class="row head-choices">
      {layers > 1 && (
        <label class="row">
          <small>Layer</small>
          <select value={layer} disabled={head === "all"} onChange={(event) => put({ layer: event.currentTarget.value })}>
            {Array.from({ length: layers }, (_, i) => (
              <option key={i} value={i}>
                {i}
              </option>
            ))}
          </select>
        </label>
      )}
      {(heads > 1 || mixtures.length > 0) && (
        <label class="row">
          <small>Head</small>
          <select value={head} onChange={(event) => put({ head: event.currentTarget.value })}>
            {Array.from({ length: heads }, (_, i) => (
              <option key={i} value={i}>
                {i}
              </option>
            ))}
            {mixtures.map((name) => (
              <option key={name} value={name}>
                {mixtureWords[name]}
              </option>
            ))}
          </select>
        </label>
      )}
      <fieldset class="head-shapes">
        <legend class="visually-hidden">Shown as</legend>
        {shapeWords(look.kind).map(([name, label]) => (
          <button
            type="button"
            key={name}
            aria-pressed={name === shape}
            disabled={name === "neurons" && typeof head === "string"}
            onClick={() => put({ shape: name })}
          >
            {label}
          </button>
        ))}
      </fieldset>
    </div>
  );
}

function Drawn({ drawn, spots, shape }: { readonly drawn: View; readonly spots: Spots; readonly shape: Shape }) {
  const { pattern, look, vectors, note } = drawn;
  const { place, isHeard } = useHearing();
  const said = useId();
  const { tokens, targetTokens } = look;
  const props = { pattern, tokens, targetTokens, spots };
  const words = look.kind === "cross" ? { rows: "target", columns: "source" } : { rows: "queries", columns: "keys" };
  return (
    <div class="stack" ref={place}>
      <Said id={said} drawn={drawn} spots={spots} isHeard={isHeard} />
      {shape === "lines" && <Lines {...props} />}
      {shape === "map" && <WeightMap {...props} words={words} describedBy={said} />}
      {shape === "neurons" && vectors && <Neurons {...props} vectors={vectors} note={note} />}
      {shape === "neurons" && !vectors && (note ? <p class="note">{note}</p> : <Loading what="Queries and keys are on their way." />)}
      {shape === "map" && <WeightLegend pattern={pattern} />}
      {shape === "lines" && (
        <small>
          The more weight, the stronger the line
          {spots.spot.value.query === undefined && spots.spot.value.key === undefined && "; of each query, its three strongest"}.
        </small>
      )}
    </div>
  );
}

/** Whether somebody walks here with the keyboard, rather than with a pointer. */
function useHearing(): { readonly place: { current: HTMLDivElement | null }; readonly isHeard: boolean } {
  const place = useRef<HTMLDivElement>(null);
  const [isHeard, setHeard] = useState(false);
  useEffect(() => {
    const { current } = place;
    const [hear, leave] = [() => setHeard(true), () => setHeard(false)];
    current?.addEventListener("keydown", hear);
    current?.addEventListener("pointermove", leave);
    return () => {
      current?.removeEventListener("keydown", hear);
      current?.removeEventListener("pointermove", leave);
    };
  }, []);
  return { place, isHeard };
}

/** What is pointed at, in a sentence; read aloud only to those who walk with the keyboard. */
function Said({
  id,
  drawn: { pattern, look },
  spots,
  isHeard,
}: {
  readonly id: string;
  readonly drawn: View;
  readonly spots: Spots;
  readonly isHeard: boolean;
}) {
  const { spot, pinned } = spots;
  const short = useMemo(() => labelled(look), [look]);
  const told = sentence({ pattern, look: short, spot: spot.value });
  const isPinned = told !== "" && sameSpot(spot.value, pinned.value);
  return (
    <p id={id} class="sentence-here" aria-live={isHeard ? "polite" : "off"}>
      {told || <span class="soft">Point at a token to see where it looks; a click keeps it.</span>}
      {isPinned && <small> pinned, Escape lets go</small>}
    </p>
  );
}

const labelled = ({ tokens, targetTokens }: PackedAttention) => ({
  tokens: tokens.map((token) => labelOf(token, 24)),
  targetTokens: targetTokens.map((token) => labelOf(token, 24)),
});

function SaveHead({ sight, drawn, choice }: { readonly sight: Sight; readonly drawn: View; readonly choice: Choice }) {
  const { look, pattern, title } = drawn;
  const { tokens, targetTokens, kind } = look;
  const { layer, head } = choice;
  const map = () => ({ tokens, targetTokens, pattern: rowsOf(pattern), title: capital(title) });
  const options = { ...(sight.target !== undefined && { target: sight.target }), kind, warn: () => {} };
  const page = () =>
    withModel(sight.name, sight.step, (model) =>
      head === "rollout"
        ? model.page("rollout", sight.text, { ...options, layer })
        : model.page("attention", sight.text, {
            ...options,
            ...(head !== "all" && { layer }),
            ...(typeof head === "number" && { head }),
          }),
    );
  return (
    <SaveMenu
      name={`${sight.name}-${title.replaceAll(/[^a-z0-9]+/g, "-")}`}
      svg={() => (kind === "cross" ? alignment(map()) : attentionMap(map()))}
      html={page}
      json={() => ({ kind, ...map() })}
    />
  );
}

/** Where there is one head only, it is what its kind is called. */
const titleOf = (choice: Choice, look: PackedAttention, { facts }: Sight): string =>
  capital(look.sizes.layers * look.sizes.heads === 1 ? kindWords(look.kind, facts.model) : nameOf(choice, look));

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
