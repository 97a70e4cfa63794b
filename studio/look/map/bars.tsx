// Names with bars: how likely each answer is, how much each key is looked at, which units fire.

export interface Bar {
  readonly name: string;
  readonly value: number;
  /** Where it stands. */
  readonly place?: number;
  /** Another value of the same thing, drawn below the first. */
  readonly second?: number;
}

export interface BarsProps {
  readonly bars: readonly Bar[];
  readonly label: string;
  readonly shown: (value: number) => string;
  /** The value of a whole bar; the largest if left out. */
  readonly most?: number;
  readonly choose?: (index: number) => void;
  readonly chosen?: number;
}

export function Bars({ bars, label, shown, most, choose, chosen }: BarsProps) {
  const whole = most ?? Math.max(1e-12, ...bars.flatMap(({ value, second = 0 }) => [Math.abs(value), Math.abs(second)]));
  const line = (value: number, name: string) => (
    <span class={`bar-line ${name}${value < 0 ? " below" : ""}`}>
      <span style={{ width: `${Math.min(100, (100 * Math.abs(value)) / whole)}%` }} />
    </span>
  );
  const isSigned = bars.some(({ value }) => value < 0);
  return (
    <ul class={isSigned ? "map-bars signed" : "map-bars"} aria-label={label}>
      {bars.map(({ name, place, value, second }, i) => (
        <li key={i} class={chosen === i ? "chosen" : undefined}>
          {choose ? (
            <button type="button" class="plain mono" aria-pressed={chosen === i} onClick={() => choose(i)}>
              {name}
            </button>
          ) : (
            <span class="mono name">
              {place !== undefined && <small>{place} </small>}
              {name}
            </span>
          )}
          <span class="lines">
            {line(value, "first")}
            {second !== undefined && line(second, "second")}
          </span>
          <span class="value">
            {shown(value)}
            {second !== undefined && (
              <>
                <br />
                {shown(second)}
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
