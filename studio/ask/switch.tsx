/** A few ways to see the same, one of them chosen. */
export function Switch<Name extends string>({
  label,
  ways,
  chosen,
  choose,
}: {
  readonly label: string;
  readonly ways: Readonly<Record<Name, string>>;
  readonly chosen: Name;
  readonly choose: (name: Name) => void;
}) {
  return (
    <fieldset class="switch">
      <legend class="visually-hidden">{label}</legend>
      {(Object.entries(ways) as [Name, string][]).map(([name, words]) => (
        <button key={name} type="button" aria-pressed={name === chosen} onClick={() => choose(name)}>
          {words}
        </button>
      ))}
    </fieldset>
  );
}
