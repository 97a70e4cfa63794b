import type { TrainingPlan } from "../../../src/worker/found.ts";
import { amount, bytes, digits } from "../../parts/numbers.ts";
import { Warnings } from "../../parts/warnings.tsx";
import { SmallRoof } from "./small-roof.tsx";

// What it will cost, before it begins.

export function PlanPanel({ plan, isNew }: { readonly plan: TrainingPlan; readonly isNew: boolean }) {
  const { cost, parameters, trained, tokens, examples, valid, vocab, tokenizer, epochs, flops, model, task, training } = plan;
  const { bytes: sizes, flopsPerToken } = cost;
  const memory = sizes.weights + sizes.gradients + sizes.optimizer + sizes.activations;
  const rows: readonly (readonly [name: string, value: string, hint?: string])[] = [
    ["model", `${"model" in model ? model.model : "own"}, ${task}`],
    ["parameters", amount(parameters), trained < parameters ? `${amount(trained)} of them are trained` : undefined],
    ["tokens", `${amount(tokens)}, ${amount(vocab)} different`, `cut by ${tokenizer}`],
    ["examples", `${amount(examples)} to learn, ${amount(valid)} held out`, "of one text, its windows"],
    ["seen", `${digits(Number(epochs.toPrecision(2)))} times in ${training.steps.toLocaleString("en")} steps`],
    ["arithmetic", `${scaled(flops)}FLOP`, "of all steps"],
    ["a token learned", flopsPerToken.training === undefined ? "–" : `${scaled(flopsPerToken.training)}FLOP`],
    ["a token written", flopsPerToken.writing === undefined ? "–" : `${scaled(flopsPerToken.writing)}FLOP`],
    ["memory to train", bytes(memory)],
    ["KV cache", sizes.kvCache === 0 ? "none" : bytes(sizes.kvCache), `of ${cost.decode.toLocaleString("en")} tokens`],
  ];
  return (
    <div class="stack" aria-busy={!isNew}>
      <table class="plan">
        <tbody>
          {rows.map(([name, value, hint]) => (
            <tr key={name} title={hint}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Memory sizes={sizes} all={memory} />
      <SmallRoof plan={plan} />
      <Warnings sentences={plan.warnings} />
    </div>
  );
}

/** Where the bytes are. */
function Memory({ sizes, all }: { readonly sizes: TrainingPlan["cost"]["bytes"]; readonly all: number }) {
  const parts = [
    ["weights", sizes.weights],
    ["gradients", sizes.gradients],
    ["optimizer", sizes.optimizer],
    ["activations", sizes.activations],
  ] as const;
  return (
    <>
      <div class="shares" aria-hidden="true">
        {parts.map(([name, value], i) => (
          <span key={name} data-part={i + 1} style={{ flexGrow: value / all }} />
        ))}
      </div>
      <ul class="keys">
        {parts.map(([name, value], i) => (
          <li key={name}>
            <span class="swatch" data-part={i + 1} />
            {name} {bytes(value)}
          </li>
        ))}
      </ul>
    </>
  );
}

/** 1.23 k, M, G … */
function scaled(value: number): string {
  const names = ["", "k", "M", "G", "T", "P", "E"];
  let [size, unit] = [value, 0];
  while (size >= 1000 && unit < names.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${Number(size.toPrecision(3))} ${names[unit]}`;
}
