import { address, put } from "../../address.ts";
import { Loading } from "../../parts/states.tsx";
import { shown } from "../../stores/models.ts";
import { changesNow } from "../causes/answers.tsx";
import { isAt } from "../causes/changes.ts";
import { answerAt, ownTokens, type Sight } from "../sight.ts";
import { useConfig, useLens, usePatterns } from "./inside.ts";
import { ModelMap } from "./map.tsx";
import { headNow, PlaceRoom } from "./place-room.tsx";
import { mapOf, walkOf } from "./places.ts";

// The way of a token: the model on the left, the place where the token is on the right.

export function MapRoom({ sight }: { readonly sight: Sight }) {
  const config = useConfig(sight);
  const patterns = usePatterns(sight);
  const lens = shown(useLens(sight, 5));
  if (config.state === "loading" && !("before" in config)) return <Loading what="The map is being drawn." />;
  const model = shown(config);
  const columns = mapOf(sight.inside.taps, model, sight.facts);
  const walk = walkOf(columns);
  const wanted = address.value.params.place;
  const place = walk.find(({ key }) => key === wanted) ?? walk.find(({ kind }) => kind === "embedded") ?? walk[0];
  const told = model && "heads" in model ? model.heads : 1;
  const heads = [...(patterns?.values() ?? [])].reduce((most, { shape }) => Math.max(most, shape[0]), told);
  const head = Math.min(headNow(), heads - 1);
  const changes = changesNow();
  const at = sight.pinned ?? ownTokens(sight).length - 1;
  return (
    <div class="stack">
      <p class="soft">
        {sight.pinned === undefined
          ? "Click a token above to follow it; until then the last one is followed. "
          : "The pinned token is followed. "}
        Arrow keys in the map go one operation on or back.
      </p>
      <div class={columns.length > 1 ? "map-frame two" : "map-frame"}>
        <ModelMap
          columns={columns}
          chosen={place.key}
          choose={(next, chosenHead) => put({ place: next.key, ...(chosenHead !== undefined && { head: chosenHead }) })}
          patterns={patterns}
          head={head}
          lens={lens}
          at={answerAt(sight) === undefined ? undefined : at}
          tokens={{ source: sight.tokens, own: ownTokens(sight) }}
          isChanged={(one) => changes.some((change) => isAt(change, one))}
        />
        <PlaceRoom sight={sight} config={model} place={place} walk={walk} head={head} heads={heads} lens={lens} />
      </div>
    </div>
  );
}
