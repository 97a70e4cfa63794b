import { colourAt, hex, inkOn } from "../../../src/pictures/colour.ts";
import { address, put } from "../../address.ts";
import { Answered } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { type Asked, quiet } from "../asked.ts";
import { Wide } from "../wide.tsx";

// Models that give a vector for each text: how alike some lines are, by the cosine between their vectors.

const mostLines = 16;
const usual = "A cat sits on the mat.\nThe dog sleeps in the garden.\nStock prices fell today.";

export function VectorRoom({ asked: { name, step } }: { readonly asked: Asked }) {
  const text = address.value.params.text ?? usual;
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(0, mostLines);
  const waited = useAnswer(
    lines.length === 0
      ? undefined
      : (signal) =>
          withModel(name, step, async (model) => ({ lines, vectors: await model.embed(lines, { ...quiet, signal, normalise: true }) })),
    [name, step, lines.join("\n")],
  );
  return (
    <div class="stack">
      <TextField
        label={`Texts, a line for each (at most ${mostLines})`}
        rows={5}
        value={text}
        change={(value) => put({ text: value || undefined })}
      />
      <Answered waited={waited} what="It reads.">
        {({ lines: read, vectors }) => (
          <Wide label="How alike the texts are">
            <table class="alike">
              <caption class="soft">How alike the texts are: the cosine between their vectors, 1 for the same direction.</caption>
              <tbody>
                {read.map((line, i) => (
                  <tr key={i}>
                    <th scope="row" dir="auto">
                      {line}
                    </th>
                    {vectors.map((other, j) => {
                      const alike = cosine(vectors[i], other);
                      const colour = colourAt("sequential", Math.max(0, alike));
                      return (
                        <td key={j} class="number" style={{ background: hex(colour), color: inkOn(colour) }}>
                          {alike.toFixed(2)}
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </Wide>
        )}
      </Answered>
    </div>
  );
}

/** Of vectors whose length is 1. */
export const cosine = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
