import { useState } from "preact/hooks";
import type { Alignment } from "../../../src/inspection/alignment.ts";
import { alignment } from "../../../src/pictures/attention-map.ts";
import { address, count, link, put } from "../../address.ts";
import { digits, percent } from "../../parts/numbers.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Slider } from "../../parts/slider.tsx";
import { Answered, Failed } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import { TokenText } from "../../parts/token-strip.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { type Asked, quiet } from "../asked.ts";
import { Bar } from "../bars.tsx";
import { Switch } from "../switch.tsx";
import { WrittenText } from "../writing/text.tsx";
import { AlignmentLines } from "./lines.tsx";
import { AlignmentMap } from "./map.tsx";
import { type Target, type Translated, useRested, useTranslation } from "./translation.ts";

// Translating: what is said, how sure the model is of each token, and which words of the source each came from.

export function TranslatingRoom({ asked }: { readonly asked: Asked }) {
  const text = address.value.params.text ?? asked.example;
  const beams = Math.min(12, Math.max(1, count("beams") ?? 1));
  const found = useTranslation(asked, text, beams);
  const chosen = Math.min(count("of") ?? 0, Math.max(0, found.targets.length - 1));
  const target = found.targets[chosen];
  return (
    <div class="stack">
      <div class="two">
        <TextField label="Source" value={text} change={(value) => put({ text: value || undefined, of: undefined })} />
        <div class="stack">
          <Slider
            label="Beams"
            min={1}
            max={12}
            value={beams}
            choose={(value) => put({ beams: value === 1 ? undefined : value, of: undefined })}
            help="1 takes the likeliest token each time; more follow several translations at once, and compare them as wholes"
          />
          <p>
            <a href={link("look", { run: asked.name, step: asked.step, text, target: target?.text, view: "attention" })}>
              Look inside while it reads this
            </a>
          </p>
        </div>
      </div>
      {found.state === "failed" && <Failed message={found.message ?? ""} />}
      <Said found={found} target={target} />
      {found.targets.length > 1 && <Others found={found} chosen={chosen} />}
      {target && <Aligned asked={asked} source={text} target={target.text} />}
    </div>
  );
}

function Said({ found, target }: { readonly found: Translated; readonly target: Target | undefined }) {
  const [pointed, point] = useState<number>();
  const [pinned, pin] = useState<number>();
  const at = pointed ?? pinned;
  const here = at === undefined ? undefined : target?.tokens[at];
  return (
    <div class="text-and-choices">
      <div class="stack short-text">
        <small>Translation{target ? `, p = ${digits(Math.exp(target.logProbability))}` : ""}</small>
        <WrittenText
          prompt={[]}
          tokens={target?.tokens ?? []}
          isWriting={found.state === "writing"}
          pointed={pointed}
          pinned={pinned}
          forks={none}
          point={point}
          pin={pin}
        />
      </div>
      <section class="here short" aria-label="What could come here">
        {here && here.top.length > 0 ? (
          <ol class="choices">
            {here.top.slice(0, 6).map(({ id, text, logProbability }) => (
              <li key={id} class={`choice-row ${id === here.id ? "taken" : ""}`}>
                <span class="bar-name mono">
                  <TokenText token={text} />
                </span>
                <Bar share={Math.exp(logProbability)} />
                <span class="bar-number">{percent(Math.exp(logProbability))}</span>
              </li>
            ))}
          </ol>
        ) : (
          <p class="soft">
            The stronger the line under a token, the less sure the model was of it. Point at one to see what else could have come there.
          </p>
        )}
      </section>
    </div>
  );
}

const none: ReadonlySet<number> = new Set();

/** All hypotheses, the best first. */
function Others({ found: { targets }, chosen }: { readonly found: Translated; readonly chosen: number }) {
  return (
    <section class="panel">
      <h2>Hypotheses</h2>
      <ol class="hypotheses">
        {targets.map(({ text, logProbability }, i) => (
          <li key={i}>
            <button type="button" aria-pressed={i === chosen} onClick={() => put({ of: i || undefined })}>
              <span dir="auto">{text}</span>
              <span class="bar-number">log p = {digits(logProbability)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

const restMs = 150;

function Aligned({ asked: { name, step }, source, target }: { readonly asked: Asked; readonly source: string; readonly target: string }) {
  const said = useRested(target, restMs);
  const waited = useAnswer(
    said.trim() === "" || source.trim() === ""
      ? undefined
      : (signal) =>
          withModel(name, step, (model) => model.look("alignment", source, { ...quiet, signal, target: said }) as Promise<Alignment>),
    [name, step, source, said],
  );
  const isMap = address.value.params.show === "map";
  return (
    <section class="panel">
      <header>
        <h2>Which words it came from</h2>
        <div class="row">
          <Switch
            label="How it is drawn"
            ways={{ lines: "Lines", map: "Map" }}
            chosen={isMap ? "map" : "lines"}
            choose={(way) => put({ show: way === "map" ? way : undefined })}
          />
          {waited.state === "ready" && (
            <SaveMenu
              name={`${name}-alignment`}
              svg={() => alignment({ ...waited.answer, pattern: waited.answer.matrix })}
              json={() => waited.answer}
            />
          )}
        </div>
      </header>
      <p class="soft">
        The mean over all heads that look from the target at the source: for each token that is written, how much it looks at each that was
        read.
      </p>
      <Answered waited={waited} what="Its attention is being read.">
        {(found) => (isMap ? <AlignmentMap found={found} /> : <AlignmentLines found={found} />)}
      </Answered>
    </section>
  );
}
