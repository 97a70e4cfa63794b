import { percent } from "../../parts/numbers.ts";
import type { CalibrationBin } from "./crossing.ts";

// Whether a model that says 80 % is right in eight cases of ten.

const [wide, tall, left, below] = [240, 160, 36, 24];

export function Calibration({ bins }: { readonly bins: readonly CalibrationBin[] }) {
  const x = (share: number) => left + share * wide;
  const y = (share: number) => 8 + (1 - share) * tall;
  return (
    <section class="panel">
      <h2>Is it as sure as it should be?</h2>
      <svg
        class="calibration"
        width={left + wide + 8}
        height={tall + below + 12}
        role="img"
        aria-label={bins
          .map(({ confidence, accuracy, count }) => `of ${count} answers at ${percent(confidence)}, ${percent(accuracy)} are right`)
          .join("; ")}
      >
        {bins.map(({ from, to, accuracy, confidence, count }) => (
          <rect key={from} class="bin" x={x(from) + 1} y={y(accuracy)} width={x(to) - x(from) - 2} height={y(0) - y(accuracy)}>
            <title>
              {count} answers, {percent(confidence)} sure, {percent(accuracy)} right
            </title>
          </rect>
        ))}
        {bins.map(({ from, accuracy, confidence }) => (
          <circle key={from} class="point" cx={x(confidence)} cy={y(accuracy)} r={4} />
        ))}
        <line class="even" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />
        <line class="axis" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(0)} />
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <text x={x(share)} y={y(0) + 16} text-anchor={share === 1 ? "end" : "middle"}>
              {percent(share)}
            </text>
            <text x={left - 4} y={y(share) + 4} text-anchor="end">
              {100 * share}
            </text>
          </g>
        ))}
      </svg>
      <p class="soft small">
        Across: how sure it was. Up: how often it was right then. On the line the two are equal; below it, it is too sure of itself.
      </p>
    </section>
  );
}
