import { duration, percent } from "../parts/numbers.ts";
import type { Live } from "../stores/live.ts";

/** Where the time goes. */
export function Spent({ live }: { readonly live: Live }) {
  void live.version.value; // what is read below changes with it
  const parts = [
    { name: "steps", seconds: live.spent.steps },
    { name: "validation", seconds: live.spent.validation },
    { name: "saving, and what is shown here", seconds: live.other },
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
        {parts.map(({ name, seconds }, i) => (
          <span key={name} data-series={i + 1} style={{ flexGrow: seconds / all }} />
        ))}
      </div>
      <ul class="keys">
        {parts.map(({ name, seconds }, i) => (
          <li key={name}>
            <span class="swatch" data-series={i + 1} />
            {name} {percent(seconds / all)}
          </li>
        ))}
      </ul>
    </section>
  );
}
