import { useId } from "preact/hooks";

export interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  readonly choose: (value: number) => void;
  /** What the number is called; the number itself if left out. */
  readonly shown?: (value: number) => string;
  readonly help?: string;
}

export function Slider({ label, value, min, max, step = 1, choose, shown = String, help }: SliderProps) {
  const id = useId();
  return (
    <div class="slider" title={help}>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="range"
        min={min}
        max={max}
        step={step}
        value={value}
        aria-valuetext={shown(value)}
        onInput={(event) => choose(Number(event.currentTarget.value))}
      />
      <output for={id}>{shown(value)}</output>
    </div>
  );
}
