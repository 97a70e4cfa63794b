import { address, count, put } from "../../address.ts";
import { digits, percent } from "../../parts/numbers.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Slider } from "../../parts/slider.tsx";
import { Answered } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import { TokenText } from "../../parts/token-strip.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { type Asked, quiet } from "../asked.ts";
import { Wide } from "../wide.tsx";
import { type BeamNode, type Hypothesis, logProbabilityOf, prefixTree, scoreOf } from "./beams.ts";

// Beam search: the likeliest texts as wholes. What several of them begin with is drawn once.

export function BeamRoom({ asked: { name, step, facts, example } }: { readonly asked: Asked }) {
  const { params } = address.value;
  const text = params.text ?? example;
  const beams = Math.min(12, Math.max(2, count("beams") ?? 5));
  const tokens = Math.min(100, Math.max(1, count("length") ?? (facts.readsSource ? 60 : 16)));
  const penalty = Math.min(2, Math.max(0, Number(params.penalty ?? 0) || 0));
  const waited = useAnswer(
    text === ""
      ? undefined
      : (signal) =>
          withModel(name, step, async (model) => {
            const [found] = await model.best([text], { ...quiet, signal, beams, samples: beams, tokens, lengthPenalty: penalty });
            return found.map(({ told, ended }): Hypothesis => ({ tokens: told, ...(ended && { end: ended.logProbability }) }));
          }),
    [name, step, text, beams, tokens, penalty],
  );
  return (
    <div class="stack">
      <TextField
        label={facts.readsSource ? "Source" : "Prompt"}
        value={text}
        rows={2}
        change={(value) => put({ text: value || undefined, tree: undefined, at: undefined })}
      />
      <div class="row sliders">
        <Slider
          label="Beams"
          min={2}
          max={12}
          value={beams}
          choose={(value) => put({ beams: value })}
          help="How many texts are followed at once"
        />
        <Slider label="Tokens" min={1} max={100} value={tokens} choose={(value) => put({ length: value })} />
        <Slider
          label="Length penalty"
          min={0}
          max={2}
          step={0.1}
          value={penalty}
          choose={(value) => put({ penalty: value || undefined })}
          help="Sums of log-probabilities are divided by length to this power: above 0 helps longer texts"
        />
      </div>
      <Answered waited={waited} what="It follows all beams to their ends.">
        {(found) => <Found name={name} hypotheses={found} penalty={penalty} />}
      </Answered>
    </div>
  );
}

function Found({
  name,
  hypotheses,
  penalty,
}: {
  readonly name: string;
  readonly hypotheses: readonly Hypothesis[];
  readonly penalty: number;
}) {
  return (
    <section class="panel">
      <header>
        <h2>What the beams begin with together, and where they part</h2>
        <SaveMenu name={`${name}-beams`} json={() => hypotheses.map((one) => ({ ...one, score: scoreOf(one, penalty) }))} />
      </header>
      <p class="soft">The best is marked. Numbers after a token are its probability; after a whole text, the score that it is ranked by.</p>
      <Wide label="The tree of beams">
        <ul class="beams">
          <Node node={prefixTree(hypotheses)} hypotheses={hypotheses} penalty={penalty} />
        </ul>
      </Wide>
    </section>
  );
}

function Node({
  node: { tokens, children, ends, hypotheses: through },
  hypotheses,
  penalty,
}: {
  readonly node: BeamNode;
  readonly hypotheses: readonly Hypothesis[];
  readonly penalty: number;
}) {
  return (
    <li class={through.includes(0) ? "best" : undefined}>
      <span class="beam-words">
        {tokens.map(({ text, logProbability }, i) => (
          <span key={i} class="beam-token" title={`${percent(Math.exp(logProbability))}`}>
            <TokenText token={text} />
            <sub>{Math.round(100 * Math.exp(logProbability))}</sub>
          </span>
        ))}
        {ends !== undefined && (
          <strong class="beam-end" title={`p = ${digits(Math.exp(logProbabilityOf(hypotheses[ends])))}`}>
            {ends + 1}. {digits(scoreOf(hypotheses[ends], penalty))}
          </strong>
        )}
      </span>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Node key={child.hypotheses[0]} node={child} hypotheses={hypotheses} penalty={penalty} />
          ))}
        </ul>
      )}
    </li>
  );
}
