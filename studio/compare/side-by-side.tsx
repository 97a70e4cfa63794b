import type { Run } from "../../src/worker/run.ts";
import { address, link, put } from "../address.ts";
import { percent } from "../parts/numbers.ts";
import { RunPicker } from "../parts/run-picker.tsx";
import { Answered } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { TokenText } from "../parts/token-strip.tsx";
import { shown, useAnswer, withModel } from "../stores/models.ts";
import { folderOf, nameOf, openable } from "../stores/runs.ts";
import { promptOf } from "../stores/sample-text.ts";

// One text through two models: what each answers.

type Said =
  | { readonly kind: "text"; readonly goesOn: boolean; readonly text: string }
  | { readonly kind: "labels"; readonly labels: readonly (readonly [label: string, probability: number])[] }
  | { readonly kind: "tags"; readonly tokens: readonly (readonly [token: string, tag: string])[] };

const tokens = 150;
const mostLabels = 6;

async function saidOf(model: Run, text: string, signal: AbortSignal): Promise<Said> {
  const options = { signal, warn: () => {} };
  switch (model.facts.task) {
    case "classify": {
      const [{ probabilities }] = await model.classify([text], options);
      return {
        kind: "labels",
        labels: Object.entries(probabilities)
          .sort(([, a], [, b]) => b - a)
          .slice(0, mostLabels),
      };
    }
    case "tag": {
      const [found] = await model.tag([text], options);
      return { kind: "tags", tokens: found.tokens.map((token, i) => [token, found.tags[i]]) };
    }
    case "translate":
      return { kind: "text", goesOn: false, text: (await model.translate([text], options))[0].target };
    case "lm":
      return {
        kind: "text",
        goesOn: true,
        text: (await model.samples([text], { ...options, tokens, temperature: 0.7, seed: 1 }))[0][0].text,
      };
    default:
      throw new Error(`a model for ${model.facts.task} has no answer to show here`);
  }
}

export function SideBySide({ picked }: { readonly picked: readonly string[] }) {
  const { params } = address.value;
  const names = openable.value.map(({ run }) => nameOf(run));
  const usual = [...picked.filter((name) => names.includes(name)), ...names.filter((name) => !picked.includes(name))];
  const left = params.left ?? usual[0];
  const right = params.right ?? usual.find((name) => name !== left);
  const own = useAnswer(
    left === undefined || params.text !== undefined
      ? undefined
      : () => withModel(left, undefined, (model) => promptOf(model, folderOf(left))),
    [left, params.text],
  );
  const text = params.text ?? shown(own) ?? "";
  if (left === undefined || right === undefined) return null;
  return (
    <section class="panel" aria-labelledby="beside-title">
      <header>
        <h2 id="beside-title">One text through two models</h2>
      </header>
      <TextField label="Text that both read" rows={2} rest={500} value={text} change={(next) => put({ text: next })} />
      <div class="beside">
        <Side side="left" name={left} text={text} />
        <Side side="right" name={right} text={text} />
      </div>
    </section>
  );
}

function Side({ side, name, text }: { readonly side: "left" | "right"; readonly name: string; readonly text: string }) {
  const waited = useAnswer(
    text.trim() === "" ? undefined : (signal) => withModel(name, undefined, (model) => saidOf(model, text, signal)),
    [name, text],
  );
  return (
    <div class="stack">
      <div class="row">
        <RunPicker label={side === "left" ? "Left" : "Right"} chosen={name} choose={(run) => put({ [side]: run })} />
        <a href={link("ask", { run: name, text })}>Ask it more</a>
      </div>
      <div class="side-said">
        <Answered waited={waited} what="It is thinking.">
          {(said) => <Words said={said} text={text} />}
        </Answered>
      </div>
    </div>
  );
}

function Words({ said, text }: { readonly said: Said; readonly text: string }) {
  if (said.kind === "text")
    return (
      <p class="said-words" dir="auto">
        {said.goesOn && <span class="soft">{text}</span>}
        {said.text}
      </p>
    );
  if (said.kind === "tags")
    return (
      <ul class="side-tags">
        {said.tokens.map(([token, tag], i) => (
          <li key={i}>
            <TokenText token={token} /> <small>{tag}</small>
          </li>
        ))}
      </ul>
    );
  return (
    <table class="side-labels">
      <tbody>
        {said.labels.map(([label, probability]) => (
          <tr key={label}>
            <th scope="row" class="side-label">
              {label}
            </th>
            <td class="number">{percent(probability)}</td>
            <td class="side-bar">
              <span style={{ width: `${100 * probability}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
