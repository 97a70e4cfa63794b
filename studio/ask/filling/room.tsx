import { address, put } from "../../address.ts";
import { Answered } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import { TokenText } from "../../parts/token-strip.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { type Asked, quiet } from "../asked.ts";
import { BarChoice } from "../bars.tsx";

// Filling in: what stood where a text has a mask.

const candidates = 12;

export function FillingRoom({ asked: { name, step, facts } }: { readonly asked: Asked }) {
  const { mask = "<mask>" } = facts;
  const text = address.value.params.text ?? `the ${mask} of the sea`;
  const hasMask = text.includes(mask);
  const waited = useAnswer(
    hasMask
      ? (signal) => withModel(name, step, async (model) => (await model.fill([text], { ...quiet, signal, top: candidates }))[0])
      : undefined,
    [name, step, text],
  );
  return (
    <div class="stack">
      <TextField
        label={`Text, with ${mask} for each word that is to be found`}
        value={text}
        change={(value) => put({ text: value || undefined })}
      />
      <p>
        <button type="button" onClick={() => put({ text: `${text.trimEnd()} ${mask}` })}>
          Add a mask
        </button>
      </p>
      {!hasMask && <p class="note">There is no {mask} in the text: write it where a word is to be found.</p>}
      <Answered waited={waited} what="It reads.">
        {({ masks }) => (
          <div class="two">
            {masks.map((found, i) => (
              <section class="panel" key={i}>
                <h2>{masks.length > 1 ? `Mask ${i + 1}` : "What may stand there"}</h2>
                <BarChoice
                  label={`What may stand at mask ${i + 1}; choosing one writes it there`}
                  rows={found.map(({ token, probability }, place) => ({
                    name: `${place}`,
                    share: probability,
                    words: <TokenText token={token} />,
                  }))}
                  chosen=""
                  choose={(place) => put({ text: found[Number(place)].text }, "push")}
                />
              </section>
            ))}
          </div>
        )}
      </Answered>
    </div>
  );
}
