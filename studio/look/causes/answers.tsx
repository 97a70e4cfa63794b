import { divergenceOf } from "../../../src/inspection/divergence.ts";
import type { Answers, ModelFacts } from "../../../src/protocol/messages.ts";
import { address, put } from "../../address.ts";
import { digits, percent } from "../../parts/numbers.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Answered } from "../../parts/states.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { Bars } from "../map/bars.tsx";
import { answerAt, askedWith, keyOf, ownTokens, type Sight } from "../sight.ts";
import { tokenName } from "../token-name.ts";
import { answersPicture } from "./answers-picture.ts";
import { asked, type Change, read, wordsOf, written } from "./changes.ts";

// The answer as it is, and as it would be with what is changed inside.

export const changesNow = (): Change[] => read(address.value.params.changes);

export const setChanges = (changes: readonly Change[]): void => put({ changes: written(changes) });

/** The text from which numbers are taken. */
export const otherText = (): string | undefined => address.value.params.other;

const shownAnswers = 10;

export function usePatched(sight: Sight) {
  const { changes, other } = address.value.params;
  const position = answerAt(sight);
  return useAnswer(
    sight.facts.task === "embed"
      ? undefined
      : async (signal) =>
          withModel(sight.name, sight.step, (model) =>
            model.patch(sight.text, asked(read(changes), { text: other, ...(sight.target !== undefined && { target: sight.target }) }), {
              ...askedWith(sight, signal),
              ...(position !== undefined && { position }),
              top: shownAnswers,
            }),
          ),
    [keyOf(sight), changes, other, position],
  );
}

/** Whose answer it is, in words. */
export function answerOf(sight: Sight): string {
  const at = answerAt(sight);
  if (at === undefined) return "the label of the text";
  const token = tokenName(ownTokens(sight)[at] ?? "");
  return sight.facts.task === "tag"
    ? `the tag of ${token}`
    : sight.facts.task === "mlm"
      ? `what stands at ${token}`
      : `what comes after ${token}`;
}

export function BeforeAfter({ sight }: { readonly sight: Sight }) {
  const waited = usePatched(sight);
  const isChanged = changesNow().length > 0;
  if (sight.facts.task === "embed") return <p class="note">This model gives vectors of texts, and no answers with probabilities.</p>;
  return (
    <Answered waited={waited} what="The model answers.">
      {(found) => <Both found={found} isChanged={isChanged} of={answerOf(sight)} text={sight.text} task={sight.facts.task} />}
    </Answered>
  );
}

interface BothProps {
  readonly found: Answers["patch"];
  readonly isChanged: boolean;
  /** Whose answer it is. */
  readonly of: string;
  readonly text: string;
  readonly task: ModelFacts["task"];
}

function Both({ found, isChanged, of, text, task }: BothProps) {
  const { candidates = [], before, after, divergence } = found;
  const bars = candidates
    .toSorted((a, b) => b.before - a.before || b.after - a.after)
    .slice(0, isChanged ? 14 : shownAnswers)
    .map(({ name, before: value, after: second }) => ({ name: tokenName(name), value, ...(isChanged && { second }) }));
  const here = task === "classify" ? divergence : divergenceOf(before.logProbabilities.data, after.logProbabilities.data);
  return (
    <section class="stack" aria-live="polite">
      <h3>
        {of}
        {isChanged && (
          <>
            : <span class="key first">before</span> and <span class="key second">after</span>
          </>
        )}
      </h3>
      <Bars bars={bars} label={`Probabilities of ${of}`} shown={percent} most={1} />
      {isChanged && (
        <p class="soft">
          {before.loss !== undefined &&
            after.loss !== undefined &&
            `Loss of the text ${digits(before.loss)} before, ${digits(after.loss)} after. `}
          Divergence of the answers (Kullback–Leibler, nats): {digits(here)} here
          {task !== "classify" && `, ${digits(divergence)} over all positions`}.
        </p>
      )}
      <div class="row">
        <SaveMenu
          name="answers"
          svg={() => answersPicture({ title: of, candidates, notes: changesNow().map((change) => wordsOf(change)) })}
          json={() => ({ text, changes: changesNow(), candidates, loss: found.loss, divergence })}
        />
      </div>
    </section>
  );
}
