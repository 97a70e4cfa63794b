import { address, put } from "../../address.ts";
import { shown } from "../../stores/models.ts";
import { useConfig, useLens, usePatterns } from "../map/inside.ts";
import { ModelMap } from "../map/map.tsx";
import { mapOf, type Place, walkOf } from "../map/places.ts";
import { ownTokens, type Sight } from "../sight.ts";
import { tokenName } from "../token-name.ts";
import { BeforeAfter, changesNow, otherText, setChanges } from "./answers.tsx";
import { type Change, isAt, toggled, wordsOf } from "./changes.ts";

// The map once more, to change it: what is clicked is left out, or gets the other text's numbers, and the answer is asked for again.

type Way = "zero" | "swap";

export function ChangesRoom({ sight }: { readonly sight: Sight }) {
  const { params } = address.value;
  const model = shown(useConfig(sight));
  const patterns = usePatterns(sight);
  const lens = shown(useLens(sight));
  const columns = mapOf(sight.inside.taps, model, sight.facts);
  const changes = changesNow();
  const way: Way = params.way === "swap" && otherText() !== undefined ? "swap" : "zero";
  const only = params.only === "pinned" && sight.pinned !== undefined ? [sight.pinned] : undefined;
  const flip = (change: Change) => setChanges(toggled(changes, change));
  const choose = (place: Place, head?: number) => {
    put({ place: place.key });
    if (head !== undefined)
      return flip({
        kind: "head",
        attention: place.sublayer === "cross" || model?.model === "rnn" ? "cross" : place.side === "source" ? "encoder" : "self",
        layer: place.layer ?? 0,
        head,
      });
    if (place.tap !== undefined) flip({ kind: way, tap: place.tap, ...(only && place.side === "own" && { positions: only }) });
  };
  return (
    <div class={columns.length > 1 ? "map-frame two" : "map-frame"}>
      <ModelMap
        columns={columns}
        chosen={walkOf(columns).find(({ key }) => key === params.place)?.key ?? "text"}
        choose={choose}
        step={(place) => put({ place: place.key })}
        patterns={patterns}
        head={-1}
        lens={lens}
        at={sight.facts.task === "classify" ? undefined : (sight.pinned ?? ownTokens(sight).length - 1)}
        tokens={{ source: sight.tokens, own: ownTokens(sight) }}
        isChanged={(place) => changes.some((change) => isAt(change, place))}
        silent={(place, head) =>
          changes.some((change) => change.kind === "head" && change.head === head && isAt(change, { ...place, kind: "mixed" }))
        }
      />
      <div class="stack">
        <fieldset class="row map-choices">
          <legend>A click on a place</legend>
          <label>
            <input type="radio" name="way" checked={way === "zero"} onChange={() => put({ way: undefined })} /> leaves it out
          </label>
          <label>
            <input
              type="radio"
              name="way"
              checked={way === "swap"}
              disabled={otherText() === undefined}
              onChange={() => put({ way: "swap" })}
            />{" "}
            puts the other text's numbers there
          </label>
          <label>
            <input
              type="checkbox"
              checked={only !== undefined}
              disabled={sight.pinned === undefined}
              onChange={(event) => put({ only: event.currentTarget.checked ? "pinned" : undefined })}
            />{" "}
            only at the pinned token
          </label>
          <small>A click on a head's pattern silences the head.</small>
        </fieldset>
        <Listed sight={sight} changes={changes} />
        <BeforeAfter sight={sight} />
      </div>
    </div>
  );
}

export function Listed({ sight, changes }: { readonly sight: Sight; readonly changes: readonly Change[] }) {
  const flip = (change: Change) => setChanges(toggled(changes, change));
  if (changes.length === 0) return <p class="note">Nothing is changed: this is the model's own answer.</p>;
  const words = (change: Change) =>
    wordsOf(change, (position) => {
      const isSource = "tap" in change && sight.facts.readsSource && /(^|\/)encoder\//.test(change.tap);
      return tokenName((isSource ? sight.tokens : ownTokens(sight))[position] ?? "");
    });
  return (
    <section class="stack">
      <h3>Changed</h3>
      <ul class="changes">
        {changes.map((change) => (
          <li key={wordsOf(change)}>
            <span>{words(change)}</span>
            <button type="button" class="plain" aria-label={`Take back: ${words(change)}`} onClick={() => flip(change)}>
              take back
            </button>
          </li>
        ))}
      </ul>
      {changes.length > 1 && (
        <div class="row">
          <button type="button" onClick={() => setChanges([])}>
            Take back all
          </button>
        </div>
      )}
      {changes.some(({ kind }) => kind === "swap") && otherText() === undefined && (
        <p class="note bad">Numbers of another text are wanted; give it above, until then these changes do nothing.</p>
      )}
    </section>
  );
}
