import { duration, percent } from "../parts/numbers.ts";
import type { Live } from "../stores/live.ts";

/** Where the time goes. */
export function Spent({ live }: { readonly live: Live }) {
  void live.version.value; // what is read below changes with it
  const parts = [
    { name: "steps", series: 1, seconds: live.spent.steps },
    { name: "validation", series: 2, seconds: live.spent.validation },
    { name: "saving, and what is shown here", series: 3, seconds: live.other },
  ].filter(({ seconds }) => seconds > 0);
  const all = parts.reduce((sum, { seconds }) => sum + seconds, 0);
  if (all === 0) return null;
  return (
    <section class="panel spent" aria-labelledby="spent-title">
      <header>
        <h2 id="spent-title">Where the time goes</h2>
        <span class="soft">{duration(all)} so far</span>
      </header>
      <div class="shares" aria-hidden="true">
        {parts.map(({ name, series, seconds }) => (
          <span key={name} data-series={series} style={{ flexGrow: seconds / all }} />
        ))}
      </div>
      <ul class="keys">
        {parts.map(({ name, series, seconds }) => (
          <li key={name}>
            <span class="swatch" data-series={series} />
            {name} {percent(seconds / all)}
          </li>
        ))}
      </ul>
    </section>
  );
}
