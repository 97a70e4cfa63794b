import { attentionGrid } from "../../../src/pictures/attention-grid.ts";
import type { PackedAttention } from "../../../src/views/packed.ts";
import { address, put } from "../../address.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { useAnswer, withModel } from "../../stores/models.ts";
import { keyOf, type Sight } from "../sight.ts";
import { overviewOf } from "./ask.ts";
import { choiceOf, kindsOf, kindWords } from "./choice.ts";
import { Grid } from "./grid.tsx";
import { Large } from "./large.tsx";
import { patternOf, rowsOf } from "./patterns.ts";
import { type Order, ordersOf } from "./summaries.ts";

// Look › Attention: all heads of the model as small maps, and one of them large.

export function AttentionRoom({ sight }: { readonly sight: Sight }) {
  const { kind } = address.value.params;
  const overview = useAnswer((signal) => overviewOf(sight, kind, signal), [keyOf(sight), kind]);
  return (
    <Answered waited={overview} what="The model reads the text.">
      {(look) =>
        look === "none" ? (
          <Empty>
            <p>
              This model has no attention:{" "}
              {sight.facts.model === "rnn"
                ? "an RNN reads one token after the other and keeps what it knows in its state"
                : "none of its parts compares tokens"}
              . Train a decoder, or an RNN that translates, to see tokens look at each other.
            </p>
          </Empty>
        ) : (
          <Attention sight={sight} look={look} />
        )
      }
    </Answered>
  );
}

function Attention({ sight, look }: { readonly sight: Sight; readonly look: PackedAttention }) {
  const { params } = address.value;
  const choice = choiceOf(params, look);
  const kinds = kindsOf(look);
  const orders = ordersOf(look);
  const order: Order = orders.find(({ name }) => name === params.order)?.name ?? "place";
  const { text, target, facts } = sight;
  const options = { ...(target !== undefined && { target }), warn: () => {} };
  const count = look.sizes.layers * look.sizes.heads;
  if (count === 1 && kinds.length === 1)
    return (
      <div class="attention only-one">
        <Large sight={sight} look={look} choice={choice} />
      </div>
    );
  return (
    <div class="attention">
      <section class="panel" aria-labelledby="heads-title">
        <header>
          <h2 id="heads-title">{count} heads</h2>
          {kinds.length > 1 && (
            <select aria-label="Kind of attention" value={look.kind} onChange={(event) => put({ kind: event.currentTarget.value }, "push")}>
              {kinds.map((name) => (
                <option key={name} value={name}>
                  {kindWords(name, facts.model)}
                </option>
              ))}
            </select>
          )}
          {kinds.length === 1 && <small>{kindWords(look.kind, facts.model)}</small>}
          <SaveMenu
            name={`${sight.name}-heads`}
            svg={() => gridOf(look)}
            html={() => withModel(sight.name, sight.step, (model) => model.page("attention", text, options))}
            json={() => summaryOf(look)}
          />
        </header>
        {count > 1 && (
          <label class="row">
            <small>Order</small>
            <select
              value={order}
              onChange={(event) => put({ order: event.currentTarget.value === "place" ? undefined : event.currentTarget.value })}
            >
              {orders.map(({ name, label }) => (
                <option key={name} value={name}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        )}
        <Grid look={look} layer={choice.layer} head={choice.head} order={order} open={(layer, head) => put({ layer, head }, "push")} />
      </section>
      <Large sight={sight} look={look} choice={choice} />
    </div>
  );
}

/** All heads as one picture, from what is shown. */
function gridOf({ tokens, targetTokens, side, ...look }: PackedAttention): string {
  const layers = look.layers.map(({ layer, heads }) => ({
    layer,
    heads: heads.map((head) => ({ head: head.head, pattern: rowsOf(patternOf({ tokens, targetTokens, side }, head)) })),
  }));
  const every = (names: readonly string[]) => names.filter((_, i) => i % side === 0);
  const whole = { queries: targetTokens.length, keys: tokens.length, side };
  return attentionGrid({ ...look, tokens: every(tokens), targetTokens: every(targetTokens), layers }, undefined, whole);
}

const summaryOf = ({ kind, tokens, targetTokens, layers }: PackedAttention) => ({
  kind,
  tokens,
  targetTokens,
  layers: layers.map(({ layer, heads }) => ({ layer, heads: heads.map(({ head, summary }) => ({ head, ...summary })) })),
});
