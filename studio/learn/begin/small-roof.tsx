import { roofline } from "../../../src/pictures/roofline.ts";
import type { TrainingPlan } from "../../../src/worker/found.ts";
import { SaveMenu } from "../../parts/save.tsx";

// A roofline of a training step: what stands on the slope waits for memory, what stands under the flat roof for arithmetic.

/** What a usual processor can do; nobody measured this one. */
const usual = { peakFlops: 1e11, peakBytes: 2e10 };
const ridge = usual.peakFlops / usual.peakBytes;

const [width, height] = [304, 136];
const area = { left: 8, right: 8, top: 12, bottom: 20 };
const [least, most] = [0.05, 500];
/** So many parts are named, those with the most arithmetic. */
const mostNamed = 6;

const x = (intensity: number): number =>
  area.left + (Math.log(intensity / least) / Math.log(most / least)) * (width - area.left - area.right);
const reach = (intensity: number): number => Math.min(1, intensity / ridge);
const y = (share: number): number => area.top + (Math.log(share) / Math.log(reach(least))) * (height - area.top - area.bottom);

export function SmallRoof({ plan }: { readonly plan: TrainingPlan }) {
  const parts = (plan.cost.phases.training?.parts ?? []).filter(({ flops, bytes }) => flops > 0 && bytes > 0);
  if (parts.length === 0) return null;
  const named = [...parts].sort((a, b) => b.flops - a.flops).slice(0, mostNamed);
  const all = parts.reduce((sum, { flops }) => sum + flops, 0);
  return (
    <section class="stack" aria-labelledby="roof-title">
      <div class="row">
        <h3 id="roof-title">Roofline of a step</h3>
        <SaveMenu name="roofline" svg={() => roofline({ ...usual, points: parts, title: "Training step, by part" })} />
      </div>
      <svg
        class="small-roof"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label="Parts of the model by their arithmetic for each byte that is moved, under the roofs of memory and arithmetic"
      >
        <polyline points={`${x(least)},${y(reach(least))} ${x(ridge)},${y(1)} ${x(most)},${y(1)}`} />
        {parts.map(({ name, flops, bytes }) => {
          const intensity = Math.min(most, Math.max(least, flops / bytes));
          return (
            <circle key={name} cx={x(intensity)} cy={y(reach(intensity))} r={2.5 + 5 * Math.sqrt(flops / all)}>
              <title>{`${name}: ${(flops / bytes).toPrecision(2)} FLOP for each byte`}</title>
            </circle>
          );
        })}
        {[0.1, 1, 10, 100].map((tick) => (
          <text key={tick} x={x(tick)} y={height - 6}>
            {tick}
          </text>
        ))}
      </svg>
      <table class="plan">
        <thead>
          <tr>
            <th scope="col">part</th>
            <td>FLOP/byte</td>
            <td>waits for</td>
          </tr>
        </thead>
        <tbody>
          {named.map(({ name, flops, bytes }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{(flops / bytes).toPrecision(2)}</td>
              <td>{flops / bytes < ridge ? "memory" : "arithmetic"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <small>Of a processor with 100 GFLOP/s and 20 GB/s, whose roofs meet at 5 FLOP/byte. Page 7 of the tour explains it.</small>
    </section>
  );
}
