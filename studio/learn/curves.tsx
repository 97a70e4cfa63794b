import { lossCurves } from "../../src/pictures/loss-curves.ts";
import { address, put } from "../address.ts";
import { Legend } from "../charts/legend.tsx";
import { type Line, LineChart } from "../charts/line-chart.tsx";
import { SaveMenu } from "../parts/save.tsx";
import { seriesColour, theme } from "../parts/theme.ts";
import type { Live } from "../stores/live.ts";
import { type Series, smoothed, usualShare } from "../stores/series.ts";

// How it went so far: the loss of every step with a line that the eye can follow, validation, and the learning rate below them.

export function Curves({ live }: { readonly live: Live }) {
  const version = live.version.value;
  void theme.value; // its colours
  const scale = address.value.params.scale === "log" ? "log" : "linear";
  const lines: readonly Line[] = [
    { name: "every step", series: live.loss, colour: seriesColour(0), weight: "faint" },
    { name: "loss", series: smoothed(live.loss, usualShare(live.steps)), colour: seriesColour(0) },
    { name: "validation", series: live.validation, colour: seriesColour(1), weight: "dots" },
  ];
  return (
    <section class="panel" aria-labelledby="curves-title">
      <header>
        <h2 id="curves-title">Loss</h2>
        <Legend lines={lines} />
        <span class="row">
          <label>
            <input
              type="checkbox"
              checked={scale === "log"}
              onChange={(event) => put({ scale: event.currentTarget.checked ? "log" : undefined })}
            />{" "}
            log axis
          </label>
          <SaveMenu name={`${live.name}-loss`} svg={() => drawn(live)} json={() => numbers(live)} />
        </span>
      </header>
      <LineChart label="Loss by step" lines={lines} height={260} scale={scale} version={version} until={live.steps} />
      <h3>Learning rate</h3>
      <LineChart
        label="Learning rate by step"
        lines={[{ name: "learning rate", series: live.rate, colour: seriesColour(5) }]}
        height={72}
        version={version}
        until={live.steps}
      />
    </section>
  );
}

const points = ({ steps, values }: Series) => steps.map((step, i) => ({ step, loss: values[i] }));

const drawn = (live: Live): string =>
  lossCurves({
    title: `Loss of ${live.name}`,
    series: [
      { name: "loss", points: points(live.loss) },
      { name: "validation", points: points(live.validation) },
    ].filter((one) => one.points.length > 0),
  });

const numbers = (live: Live) => ({
  run: live.name,
  loss: live.loss,
  validation: live.validation,
  learningRate: live.rate,
  norm: live.norm,
});
