import type { Line } from "./line-chart.tsx";

export const Legend = ({ lines }: { readonly lines: readonly Line[] }) => (
  <ul class="keys">
    {lines
      .filter(({ weight }) => weight !== "faint")
      .map(({ name, colour }) => (
        <li key={name}>
          <span class="swatch" style={{ color: colour }} />
          {name}
        </li>
      ))}
  </ul>
);
