import { useEffect, useState } from "preact/hooks";

// Somewhere to type. What is typed counts when the typing rests.

const restMs = 250;

export function TextField({
  label,
  value,
  change,
  rows = 3,
  placeholder,
  keys,
}: {
  readonly label: string;
  readonly value: string;
  readonly change: (value: string) => void;
  readonly rows?: number;
  readonly placeholder?: string;
  /** Heard while it has the focus. */
  readonly keys?: (event: KeyboardEvent) => void;
}) {
  const [typed, setTyped] = useState<string>();
  useEffect(() => {
    if (typed === undefined) return;
    const timer = setTimeout(() => {
      change(typed);
      setTyped(undefined);
    }, restMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <label class="stack">
      <small>{label}</small>
      <textarea
        rows={rows}
        dir="auto"
        value={typed ?? value}
        placeholder={placeholder}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={keys}
      />
    </label>
  );
}
