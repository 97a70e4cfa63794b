import { useMemo } from "preact/hooks";
import { address, put } from "../address.ts";
import { Legend } from "../charts/legend.tsx";
import { type Line, LineChart } from "../charts/line-chart.tsx";
import { SaveMenu } from "../parts/save.tsx";
import { Slider } from "../parts/slider.tsx";
import { Answered } from "../parts/states.tsx";
import { seriesColour, theme } from "../parts/theme.ts";
import { lives } from "../stores/live.ts";
import { smoothed, usualShare } from "../stores/series.ts";
import { type Course, hintOf, useCourses } from "./curves.ts";
import { overlaySvg } from "./overlay-svg.ts";

// The picked runs in one chart, each named where its line ends.

/** More lines than colours: the next six are dashed, and so on. */
const dashes = [undefined, [6, 3], [2, 2], [8, 2, 2, 2]] as const;

export function Overlay({ names }: { readonly names: readonly string[] }) {
  const waited = useCourses(names);
  const hints = useMemo(() => names.map(hintOf), [names.join(",")]); // until their logs are read
  // One chart from the first hints to the last point, so that a menu that is open in it stays so.
  const drawn = waited.state === "loading" ? { ...waited, before: waited.before ?? hints } : waited;
  return (
    <Answered waited={drawn} what="Reading their logs.">
      {(courses) => <Chart courses={courses} />}
    </Answered>
  );
}

function Chart({ courses }: { readonly courses: readonly Course[] }) {
  const { params } = address.value;
  const scale = params.scale === "log" ? "log" : "linear";
  const what = params.curve === "validation" ? "validation" : "loss";
  const lengthOf = ({ loss }: Course) => loss.steps.at(-1) ?? 0;
  const asked = params.smooth === undefined ? undefined : Math.max(0, Math.min(99, Number(params.smooth) || 0)) / 100;
  const smooth = asked ?? usualShare(Math.max(0, ...courses.map(lengthOf)));
  const going = courses.reduce((sum, { name }) => sum + (lives.value.get(name)?.version.value ?? 0), 0); // drawn again as they go on
  const colours = theme.value;
  const lines = useMemo<readonly Line[]>(
    () =>
      courses.map((course, i) => ({
        name: course.name,
        series: what === "loss" ? smoothed(course.loss, asked ?? usualShare(lengthOf(course))) : course[what], // a short run is smoothed as a short run
        colour: seriesColour(i),
        ...(what === "validation" && courses.length <= 6 && { weight: "dots" as const }),
        ...(dashes[Math.floor(i / 6) % dashes.length] && { dash: dashes[Math.floor(i / 6) % dashes.length] }),
      })),
    [courses, what, asked, colours, going],
  );
  return (
    <section class="panel overlay" aria-labelledby="overlay-title">
      <header>
        <h2 id="overlay-title">Their {what === "loss" ? "losses" : "validation losses"}</h2>
        <span class="row">
          <label>
            Show{" "}
            <select value={what} onChange={(event) => put({ curve: event.currentTarget.value === "loss" ? undefined : "validation" })}>
              <option value="loss">training loss</option>
              <option value="validation">validation loss</option>
            </select>
          </label>
          {what === "loss" && (
            <Slider
              label="Smoothing"
              min={0}
              max={99}
              value={Math.round(100 * smooth)}
              shown={(value) => (value === 0 ? "none" : `${value} %`)}
              choose={(value) => put({ smooth: value })}
            />
          )}
          <label>
            <input
              type="checkbox"
              checked={scale === "log"}
              onChange={(event) => put({ scale: event.currentTarget.checked ? "log" : undefined })}
            />{" "}
            log axis
          </label>
          <SaveMenu
            name="runs-compared"
            svg={() => overlaySvg(what === "loss" ? "Loss" : "Validation loss", lines, scale)}
            json={() => courses}
          />
        </span>
      </header>
      <Legend lines={lines} />
      <LineChart
        label={`${what === "loss" ? "Loss" : "Validation loss"} by step, of all picked runs`}
        lines={lines}
        height={360}
        scale={scale}
        names="at-ends"
      />
    </section>
  );
}
