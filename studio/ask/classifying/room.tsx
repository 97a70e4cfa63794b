import type { Attribution } from "../../../src/inspection/attribution.ts";
import { attributionPicture } from "../../../src/pictures/attribution.ts";
import { address, link, put } from "../../address.ts";
import { percent } from "../../parts/numbers.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Answered } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { type Asked, quiet } from "../asked.ts";
import { BarChoice } from "../bars.tsx";
import { Attributed } from "./attributed.tsx";

// Classifying: the probability of every label as one types, and what spoke for it, word by word.

export function ClassifyingRoom({ asked }: { readonly asked: Asked }) {
  const { name, step, example } = asked;
  const text = address.value.params.text ?? example;
  const waited = useAnswer(
    text.trim() === ""
      ? undefined
      : (signal) => withModel(name, step, async (model) => (await model.classify([text], { ...quiet, signal }))[0]),
    [name, step, text],
  );
  return (
    <div class="stack">
      <TextField label="Text" value={text} change={(value) => put({ text: value || undefined })} />
      <Answered waited={waited} what="It reads.">
        {({ label, labels, probabilities }) => {
          const { label: asking } = address.value.params;
          const chosen = asking !== undefined && asking in probabilities ? asking : label;
          return (
            <div class="two">
              <section class="panel">
                <h2>{labels ? (labels.length === 0 ? "No label" : labels.join(", ")) : `${label}, ${percent(probabilities[label])}`}</h2>
                {labels && <p class="soft">A text may have several labels, or none: each is given from a probability of 50 % on.</p>}
                <BarChoice
                  label="Labels; the one that is chosen is explained"
                  rows={Object.entries(probabilities).map(([one, share]) => ({ name: one, share }))}
                  chosen={chosen}
                  choose={(one) => put({ label: one === label ? undefined : one })}
                />
              </section>
              <Why asked={asked} text={text} label={chosen} />
            </div>
          );
        }}
      </Answered>
    </div>
  );
}

export function Why({ asked: { name, step }, text, label }: { readonly asked: Asked; readonly text: string; readonly label: string }) {
  const waited = useAnswer(
    (signal) => withModel(name, step, (model) => model.look("attribution", text, { ...quiet, signal, label }) as Promise<Attribution>),
    [name, step, text, label],
  );
  return (
    <section class="panel">
      <header>
        <h2>What spoke for “{label}”, and what against it</h2>
        {waited.state === "ready" && (
          <SaveMenu name={`${name}-attribution`} svg={() => attributionPicture(waited.answer)} json={() => waited.answer} />
        )}
      </header>
      <Answered waited={waited} what="Each word is left out in turn.">
        {(found) => <Attributed found={found} />}
      </Answered>
      <p>
        <a href={link("look", { run: name, step, text })}>Look inside while it reads this</a>
      </p>
    </section>
  );
}
