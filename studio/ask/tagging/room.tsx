import { useState } from "preact/hooks";
import type { Tagged } from "../../../src/inspection/tags.ts";
import { tagStrip } from "../../../src/pictures/tag-strip.ts";
import { address, link, put } from "../../address.ts";
import { percent } from "../../parts/numbers.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Answered } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import { TokenText } from "../../parts/token-strip.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { type Asked, quiet } from "../asked.ts";
import { kindOf } from "./kinds.ts";

// Tagging: the tag of every token, where it stands.

export function TaggingRoom({ asked }: { readonly asked: Asked }) {
  const { name, step, facts, example } = asked;
  const text = address.value.params.text ?? example;
  const waited = useAnswer(
    text.trim() === ""
      ? undefined
      : (signal) => withModel(name, step, (model) => model.look("tags", text, { ...quiet, signal }) as Promise<Tagged>),
    [name, step, text],
  );
  return (
    <div class="stack">
      <TextField label="Text" value={text} change={(value) => put({ text: value || undefined })} />
      <section class="panel">
        <header>
          <h2>Its tags</h2>
          {waited.state === "ready" && <SaveMenu name={`${name}-tags`} svg={() => tagStrip(waited.answer)} json={() => waited.answer} />}
        </header>
        <Answered waited={waited} what="It reads.">
          {(found) => <TagLine found={found} labels={facts.labels} />}
        </Answered>
      </section>
      <p>
        <a href={link("look", { run: name, step, text })}>Look inside while it reads this</a>
      </p>
    </div>
  );
}

export function TagLine({
  found: { tokens, tags, probabilities },
  labels,
}: {
  readonly found: Tagged;
  readonly labels: readonly string[];
}) {
  const [at, point] = useState<number>();
  return (
    <div class="stack">
      <ol class="tagged" aria-label="Tokens with their tags" onPointerLeave={() => point(undefined)}>
        {tokens.map((token, place) => (
          <li key={place} data-kind={kindOf(tags[place], labels)}>
            <button type="button" onPointerEnter={() => point(place)} onFocus={() => point(place)} onBlur={() => point(undefined)}>
              <span class="mono">
                <TokenText token={token} />
              </span>
              <small>{tags[place]}</small>
              <span class="sure" style={{ width: `${100 * probabilities[place]}%` }} />
            </button>
          </li>
        ))}
      </ol>
      <p class="soft" aria-live="off">
        {at !== undefined && at < tokens.length
          ? `“${tokens[at]}” is ${tags[at]} with a probability of ${percent(probabilities[at])}.`
          : "Point at a word to see how sure it is; the line under each says it too."}
      </p>
    </div>
  );
}
