import { useState } from "preact/hooks";
import type { ExampleRow } from "../../../src/evaluation/answered.ts";
import { count, link, put } from "../../address.ts";
import { percent } from "../../parts/numbers.ts";
import type { Asked } from "../asked.ts";
import { Why } from "../classifying/room.tsx";
import { Wide } from "../wide.tsx";

// Examples with what was wanted and what was said. Each can be opened: what spoke for the answer, and the way inside.

const atOnce = 20;

export function ExampleList({
  asked,
  rows,
  heading,
}: {
  readonly asked: Asked;
  readonly rows: readonly ExampleRow[];
  readonly heading: string;
}) {
  const [most, setMost] = useState(atOnce);
  const opened = count("example");
  return (
    <section class="panel" aria-label={heading}>
      <h2>{heading}</h2>
      {rows.length === 0 && <p class="soft">There are none.</p>}
      <ol class="examples">
        {rows.slice(0, most).map((row, i) => (
          <li key={i}>
            <Example asked={asked} row={row} isOpen={opened === i} toggle={() => put({ example: opened === i ? undefined : i })} />
          </li>
        ))}
      </ol>
      {rows.length > most && (
        <p>
          <button type="button" onClick={() => setMost(most + atOnce)}>
            More ({(rows.length - most).toLocaleString("en")})
          </button>
        </p>
      )}
    </section>
  );
}

function Example({
  asked,
  row: { text, wanted, said, probability, correct, score },
  isOpen,
  toggle,
}: {
  readonly asked: Asked;
  readonly row: ExampleRow;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}) {
  const { name, step, facts } = asked;
  const isExplained = facts.task === "classify" && facts.labels.includes(said);
  const sure = probability === null ? "" : `, ${percent(probability)}`;
  return (
    <div class="stack">
      <button type="button" class="example" aria-expanded={isOpen} onClick={toggle}>
        <span dir="auto">{text}</span>
        <span class={correct ? "is-right" : "is-wrong"}>
          {correct ? `✓ ${facts.task === "tag" ? "all tags" : said}` : facts.task === "tag" ? "✗ some tags" : `✗ ${said}`}
          <small>
            {sure}
            {score === undefined ? "" : facts.task === "translate" ? `, chrF ${score.toFixed(0)}` : `, ${percent(score)} right`}
          </small>
        </span>
      </button>
      {isOpen && (
        <div class="opened stack">
          {facts.task === "tag" ? (
            <Tags text={text} wanted={wanted} said={said} />
          ) : (
            <dl class="wanted">
              <dt>Wanted</dt>
              <dd dir="auto">{wanted}</dd>
              <dt>Said</dt>
              <dd dir="auto">{said}</dd>
            </dl>
          )}
          {isExplained && <Why asked={asked} text={text} label={said} />}
          <p class="row">
            <a href={link("ask", { run: name, step, text })}>Ask it again</a>
            {!isExplained && <a href={link("look", { run: name, step, text })}>Look inside while it reads this</a>}
          </p>
        </div>
      )}
    </div>
  );
}

/** Word by word, with both tags where they differ. */
function Tags({ text, wanted, said }: Pick<ExampleRow, "text" | "wanted" | "said">) {
  const [right, found] = [wanted.split(" "), said.split(" ")];
  const words = text.split(/\s+/);
  const units = words.length === right.length ? words : [...text].length === right.length ? [...text] : right.map(() => "");
  return (
    <Wide label="Words and their tags">
      <table>
        <thead>
          <tr>
            <th scope="col">Word</th>
            <th scope="col">Wanted</th>
            <th scope="col">Said</th>
          </tr>
        </thead>
        <tbody>
          {right.map((tag, i) => (
            <tr key={i}>
              <th scope="row">{units[i]}</th>
              <td>{tag}</td>
              <td class={tag === found[i] ? undefined : "is-wrong"}>{found[i] ?? "∅"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
