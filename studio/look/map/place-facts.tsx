import type { CostFacts } from "../../../src/cost/facts.ts";
import type { Part } from "../../../src/graph/place.ts";
import type { Activation } from "../../../src/inspection/observe.ts";
import { amount, bytes, digits } from "../../parts/numbers.ts";
import { histogramOf, type Plane, shapeText, summaryOf } from "./numbers.ts";
import { type Place, type PlaceKind, parametersAt } from "./places.ts";

// What a place is in numbers: its shape, how its numbers are spread, what it costs and what it has learned.

const parts: Readonly<Partial<Record<PlaceKind, Part>>> = {
  embedded: "embedding",
  positioned: "positions",
  norm: "norms",
  q: "projections",
  k: "projections",
  v: "projections",
  scores: "scores",
  mask: "softmax",
  pattern: "softmax",
  mixed: "weighted sum",
  "attention-out": "output projection",
  added: "residuals",
  output: "residuals",
  hidden: "feed-forward",
  "feedforward-out": "feed-forward",
  recurrent: "recurrence",
  context: "weighted sum",
  joined: "output projection",
  probabilities: "logits",
};

export interface PlaceFactsProps {
  readonly place: Place;
  readonly activation: Activation | undefined;
  readonly plane: Plane | undefined;
  readonly parameters: Parameters<typeof parametersAt>[1];
  readonly cost: CostFacts | undefined;
  readonly heads: number;
}

export function PlaceFacts({ place, activation, plane, parameters, cost, heads }: PlaceFactsProps) {
  const own = parametersAt(place, parameters);
  const count = own.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  const part = parts[place.kind];
  const sequence = cost?.phases.sequence;
  const spent = sequence?.parts.find(({ name }) => name === part);
  const block = place.layer === undefined ? undefined : sequence?.layers.find(({ name }) => place.tap?.startsWith(`${name}/`));
  return (
    <dl class="facts">
      {activation && (
        <>
          <dt>Shape</dt>
          <dd class="mono">{shapeText(activation, heads)}</dd>
        </>
      )}
      {plane && <Spread plane={plane} whole={activation?.shape.length === 3} />}
      {spent && part && sequence && (
        <>
          <dt>Cost</dt>
          <dd>
            {part}, in all layers: {amount(spent.flops)} FLOPs and {bytes(spent.bytes)} for this text (
            {Math.round((100 * spent.flops) / sequence.flops)} % of all FLOPs)
            {block && `; the whole ${place.kind === "recurrent" ? "layer" : "block"}: ${amount(block.flops)} FLOPs, ${bytes(block.bytes)}`}
          </dd>
        </>
      )}
      {(own.length > 0 || !["text", "tokens", "other"].includes(place.kind)) && (
        <>
          <dt>Parameters</dt>
          <dd>
            {own.length === 0 ? "none of its own" : `${amount(count)}: `}
            {own.map(({ name, shape }, i) => (
              <span key={name} title={name}>
                {i > 0 && ", "}
                <span class="mono">
                  {name.split("/").slice(-2).join("/")} [{shape.join(", ")}]
                </span>
              </span>
            ))}
          </dd>
        </>
      )}
    </dl>
  );
}

const steps = 40;

function Spread({ plane, whole }: { readonly plane: Plane; readonly whole: boolean }) {
  const summary = summaryOf(plane.data);
  const counts = histogramOf(plane.data, summary, steps);
  const most = Math.max(...counts);
  const { least, mean, norm } = summary;
  return (
    <>
      <dt>{whole ? "Numbers of this head" : "Numbers"}</dt>
      <dd>
        least {digits(least)}, mean {digits(mean)}, most {digits(summary.most)}, norm {digits(norm)}
        <svg
          class="histogram"
          viewBox={`0 0 ${steps} 12`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`How the numbers are spread from ${digits(least)} to ${digits(summary.most)}`}
        >
          {counts.map((one, i) => (
            <rect key={i} x={i} y={12 - (12 * one) / most} width={0.9} height={(12 * one) / most} />
          ))}
        </svg>
      </dd>
    </>
  );
}
