const [width, height, edge] = [72, 20, 2];

/** A line without axes: the course of a loss, at a glance. */
export function Sparkline({
  points,
  label,
}: {
  readonly points: readonly (readonly [step: number, value: number])[];
  readonly label: string;
}) {
  const known = points.filter(([, value]) => Number.isFinite(value));
  if (known.length < 2) return <span class="sparkline" />;
  const values = known.map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [first, last] = [known[0][0], known[known.length - 1][0]];
  const x = (step: number) => edge + ((step - first) / (last - first || 1)) * (width - 2 * edge);
  const y = (value: number) => height - edge - ((value - low) / (high - low || 1)) * (height - 2 * edge);
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label}>
      <polyline points={known.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ")} />
    </svg>
  );
}
