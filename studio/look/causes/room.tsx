import { address, put } from "../../address.ts";
import { type Tab, Tabs } from "../../parts/tabs.tsx";
import type { Sight } from "../sight.ts";
import { AttributionRoom } from "./attribution.tsx";
import { ChangesRoom } from "./changes-room.tsx";
import { LensRoom } from "./lens.tsx";
import { Sweep } from "./sweep.tsx";

// Causes: change something inside, and see what becomes of the answer.

type CauseName = "changes" | "sweep" | "lens" | "attribution";
const causes: readonly Tab<CauseName>[] = [
  { name: "changes", label: "Change" },
  { name: "sweep", label: "Sweep" },
  { name: "lens", label: "Logit lens" },
  { name: "attribution", label: "Attribution" },
];

export function CausesRoom({ sight }: { readonly sight: Sight }) {
  const cause = causes.find(({ name }) => name === address.value.params.cause)?.name ?? "changes";
  return (
    <div class="causes">
      <Tabs label="Questions about causes" tabs={causes} chosen={cause} choose={(name) => put({ cause: name }, "push")}>
        <h2 class="visually-hidden">{causes.find(({ name }) => name === cause)?.label}</h2>
        {(cause === "changes" || cause === "sweep") && <Other sight={sight} />}
        {cause === "changes" && <ChangesRoom sight={sight} />}
        {cause === "sweep" && <Sweep sight={sight} />}
        {cause === "lens" && <LensRoom sight={sight} />}
        {cause === "attribution" && <AttributionRoom sight={sight} />}
      </Tabs>
    </div>
  );
}

/** Numbers can be taken from another text, where it has as many tokens. */
function Other({ sight }: { readonly sight: Sight }) {
  const { other = "" } = address.value.params;
  return (
    <div class="row">
      <label class="row grow">
        Another text
        <input
          type="text"
          dir="auto"
          value={other}
          placeholder={`of as many tokens (${sight.tokens.length}); its numbers can be put into this one`}
          onChange={(event) => put({ other: event.currentTarget.value || undefined })}
        />
      </label>
      <button type="button" disabled={other === ""} onClick={() => put({ text: other, other: sight.text, pin: sight.pinned }, "push")}>
        Swap the texts
      </button>
    </div>
  );
}
