import { useEffect, useRef, useState } from "preact/hooks";
import { colourAt } from "../../src/pictures/colour.ts";
import { digits } from "../parts/numbers.ts";
import type { Live, PartNorms } from "../stores/live.ts";

// How long the gradient is in each layer, and how far each step moves it: time goes to the right, bright is much, on a scale by powers.

const kinds = {
  gradient: { label: "gradient", of: ({ gradient }: PartNorms) => gradient },
  update: { label: "update", of: ({ update }: PartNorms) => update },
  share: { label: "update ÷ weights", of: ({ update, weight }: PartNorms) => update / weight },
} as const;
type Kind = keyof typeof kinds;

/** What was not told until then is not told at all. */
const patience = 100;

export function Layers({ live }: { readonly live: Live }) {
  void live.version.value; // the parts grow with it
  const [kind, setKind] = useState<Kind>("gradient");
  const names = live.parts.at(-1)?.parts.map(({ name }) => name) ?? [];
  if (names.length === 0 && (live.isOver || live.step > patience)) return null;
  const { of } = kinds[kind];
  const rows = names.map((name, row) => ({ name, values: live.parts.map(({ parts }) => logOf(parts[row] && of(parts[row]))) }));
  const known = rows.flatMap(({ values }) => values).filter(Number.isFinite);
  const [low, high] = known.reduce(([least, most], one) => [Math.min(least, one), Math.max(most, one)], [0, -12]);
  return (
    <section class="panel layers" aria-labelledby="layers-title">
      <header>
        <h2 id="layers-title">Layer by layer</h2>
        <fieldset class="row">
          <legend class="visually-hidden">What is shown of each layer</legend>
          {(Object.keys(kinds) as Kind[]).map((name) => (
            <label key={name}>
              <input type="radio" name="layers-kind" checked={kind === name} onChange={() => setKind(name)} /> {kinds[name].label}
            </label>
          ))}
        </fieldset>
      </header>
      <div class="strips" style={{ minHeight: `${18 * (live.layers + 2)}px` }}>
        {rows.map(({ name, values }) => (
          <div key={name} class="strip">
            <small title={name}>{name}</small>
            <Strip values={values} low={low} high={high} share={live.steps ? (live.parts.at(-1)?.step ?? 0) / live.steps : 1} />
            <small class="number">{digits(Number((10 ** (values.at(-1) ?? Number.NaN)).toPrecision(2)))}</small>
          </div>
        ))}
      </div>
    </section>
  );
}

const logOf = (value: number | undefined): number => (value !== undefined && value > 0 ? Math.log10(value) : Number.NaN);

interface StripProps {
  readonly values: readonly number[];
  readonly low: number;
  readonly high: number;
  /** How much of the way is behind it. */
  readonly share: number;
}

/** One pixel for each time; the browser stretches it to the part of the way that was gone. */
function Strip({ values, low, high, share }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || values.length === 0) return;
    [canvas.current.width, canvas.current.height] = [values.length, 1];
    const image = context.createImageData(values.length, 1);
    for (const [i, value] of values.entries())
      if (Number.isFinite(value)) image.data.set([...colourAt("sequential", (value - low) / (high - low || 1)), 255], 4 * i);
    context.putImageData(image, 0, 0);
  }, [values.length, low, high, values.at(-1)]);
  return (
    <span class="strip-way" aria-hidden="true">
      <canvas ref={canvas} style={{ width: `${100 * Math.min(1, share)}%` }} />
    </span>
  );
}
