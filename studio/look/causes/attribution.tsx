import type { Attribution } from "../../../src/inspection/attribution.ts";
import { colourAt } from "../../../src/pictures/colour.ts";
import { address, put } from "../../address.ts";
import { digits, percent } from "../../parts/numbers.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { TokenStrip } from "../../parts/token-strip.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { Bars } from "../map/bars.tsx";
import { farthest } from "../map/numbers.ts";
import { answerAt, askedWith, keyOf, type Sight } from "../sight.ts";
import { tokenName } from "../token-name.ts";
import { usePatched } from "./answers.tsx";

// What spoke for the answer, and what against it, token by token.

const methods = {
  gradient: { label: "gradient × input", shown: digits, unit: "nats of the answer's log-odds" },
  out: {
    label: "leaving each out",
    shown: (value: number) => `${value > 0 ? "−" : "+"}${percent(Math.abs(value))}`,
    unit: "of its probability, without the token",
  },
} as const;

export function AttributionRoom({ sight }: { readonly sight: Sight }) {
  const { params } = address.value;
  const method = params.method === "out" ? "out" : "gradient";
  const position = answerAt(sight);
  const options = {
    ...askedWith(sight),
    ...(params.label !== undefined && { label: params.label }),
    ...(position !== undefined && { position }),
  };
  const isAble = sight.facts.task !== "embed" && sight.facts.model !== "own";
  const waited = useAnswer(
    isAble
      ? async (signal) =>
          (await withModel(sight.name, sight.step, (model) => model.look("attribution", sight.text, { ...options, signal }))) as Attribution
      : undefined,
    [keyOf(sight), params.label, position],
  );
  if (!isAble)
    return <Empty>Attribution explains an answer with a probability, of one of qkv's own architectures; this model has none.</Empty>;
  return (
    <div class="stack">
      <div class="row">
        <LabelPicker sight={sight} chosen={params.label} />
        <label class="row">
          By
          <select value={method} onChange={(event) => put({ method: event.currentTarget.value })}>
            <option value="gradient">{methods.gradient.label}</option>
            <option value="out">{methods.out.label}</option>
          </select>
        </label>
      </div>
      <Answered waited={waited} what="Every token is weighed.">
        {(found) => (
          <div class="stack">
            <p>
              {found.answer.of} <strong class="mono">{tokenName(found.answer.label)}</strong>, {percent(found.answer.probability)}:{" "}
              <span class="soft">orange tokens speak for it, blue ones against it</span>
            </p>
            {found.parts.map((part) => (
              <Weighed key={part.of} part={part} method={method} name={found.parts.length > 1 ? part.of : "text"} />
            ))}
            <div class="row">
              <SaveMenu
                name="attribution"
                svg={() => withModel(sight.name, sight.step, (model) => model.picture("attribution", sight.text, options))}
                json={() => found}
              />
            </div>
          </div>
        )}
      </Answered>
    </div>
  );
}

function Weighed({
  part,
  method,
  name,
}: {
  readonly part: Attribution["parts"][number];
  readonly method: keyof typeof methods;
  readonly name: string;
}) {
  const values = method === "gradient" ? part.gradient : part.leaveOneOut;
  const reach = Math.max(1e-9, ...values.map(Math.abs));
  const { shown, unit } = methods[method];
  return (
    <section class="stack">
      <h3>Tokens of the {name === "text" ? "text" : name}</h3>
      <TokenStrip
        tokens={part.tokens}
        label={`Tokens of the ${name}, coloured by attribution`}
        colour={(place) => colourAt("diverging", 0.5 + values[place] / (2 * reach))}
        title={(place) => `${shown(values[place])} ${unit}`}
        hover={{ value: undefined }}
      />
      <Bars
        bars={farthest(Float32Array.from(values), 10).map((place) => ({
          name: tokenName(part.tokens[place]),
          place,
          value: values[place],
        }))}
        label={`The strongest of the ${name}`}
        shown={(value) => (method === "gradient" ? digits(value) : shown(value))}
      />
      <small>{unit}</small>
    </section>
  );
}

/** What is explained: any label, or what is likely to come. */
function LabelPicker({ sight, chosen }: { readonly sight: Sight; readonly chosen: string | undefined }) {
  const patched = usePatched(sight);
  const likely = patched.state === "ready" ? (patched.answer.candidates ?? []).map(({ name }) => name) : [];
  const names = sight.facts.labels.length > 0 ? sight.facts.labels : likely;
  return (
    <label class="row">
      Explain
      <select value={chosen ?? ""} onChange={(event) => put({ label: event.currentTarget.value || undefined })}>
        <option value="">{sight.targetTokens ? "what the target says" : "the likeliest answer"}</option>
        {[...new Set([...names, ...(chosen === undefined ? [] : [chosen])])].map((name) => (
          <option key={name} value={name}>
            {tokenName(name)}
          </option>
        ))}
      </select>
    </label>
  );
}
