import { useState } from "preact/hooks";
import { address, put } from "../../address.ts";
import { amount } from "../../parts/numbers.ts";
import { messageOf } from "../../stores/models.ts";
import { taskWords } from "../words.ts";
import { type GivenData, giveFiles, given, givenValid, giveText } from "./given.ts";
import { ready } from "./ready.ts";

// What to learn from: dropped, chosen, pasted, or one of those that are ready; and what was found in it.

export function DataField() {
  const [over, setOver] = useState(false);
  const [failed, setFailed] = useState<string>();
  const attempt = (work: () => Promise<void> | void) => {
    setFailed(undefined);
    Promise.resolve()
      .then(work)
      .catch((error) => setFailed(messageOf(error)));
  };
  const dropped = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const files = [...(event.dataTransfer?.files ?? [])];
    const text = event.dataTransfer?.getData("text/plain") ?? "";
    leaveReady();
    attempt(() => (files.length > 0 ? giveFiles(files) : text === "" ? undefined : giveText(text)));
  };
  return (
    <section
      class="panel data-field"
      aria-labelledby="data-title"
      data-over={over}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={dropped}
    >
      <header>
        <h2 id="data-title">1. What it learns from</h2>
      </header>
      <div class="drop">
        <label>
          Drop files here, or choose them:{" "}
          <input
            type="file"
            multiple
            accept=".txt,.tsv,.csv,.jsonl,text/*"
            onChange={({ currentTarget: { files } }) => {
              leaveReady();
              attempt(() => giveFiles([...(files ?? [])]));
            }}
          />
        </label>
        <small>
          A text (.txt) to write like; or a table (.tsv, .csv, .jsonl) with the columns text and label, text and tags, source and target, or
          prompt and completion.
        </small>
      </div>
      <Paste take={(text) => attempt(() => giveText(text))} />
      <ul class="cards" aria-label="Ready data">
        {ready.map(({ name, label, what }) => (
          <li key={name}>
            <button
              type="button"
              class="card"
              aria-pressed={given.value?.name.startsWith(`${name}.`) ?? false}
              onClick={() => attempt(() => takeReady(name))}
            >
              <b>{label}</b>
              <small>{what}</small>
            </button>
          </li>
        ))}
      </ul>
      {given.value && (
        <details>
          <summary>Data of its own to validate with{givenValid.value && `: ${givenValid.value.name}`}</summary>
          <label class="row">
            <span class="soft">In the place of a part that is held out:</span>
            <input
              type="file"
              accept=".txt,.tsv,.csv,.jsonl,text/*"
              onChange={(event) => {
                givenValid.value = event.currentTarget.files?.[0];
              }}
            />
          </label>
        </details>
      )}
      {failed !== undefined && (
        <p role="alert" class="wrong">
          {failed}
        </p>
      )}
      <div aria-live="polite" class="found">
        {given.value && <FoundWords data={given.value} />}
      </div>
    </section>
  );
}

/** Other data is given: what was set for that which was ready goes with it, unless somebody has changed it. */
function leaveReady(): void {
  const { params } = address.value;
  const set = Object.entries(ready.find(({ name }) => name === params.data)?.settings ?? {});
  const gone = set.filter(([path, value]) => params[`set.${path}`] === value).map(([path]) => [`set.${path}`, undefined]);
  put({ data: undefined, ...Object.fromEntries(gone) });
}

/** Data that is ready stands in the address: whoever gets the link has it too. */
export async function takeReady(name: string): Promise<void> {
  const chosen = ready.find((one) => one.name === name);
  if (!chosen) return;
  giveText(await chosen.text(), chosen.file);
  leaveReady();
  const { params } = address.value;
  const fresh = Object.entries(chosen.settings ?? {}).filter(([path]) => params[`set.${path}`] === undefined);
  put({ data: name, ...Object.fromEntries(fresh.map(([path, value]) => [`set.${path}`, value])) });
}

function Paste({ take }: { readonly take: (text: string) => void }) {
  const [text, setText] = useState("");
  return (
    <details>
      <summary>Paste a text or a table</summary>
      <div class="stack">
        <textarea
          rows={6}
          dir="auto"
          aria-label="Text or table to learn from"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <p>
          <button
            type="button"
            disabled={text.trim() === ""}
            onClick={() => {
              leaveReady();
              take(text);
            }}
          >
            Learn from this
          </button>
        </p>
      </div>
    </details>
  );
}

const mostClasses = 12;

function FoundWords({ data: { name, found, files, isPart } }: { readonly data: GivenData }) {
  const more = files.length > 1 ? ` and ${files.length - 1} more` : "";
  if (found.kind === "wrong") return <p class="wrong">{found.message}</p>;
  if (found.kind === "text")
    return (
      <p>
        <b>{name}</b>
        {more}: a text of {isPart && "more than "}
        {amount(found.characters)} characters in {amount(found.lines)} lines, {amount(found.different)} different ones. A model learns to
        write on.
      </p>
    );
  const { task, rows, columns, classes, first } = found;
  return (
    <>
      <p>
        <b>{name}</b>
        {more}: {isPart && "more than "}
        {amount(rows)} rows with the columns {columns.join(", ")}. Task: {task} ({taskWords[task]}).
        {classes.length > 0 && ` ${classes.length} classes:`}
      </p>
      {classes.length > 0 && (
        <ul class="classes">
          {classes.slice(0, mostClasses).map(([label, count]) => (
            <li key={label}>
              {label} <span class="soft">{amount(count)}</span>
            </li>
          ))}
          {classes.length > mostClasses && <li class="soft">and {classes.length - mostClasses} more</li>}
        </ul>
      )}
      <div class="scroll">
        <table class="first-rows">
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column}>{column}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first.map((row, i) => (
              <tr key={i}>
                {columns.map((column) => (
                  <td key={column} dir="auto">
                    {(row[column] ?? "").slice(0, 80)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
