import type { Lens } from "../../../src/inspection/lens.ts";
import type { Activation } from "../../../src/inspection/observe.ts";
import { attentionScale, type Scale, scaleOf } from "../../../src/pictures/scale.ts";
import { count, put } from "../../address.ts";
import { percent } from "../../parts/numbers.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Answered } from "../../parts/states.tsx";
import { pointed } from "../../parts/token-strip.tsx";
import { BeforeAfter, changesNow, otherText, setChanges } from "../causes/answers.tsx";
import { type Change, has, toggled } from "../causes/changes.ts";
import { ownTokens, type Sight } from "../sight.ts";
import { tokenName } from "../token-name.ts";
import { Bars } from "./bars.tsx";
import { formulaOf } from "./formula.ts";
import { Heat } from "./heat.tsx";
import { useCost, useTaps } from "./inside.ts";
import { Formula } from "./math.tsx";
import { type Plane, planeOf, rowOf } from "./numbers.ts";
import { planePicture } from "./picture.ts";
import { PlaceFacts } from "./place-facts.tsx";
import type { AnyConfig, Place } from "./places.ts";
import { TokenHere } from "./token-here.tsx";
import { purposeOf } from "./words.ts";

// The room of one place: its numbers for this text, its formula, what it is for, what it costs, and the switches to change it.

export interface PlaceRoomProps {
  readonly sight: Sight;
  readonly config: AnyConfig;
  readonly place: Place;
  /** The way to this place and on from it. */
  readonly walk: readonly Place[];
  readonly head: number;
  readonly heads: number;
  readonly lens: Lens | undefined;
}

/** The tokens along an axis of a place. */
export function namesOf(
  sight: Sight,
  { side, sublayer, key }: Pick<Place, "side" | "sublayer" | "key">,
  axis: string,
): readonly string[] | undefined {
  const own = (side === "source" ? sight.tokens : ownTokens(sight)).map(tokenName);
  if (axis === "time" || axis === "query") return own;
  if (axis !== "key") return undefined;
  return sublayer === "cross" || key.startsWith("model/attention/") ? sight.tokens.map(tokenName) : own;
}

export const scaleFor = (kind: Place["kind"], plane: Plane): Scale => {
  if (kind === "pattern") return attentionScale([Array.from({ length: plane.rows }, (_, i) => Array.from(rowOf(plane, i)))]);
  const reach = plane.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  return scaleOf("diverging", -reach, reach);
};

/** Fewer tokens, and all taps of a block come at once, so that the next step needs no new question. */
const fewTokens = 100;
const isLong = (sight: Sight): boolean => Math.max(sight.tokens.length, ownTokens(sight).length) > fewTokens;

export function PlaceRoom({ sight, config, place, walk, head, heads, lens }: PlaceRoomProps) {
  const at = walk.indexOf(place);
  const cost = useCost(sight, config);
  const stream = streamBefore(walk, at);
  const names = tapsFor(sight, place, walk, stream);
  const waited = useTaps(sight, names, isLong(sight) ? head : undefined);
  const sizes = {
    time: place.side === "source" ? sight.tokens.length : ownTokens(sight).length,
    keys: namesOf(sight, place, "key")?.length ?? 0,
    vocab: sight.facts.vocab,
  };
  const formula = formulaOf(place, config, sizes);
  return (
    <article class="stack place-room" aria-label={`${place.label}, opened`}>
      <header class="row">
        <h2>
          {place.layer !== undefined && `${config?.model === "rnn" ? "Layer" : "Block"} ${place.layer}: `}
          {place.sublayer && `${{ attention: "attention", cross: "cross-attention", feedforward: "feed-forward" }[place.sublayer]}, `}
          {place.label}
        </h2>
        {place.tap && <small class="mono">{place.tap}</small>}
        <span class="row steps">
          <button type="button" disabled={at <= 0} onClick={() => put({ place: walk[at - 1].key })} aria-label="One step back">
            ←
          </button>
          <small>
            {at + 1} of {walk.length}
          </small>
          <button type="button" disabled={at >= walk.length - 1} onClick={() => put({ place: walk[at + 1].key })} aria-label="One step on">
            →
          </button>
        </span>
      </header>
      <p>{purposeOf(place, config, sight.facts.readsSource)}</p>
      {formula && <Formula term={formula} />}
      {place.kind === "text" && <pre dir="auto">{place.side === "source" || !sight.targetTokens ? sight.text : sight.target}</pre>}
      {place.kind === "tokens" && <Ids sight={sight} place={place} />}
      {place.kind === "probabilities" && <BeforeAfter sight={sight} />}
      {place.tap && (
        <Answered waited={waited} what="Its numbers are being computed.">
          {(found) => {
            const activation = found.get(place.tap ?? "");
            return activation ? (
              <Numbers
                sight={sight}
                place={place}
                activation={activation}
                found={found}
                stream={isSum(place, config) ? stream : undefined}
                head={head}
                heads={heads}
              />
            ) : null;
          }}
        </Answered>
      )}
      {place.kind === "output" && place.side === "own" && <SaidHere sight={sight} said={lens?.layers[place.layer ?? 0]} />}
      <PlaceFacts
        place={place}
        {...factsOf(waited.state === "ready" ? waited.answer.get(place.tap ?? "") : undefined, head, heads)}
        parameters={sight.inside.parameters ?? []}
        cost={cost}
        heads={isLong(sight) && place.kind !== "k" && place.kind !== "v" ? heads : 1}
      />
      {place.tap && <Switches sight={sight} place={place} head={head} />}
    </article>
  );
}

/** The logit lens: what the stream says here to the model's last norm and output weights. */
function SaidHere({ sight, said }: { readonly sight: Sight; readonly said: Lens["layers"][number] | undefined }) {
  if (!said) return null;
  const last = said.positions.length - 1;
  const { top } = said.positions[Math.min(sight.pinned ?? last, last)];
  return (
    <section class="stack">
      <h3>If the model ended after this block, it would say (logit lens)</h3>
      <Bars
        bars={top.map(({ token, probability }) => ({ name: tokenName(token), value: probability }))}
        label="The likeliest answers after this block"
        shown={percent}
        most={1}
      />
    </section>
  );
}

const factsOf = (activation: Activation | undefined, head: number, heads: number) => ({
  activation,
  plane: activation && planeOf(activation, head, heads),
});

/** What a sum is added to: the stream as it was before. */
function streamBefore(walk: readonly Place[], at: number): Place | undefined {
  const { kind, side } = walk[at];
  if (kind !== "added" && kind !== "output") return undefined;
  return walk.slice(0, at).findLast((one) => one.side === side && ["added", "output", "positioned", "embedded"].includes(one.kind));
}

/** Whether a place is the stream before it plus what a sublayer gave: no norm comes between, and one sublayer at a time. */
function isSum({ kind, layer, sublayer }: Place, config: AnyConfig): boolean {
  if (config === undefined || !("normPlace" in config) || !config.residual || config.parallel !== "none") return false;
  const isFirst = kind === "added" && sublayer === "attention";
  if (isFirst && layer === 0 && config.embeddingNorm) return false;
  return config.normPlace === "pre" || (config.normPlace === "post" && isFirst);
}

function tapsFor(sight: Sight, place: Place, walk: readonly Place[], stream: Place | undefined): readonly string[] {
  const needed = place.kind === "mask" ? [place.tap, place.tap?.replace(/scores$/, "pattern")] : [place.tap];
  const near =
    place.layer !== undefined && !isLong(sight)
      ? walk.filter((one) => one.side === place.side && one.layer === place.layer).map(({ tap }) => tap)
      : [];
  const before = stream ? [stream.tap] : [];
  return [...new Set([...needed, ...near, ...before])].filter((tap) => tap !== undefined).toSorted();
}

interface NumbersProps {
  readonly sight: Sight;
  readonly place: Place;
  readonly activation: Activation;
  readonly found: ReadonlyMap<string, Activation>;
  readonly stream: Place | undefined;
  readonly head: number;
  readonly heads: number;
}

function Numbers({ sight, place, activation, found, stream, head, heads }: NumbersProps) {
  const plane = planeOf(activation, head, heads);
  const scale = scaleFor(place.kind, plane);
  const [rowNames, columnNames] = [namesOf(sight, place, plane.rowAxis), namesOf(sight, place, plane.columnAxis)];
  const pattern = place.kind === "mask" ? found.get((place.tap ?? "").replace(/scores$/, "pattern")) : undefined;
  const weights = pattern && planeOf(pattern, head, heads);
  const zero = place.kind === "pattern" && ((row: number, column: number) => plane.data[row * plane.columns + column] === 0);
  const hidden = zero ? zero : weights && ((row: number, column: number) => weights.data[row * weights.columns + column] === 0);
  const own = place.side === "own" || !sight.targetTokens;
  const at = own ? (sight.pinned ?? ownTokens(sight).length - 1) : undefined;
  const title = `${place.tap}${activation.shape.length === 3 ? `, head ${head}` : ""}`;
  const put1 = stream?.tap === undefined ? undefined : found.get(stream.tap);
  const given = found.get((place.tap ?? "").replace(/(added|output)$/, place.kind === "output" ? "feedforward/out" : "out"));
  const summands =
    put1 && given
      ? [
          { name: "before", activation: put1 },
          { name: "added", activation: given },
        ]
      : undefined;
  return (
    <div class="stack">
      <div class="row">
        {activation.shape.length === 3 && heads > 1 && <HeadPicker heads={Math.max(heads, activation.shape[0])} head={head} />}
        <SaveMenu
          name={title.replaceAll("/", "-").replaceAll(", ", "-").replaceAll(" ", "-")}
          svg={() => planePicture({ plane, scale, title, ...(rowNames && { rowNames }), ...(columnNames && { columnNames }) })}
          json={() => ({ name: place.tap, axes: activation.axes, shape: activation.shape, data: Array.from(activation.data) })}
        />
      </div>
      <Heat
        plane={plane}
        scale={scale}
        label={`${title} as colours`}
        rowNames={rowNames}
        columnNames={columnNames}
        marked={at}
        lit={own && rowNames ? pointed : undefined}
        hidden={hidden}
        choose={own && rowNames ? (row) => sight.pin(row) : undefined}
      />
      {at !== undefined && rowNames && (
        <TokenHere
          place={place}
          plane={plane}
          at={at}
          token={rowNames[at] ?? ""}
          keyNames={columnNames}
          isHidden={hidden}
          summands={summands}
        />
      )}
    </div>
  );
}

export function HeadPicker({ heads, head }: { readonly heads: number; readonly head: number }) {
  return (
    <label class="row">
      Head
      <select value={head} onChange={(event) => put({ head: event.currentTarget.value })}>
        {Array.from({ length: heads }, (_, i) => (
          <option key={i} value={i}>
            {i}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Every token with its number in the vocabulary; a class token has none of its own. */
function Ids({ sight, place }: { readonly sight: Sight; readonly place: Place }) {
  const isSource = place.side === "source" || !sight.targetTokens;
  const [tokens, ids = []] = isSource ? [sight.tokens, sight.inside.ids] : [ownTokens(sight), sight.inside.targetIds];
  const offset = tokens.length - ids.length;
  const marked = place.side === "own" ? (sight.pinned ?? tokens.length - 1) : undefined;
  return (
    <ol class="ids">
      {tokens.map((token, i) => (
        <li key={i} class={i === marked ? "marked" : undefined}>
          <span class="mono">{tokenName(token)}</span>
          <small>{i < offset ? "–" : ids[i - offset]}</small>
        </li>
      ))}
    </ol>
  );
}

/** Leave it out, or give it the numbers that it has in another text; the answer is shown before and after. */
function Switches({ sight, place, head }: { readonly sight: Sight; readonly place: Place; readonly head: number }) {
  const changes = changesNow();
  const tap = place.tap ?? "";
  const zero: Change = { kind: "zero", tap };
  const swap: Change = { kind: "swap", tap };
  const attention =
    place.sublayer === "cross" || place.key.startsWith("model/attention/") ? "cross" : place.side === "source" ? "encoder" : "self";
  const hasHeads = ["pattern", "mixed", "scores", "mask", "q"].includes(place.kind);
  const silent: Change = { kind: "head", attention, layer: place.layer ?? 0, head };
  const flip = (change: Change) => setChanges(toggled(changes, change));
  const other = otherText();
  return (
    <section class="panel" aria-label="What if">
      <h3>What if this were different?</h3>
      <div class="row">
        <button type="button" aria-pressed={has(changes, zero)} onClick={() => flip(zero)}>
          Leave out
        </button>
        {hasHeads && (
          <button type="button" aria-pressed={has(changes, silent)} onClick={() => flip(silent)}>
            Silence head {head}
          </button>
        )}
        <button type="button" aria-pressed={has(changes, swap)} disabled={!other} onClick={() => flip(swap)}>
          Replace
        </button>
        <label class="row grow">
          from
          <input
            type="text"
            dir="auto"
            value={other ?? ""}
            placeholder="another text of as many tokens"
            onChange={(event) => put({ other: event.currentTarget.value || undefined })}
          />
        </label>
      </div>
      {changes.length > 0 && (
        <>
          <BeforeAfter sight={sight} />
          <div class="row">
            <button type="button" onClick={() => setChanges([])}>
              Take back {changes.length === 1 ? "the change" : `all ${changes.length} changes`}
            </button>
            <button type="button" class="plain" onClick={() => put({ view: "causes" }, "push")}>
              All changes, under Causes
            </button>
          </div>
        </>
      )}
    </section>
  );
}

export const headNow = (): number => count("head") ?? 0;
