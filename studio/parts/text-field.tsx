import { useEffect, useState } from "preact/hooks";

// Somewhere to type. What is typed counts when the typing rests. Who empties it is about to write something else: until then, what was there counts.

const usualRest = 250;

export function TextField({
  label,
  value,
  change,
  rows = 3,
  rest = usualRest,
  enter,
}: {
  readonly label: string;
  readonly value: string;
  readonly change: (value: string) => void;
  readonly rows?: number;
  /** Milliseconds; longer where an answer takes longer. */
  readonly rest?: number;
  /** Called for Ctrl+Enter, after what was typed counts. */
  readonly enter?: () => void;
}) {
  const [typed, setTyped] = useState<string>();
  const count = () => {
    if (typed === undefined || typed === "") return;
    change(typed);
    setTyped(undefined);
  };
  useEffect(() => {
    if (typed === undefined || typed === "") return;
    const timer = setTimeout(count, rest);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => setTyped((now) => (now === "" ? undefined : now)), [value]); // somebody else has filled it
  const keys = (event: KeyboardEvent) => {
    if (!enter || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    count();
    enter();
  };
  return (
    <label class="stack">
      <small>{label}</small>
      <textarea rows={rows} dir="auto" value={typed ?? value} onInput={(event) => setTyped(event.currentTarget.value)} onKeyDown={keys} />
    </label>
  );
}
